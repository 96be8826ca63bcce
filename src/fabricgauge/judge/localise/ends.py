"""Find slow senders, receivers, nodes and groups: parts that are slow with nearly all partners.

Parts that are already known to be slow are subtracted first, so that no other part is blamed.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.groups import FAR, NEAR, Grouping
from fabricgauge.judge.localise.slowness import (
    ALL,
    F32,
    F64,
    I64,
    Ending,
    Flags,
    Levels,
    LevelTests,
    Noise,
    Places,
    Slowness,
    centre,
    levels,
    may_reach,
    quantile,
    sampled_rows,
    scale,
    standing,
)

#: The two directions of a node, places in pairs of figures.
SENDING, RECEIVING = 0, 1


class Endpoint(msgspec.Struct, frozen=True):
    """A slow end. ``excess`` is its slowness sending and receiving, healthy or not."""

    index: int
    part: Ending
    level: float
    error: float
    q: float
    excess: tuple[float, float]

    @property
    def directions(self) -> tuple[int, ...]:
        return {"sender": (SENDING,), "receiver": (RECEIVING,)}.get(self.part, (SENDING, RECEIVING))


class Unexplained(msgspec.Struct, frozen=True, eq=False):
    """The slowness that the known slow parts do not explain.

    Delays are subtracted. A bottleneck hides a lesser one behind it, so its pairs show nothing of
    other parts and become NaN. ``ends`` (2, N) is the slowness of named nodes, sending and
    receiving, and ``groups`` (2, N) that of the uplink of each node's group, outwards and inwards;
    0 for the others. Nodes of one group have one number in ``index``; nodes without a group have a
    number each. If ``confined`` (groups of nodes) is not empty, ends are also looked for within
    each group alone.
    """

    slow: Slowness
    noise: Noise
    confined: tuple[I64, ...]
    groups: F32
    index: I64
    ends: F32

    def block(self, direction: int, rows: Places, columns: Places = ALL) -> F32:
        """Return rows as evidence on one direction, without their partners' and groups' part."""
        rows_slowness = (self.slow.block, self.slow.received)[direction](rows, columns)
        self._without(rows_slowness, self.ends[1 - direction][columns])
        sending, partner = self.groups[direction], self.groups[1 - direction]
        if sending.any() or partner.any():
            slow = (sending[rows, None] > 0) | (partner[None, columns] > 0)
            rows_slowness[slow & (self.index[rows, None] != self.index[None, columns])] = np.nan
        return rows_slowness

    def pairs(self, rows: Places) -> F32:
        """Return rows as evidence on single pairs, without the part of all known ends."""
        rows_slowness = self.block(SENDING, rows)
        self._without(rows_slowness.T, self.ends[SENDING][rows])
        return rows_slowness

    def knowing(self, ends: Iterable[Endpoint]) -> "Unexplained":
        """Return the same with these ends known to be slow, and no others."""
        nodes = self.slow.nodes
        return msgspec.structs.replace(self, ends=_excesses(ends, nodes, np.arange(nodes)[:, None]))

    def stand(self, share: float, named: Collection[int]) -> LevelTests:
        """Compare each node's quantile over its partners with those of nodes not ``named``."""
        slow, sample = self.slow, self.slow.partners
        blocks = [partial(self.block, direction) for direction in range(len(slow.endings))]
        judged = partial(
            standing,
            sigma=self.noise.pair,
            freedom=self.noise.freedom,
            healthy=np.isin(np.arange(slow.nodes), list(named), invert=True),
            middle=share == 0.5,
            fewest=2 if slow.nodes <= 3 and self.noise.passes > 1 else 3,
        )
        all_partners = judged([levels(block, slow.nodes, share, sample) for block in blocks])
        if not self.confined:
            return all_partners
        return _worse(all_partners, judged([self._within(block, share) for block in blocks]))

    def _within(self, block: "partial[F32]", share: float) -> Levels:
        """Return each node's quantile over the partners in its own group."""
        nodes = self.slow.nodes
        values, partners = np.full(nodes, np.nan), np.zeros(nodes, dtype=np.int64)
        for members in self.confined:
            values[members], partners[members] = quantile(block(members, members), share)
        return Levels(values, partners)

    def _without(self, rows_slowness: F32, known: F32) -> None:
        """Take the known slowness of the columns off, in place."""
        if not known.any():
            return
        if self.slow.adds_up:
            rows_slowness -= known[None, :]
        else:
            rows_slowness[:, known > 0] = np.nan


def explain_by_groups(
    slow: Slowness,
    noise: Noise,
    grouping: Grouping,
    uplinks: Sequence[Endpoint],
    confined: tuple[I64, ...],
) -> Unexplained:
    """Return the slowness that slow uplinks of groups do not explain."""
    nodes = slow.nodes
    index = np.where(grouping.index < grouping.count - 1, grouping.index, -1 - np.arange(nodes))
    groups = _excesses(uplinks, nodes, grouping.members)
    return Unexplained(slow, noise, confined, groups, index, np.zeros((2, nodes), dtype=np.float32))


def _excesses(ends: Iterable[Endpoint], nodes: int, members: Sequence[I64] | I64) -> F32:
    """Return the slowness of each node's end, or its group's: sending and receiving; (2, N)."""
    excesses = np.zeros((2, nodes), dtype=np.float32)
    for end in ends:
        for direction in end.directions:
            excesses[direction, members[end.index]] = max(end.excess[direction], 0.0)
    return excesses


def _worse(all_partners: LevelTests, in_group: LevelTests) -> LevelTests:
    """Return the surer test of each end: a slow uplink hides a slow node except in its group."""
    better = in_group.p < all_partners.p * limits.SURER
    return LevelTests(
        np.where(better, in_group.excess, all_partners.excess),
        np.where(better, in_group.error, all_partners.error),
        np.where(better, in_group.p, all_partners.p),
    )


class SlowEnds(msgspec.Struct, frozen=True, eq=False):
    """The ends that are named, those that only look slow, all nodes' levels, and the remainder.

    ``partly`` are slow with most of their partners, but as fast as others with the rest.
    """

    named: list[Endpoint]
    doubtful: list[Endpoint]
    partly: list[Endpoint]
    level_tests: LevelTests
    unexplained: Unexplained


def find_ends(start: Unexplained) -> SlowEnds:
    """Name the slowest end, subtract its part, and repeat until nothing stands out."""
    unexplained, named, partly = start, dict[int, Endpoint](), dict[int, Endpoint]()
    best = BestPairs(start)
    while new := _next(unexplained, named | partly):
        for end in new:
            (named if best.are_slow(unexplained, end) else partly)[end.index] = end
        unexplained = start.knowing(named.values())
    level_tests = unexplained.stand(0.5, named)
    estimated = _estimate_by_medians(unexplained, named.values(), level_tests)
    ends = [end for end in estimated if not has_longer_paths(unexplained, end, level_tests)]
    partly |= {end.index: end for end in estimated if end not in ends}
    unexplained = start.knowing(ends)
    doubtful = [end for end in _doubtful(unexplained, ends, level_tests) if end.index not in partly]
    unproved = [
        end
        for end in doubtful
        if not best.are_slow(unexplained, end) or has_longer_paths(unexplained, end, level_tests)
    ]
    proved = [end for end in doubtful if end not in unproved]
    return SlowEnds(ends, proved, [*partly.values(), *unproved], level_tests, unexplained)


class BestPairs:
    """The fastest pairs of each node: a slow end is slow with all partners, not only with most.

    A bandwidth counts as it is, since a node that carries it with one partner can carry it. For a
    latency, the excess over the expected one counts.
    """

    def __init__(self, start: Unexplained) -> None:
        slow = start.slow
        if not slow.adds_up:
            slow = msgspec.structs.replace(slow, expected=np.zeros_like(slow.expected))
        self._whole = msgspec.structs.replace(start, slow=slow)

    @cached_property
    def _usual(self) -> tuple[tuple[float, float], ...]:
        """Return the usual node's best pairs and their scatter, for each direction."""
        slow = self._whole.slow
        rows = np.arange(slow.nodes)[sampled_rows(slow.nodes)]
        best_pairs = (quantile(side(rows, slow.partners), limits.BEST_SHARE) for side in slow.sides)
        return tuple(
            (centre(values[partners > 0]), scale(values[partners > 0]))
            for values, partners in best_pairs
        )

    def are_slow(self, unexplained: Unexplained, end: Endpoint) -> bool:
        """Check whether the end's best pairs are slow as well."""
        without_expected = msgspec.structs.replace(
            self._whole, groups=unexplained.groups, ends=unexplained.ends
        )
        rows = slice(end.index, end.index + 1)
        for direction in end.directions[: len(self._usual)]:
            best, _ = quantile(
                without_expected.block(direction, rows, without_expected.slow.partners),
                limits.BEST_SHARE,
            )
            usual, scatter = self._usual[direction]
            least = limits.SHOWN * end.level - limits.BEST_SCATTER * scatter
            if best[0] - usual < least:
                return False
        return True


def has_longer_paths(unexplained: Unexplained, end: Endpoint, level_tests: LevelTests) -> bool:
    """Check whether many nodes have a node's latency, because paths differ in length.

    In a dragonfly, every node that is one switch farther from the other groups has it.
    """
    if not unexplained.slow.adds_up:
        return False
    excess = level_tests.excess[SENDING]
    shared = np.abs(excess - end.level) <= min(limits.AS_SLOW, limits.SHOWN * end.level)
    if shared.sum() <= max(limits.FEW_PAIRS, limits.QUARTER * unexplained.slow.nodes):
        return False
    rows = np.arange(unexplained.slow.nodes)[sampled_rows(unexplained.slow.nodes)]
    sample = np.concatenate([unexplained.pairs(slice(i, i + 1)) for i in rows])
    low, high = np.nanquantile(sample, limits.PATH_LENGTHS)
    return bool(end.level <= high - low)


def _next(unexplained: Unexplained, named: Collection[int]) -> list[Endpoint]:
    slow_ends = standing_out(unexplained.stand(limits.QUARTER, named), unexplained.slow.limit)
    new_ends = [end for end in slow_ends if end.index not in named]
    if not new_ends or unexplained.slow.nodes > limits.ONE_BY_ONE:
        return new_ends
    worst = max(end.level for end in new_ends)
    return [end for end in new_ends if end.level == worst]


def standing_out(level_tests: LevelTests, limit: float) -> list[Endpoint]:
    q = level_tests.q
    slow = may_reach(level_tests.excess, level_tests.error, limit) & (q <= limits.RATE)
    return [
        _end(level_tests, int(i), slow[:, i], float(q[:, i].min()))
        for i in np.flatnonzero(slow.any(axis=0))
    ]


def _end(level_tests: LevelTests, index: int, slow: Flags, q: float) -> Endpoint:
    excess, error = level_tests.excess[:, index], level_tests.error[:, index]
    part: Ending = "node" if slow.all() else "sender" if slow[SENDING] else "receiver"
    return Endpoint(
        index, part, float(excess[slow].mean()), float(np.sqrt((error[slow] ** 2).mean())), q,
        (float(excess[0]), float(excess[-1])),
    )  # fmt: skip


def _estimate_by_medians(
    unexplained: Unexplained, named: Iterable[Endpoint], level_tests: LevelTests
) -> list[Endpoint]:
    """Estimate effects by medians, which slow partners do not move any more.

    An end that is no longer slow, once the others' part is subtracted, was not at fault.
    """
    ends = []
    for end in named:
        estimate = _end(
            level_tests, end.index, np.isin(np.arange(len(level_tests.p)), end.directions), end.q
        )
        if not estimate.level < limits.LEAST * unexplained.slow.limit:
            ends.append(estimate if np.isfinite(estimate.level) else end)
    return ends


def _doubtful(
    unexplained: Unexplained, ends: list[Endpoint], level_tests: LevelTests
) -> list[Endpoint]:
    """Return ends that look slow but are not named: noise may make one of all ends look so."""
    named = [end.index for end in ends]
    if unexplained.slow.nodes < limits.MANY:  # the median of few is moved by one slow pair
        level_tests = unexplained.stand(limits.QUARTER, named)
    large = (level_tests.p <= limits.MAYBE_SLOW) & (level_tests.excess >= unexplained.slow.limit)
    large[:, named] = False
    return [
        Endpoint(
            int(i), unexplained.slow.endings[direction], float(level_tests.excess[direction, i]),
            float(level_tests.error[direction, i]), 1.0, (0.0, 0.0),
        )
        for direction, i in np.argwhere(large)
    ]  # fmt: skip


def find_slow_at_best(slow: Slowness) -> set[int]:
    """Return nodes as slow as a fault even with their best partners, not excluding chance."""
    slowness = slow.block(ALL)
    nodes: set[int] = set()
    for side in (slowness, slowness.T):
        best, partners = quantile(side, limits.QUARTER)
        nodes |= set(np.flatnonzero(best - centre(best[partners > 0]) >= slow.limit).tolist())
    return nodes


def find_uplinks(
    slow: Slowness, grouping: Grouping, medians: F64, noise: Noise
) -> tuple[list[Endpoint], list[Endpoint]]:
    """Return groups whose crossing pairs are slower than other groups', by number: named, doubtful.

    Groups are compared as nodes are: the lower quartile of each over the others, with those of the
    faster groups. A group that is slow by its median only is doubtful, and only worth a recheck.
    Latencies are left out, because paths between groups differ in length.
    """
    sizes = grouping.sizes[:-1]
    usable = sizes >= 2
    if slow.adds_up or usable.sum() < limits.FEWEST_GROUPS:
        return [], []
    table = medians[:-1, :-1].copy()
    np.fill_diagonal(table, np.nan)
    for distance in (NEAR, FAR):
        at_distance = grouping.distances[:-1, :-1] == distance
        if np.isfinite(table[at_distance]).any():
            table[at_distance] -= np.nanmedian(table[at_distance])
    sigma = limits.GROUP_ERROR * noise.pair / np.sqrt(float(np.median(sizes[usable])))

    quantiles = (
        quantile(direction.astype(np.float32), limits.QUARTER) for direction in (table, table.T)
    )
    directions = [
        Levels(np.where(usable, low.astype(float), np.nan), groups) for low, groups in quantiles
    ]
    level_tests = standing(
        directions, sigma, noise.freedom, usable, fewest=limits.FEWEST_GROUPS - 1
    )
    ends = standing_out(level_tests, slow.limit)
    named = [end for end in ends if _shown_by_nodes(slow, grouping, end)]
    return named, _doubtful_uplinks(slow, grouping, medians, named)


def _doubtful_uplinks(
    slow: Slowness, grouping: Grouping, medians: F64, named: Iterable[Endpoint]
) -> list[Endpoint]:
    """Return groups whose crossing pairs have a slower median than those of the faster groups."""
    usual = np.zeros(3, dtype=np.float32)
    for distance in (NEAR, FAR):
        blocks = medians[grouping.distances == distance]
        if np.isfinite(blocks).any():
            usual[distance] = np.nanmedian(blocks)
    sample = slow.partners
    columns = grouping.index[sample]
    directions = np.full((2, grouping.count - 1), np.nan)
    for group, nodes in enumerate(grouping.members[:-1]):
        away = columns != group
        if nodes.size > 1 and away.any():
            less = usual[grouping.distances[group, columns[away]]]
            for direction, side in enumerate(slow.sides):
                crossing = side(nodes, sample)[:, away] - less
                measured = crossing[np.isfinite(crossing)]
                directions[direction, group] = np.median(measured) if measured.size else np.nan
    excess = np.stack(
        [direction - centre(direction[np.isfinite(direction)]) for direction in directions]
    )
    worst = np.nan_to_num(np.fmax(*excess))
    named_groups = {end.index for end in named}
    return [
        Endpoint(int(i), "node", float(worst[i]), 0.0, 1.0, (0.0, 0.0))
        for i in np.argsort(-worst, kind="stable")
        if worst[i] >= slow.limit and i not in named_groups
    ][: limits.MOST_DOUBTFUL_GROUPS]


def _shown_by_nodes(slow: Slowness, grouping: Grouping, end: Endpoint) -> bool:
    """Check whether nearly all nodes of the group are slow towards the other groups."""
    nodes = grouping.members[end.index]
    other_groups = grouping.index != end.index
    strip = (slow.received if end.part == "receiver" else slow.block)(nodes, ALL)
    levels_of_nodes, _ = quantile(
        np.where(other_groups[None, :], strip, np.float32(np.nan)), limits.QUARTER
    )
    shows = levels_of_nodes >= np.nanmedian(levels_of_nodes) - limits.SHOWN * end.level
    return bool(shows.mean() >= limits.SHOWN_BY_NODES)


def slow_blocks(ends: list[Endpoint], grouping: Grouping) -> Flags:
    """Return the blocks from group to group that slow uplinks explain."""
    table = np.zeros((grouping.count, grouping.count), dtype=bool)
    for end in ends:
        for direction in end.directions:
            (table, table.T)[direction][end.index] = True
    np.fill_diagonal(table, False)
    return table
