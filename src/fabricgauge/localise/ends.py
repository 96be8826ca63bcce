"""Slow senders, receivers and nodes, and groups: what is slow with nearly all partners.

What is already known to be slow is taken away first, so that no other part is blamed for it.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise import limits
from fabricgauge.localise.groups import FAR, NEAR, Grouping
from fabricgauge.localise.noise import LevelTests, Noise, centre, may_reach, scale, standing
from fabricgauge.localise.slowness import (
    ALL,
    F32,
    F64,
    Ending,
    Levels,
    Places,
    Slowness,
    levels,
    quantile,
    sampled_rows,
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
    def ways(self) -> tuple[int, ...]:
        """The directions that are slow."""
        return {"sender": (SENDING,), "receiver": (RECEIVING,)}.get(self.part, (SENDING, RECEIVING))


class Unexplained(msgspec.Struct, frozen=True, eq=False):
    """The slowness that what is known leaves to be explained.

    Delays are subtracted. A bottleneck hides whatever is less slow behind it, so its pairs tell
    nothing of others and become NaN. ``ends`` (2, N) is the slowness of named nodes, sending and
    receiving, and ``groups`` (2, N) that of the way of each node's group to the others and back; 0
    for the others. Nodes of one group have one number in ``index``; nodes on their own have one
    each. Where ``confined`` (groups of nodes) is not empty, ends are also looked for within each
    group alone.
    """

    slow: Slowness
    noise: Noise
    confined: tuple[NDArray[np.int64], ...]
    groups: F32
    index: NDArray[np.int64]
    ends: F32

    def block(self, way: int, rows: Places, columns: Places = ALL) -> F32:
        """Rows as evidence on one direction of them: their partners' and groups' part is away."""
        found = (self.slow.block, self.slow.received)[way](rows, columns)
        self._without(found, self.ends[1 - way][columns])
        own, other = self.groups[way], self.groups[1 - way]
        if own.any() or other.any():
            slow = (own[rows, None] > 0) | (other[None, columns] > 0)
            found[slow & (self.index[rows, None] != self.index[None, columns])] = np.nan
        return found

    def pairs(self, rows: Places) -> F32:
        """Rows as evidence on single pairs: all that is known is taken away."""
        found = self.block(SENDING, rows)
        self._without(found.T, self.ends[SENDING][rows])
        return found

    def knowing(self, ends: Iterable[Endpoint]) -> "Unexplained":
        """The same where these ends are known to be slow, and no others."""
        nodes = self.slow.nodes
        return msgspec.structs.replace(self, ends=_excesses(ends, nodes, np.arange(nodes)[:, None]))

    def stand(self, share: float, named: Collection[int]) -> LevelTests:
        """How each node's quantile over its partners compares with those of nodes not ``named``."""
        slow, some = self.slow, self.slow.partners
        blocks = [partial(self.block, way) for way in range(len(slow.endings))]
        judged = partial(
            standing,
            sigma=self.noise.pair,
            freedom=self.noise.freedom,
            healthy=np.isin(np.arange(slow.nodes), list(named), invert=True),
            middle=share == 0.5,
            fewest=2 if slow.nodes <= 3 and self.noise.passes > 1 else 3,
        )
        every = judged([levels(block, slow.nodes, share, some) for block in blocks])
        if not self.confined:
            return every
        return _worse(every, judged([self._within(block, share) for block in blocks]))

    def _within(self, block: "partial[F32]", share: float) -> Levels:
        """Each node's quantile over the partners in its own group."""
        nodes = self.slow.nodes
        values, partners = np.full(nodes, np.nan), np.zeros(nodes, dtype=np.int64)
        for members in self.confined:
            values[members], partners[members] = quantile(block(members, members), share)
        return Levels(values, partners)

    def _without(self, found: F32, part: F32) -> None:
        """Take what is known of the columns off, in place."""
        if not part.any():
            return
        if self.slow.adds_up:
            found -= part[None, :]
        else:
            found[:, part > 0] = np.nan


def left_of(
    slow: Slowness,
    noise: Noise,
    grouping: Grouping,
    uplinks: Sequence[Endpoint],
    confined: tuple[NDArray[np.int64], ...],
) -> Unexplained:
    """All that slow ways of groups leave."""
    nodes = slow.nodes
    index = np.where(grouping.index < grouping.count - 1, grouping.index, -1 - np.arange(nodes))
    groups = _excesses(uplinks, nodes, grouping.members)
    return Unexplained(slow, noise, confined, groups, index, np.zeros((2, nodes), dtype=np.float32))


def _excesses(
    ends: Iterable[Endpoint], nodes: int, members: Sequence[NDArray[np.int64]] | NDArray[np.int64]
) -> F32:
    """What each node's end, or its group's, is slow by: going out, and coming in; (2, N)."""
    found = np.zeros((2, nodes), dtype=np.float32)
    for end in ends:
        for way in end.ways:
            found[way, members[end.index]] = max(end.excess[way], 0.0)
    return found


def _worse(every: LevelTests, inside: LevelTests) -> LevelTests:
    """A bottleneck between groups hides a lesser one at a node; within its group it shows."""
    better = inside.p < every.p * limits.SURER
    return LevelTests(
        np.where(better, inside.excess, every.excess),
        np.where(better, inside.error, every.error),
        np.where(better, inside.p, every.p),
    )


class SlowEnds(msgspec.Struct, frozen=True, eq=False):
    """Who is named, who only looks slow, how all nodes stand, and what is left to be explained.

    ``partly`` are slow with most of their partners, but as fast as others with the rest.
    """

    named: list[Endpoint]
    doubtful: list[Endpoint]
    partly: list[Endpoint]
    both: LevelTests
    left: Unexplained


def find_ends(start: Unexplained) -> SlowEnds:
    """Name the slowest first, take its part away, and look again until nothing stands out."""
    left, named, partly = start, dict[int, Endpoint](), dict[int, Endpoint]()
    best = BestPairs(start)
    while new := _next(left, named | partly):
        for end in new:
            (named if best.are_slow(left, end) else partly)[end.index] = end
        left = start.knowing(named.values())
    both = left.stand(0.5, named)
    estimated = _estimated_again(left, named.values(), both)
    ends = [end for end in estimated if not has_longer_ways(left, end, both)]
    partly |= {end.index: end for end in estimated if end not in ends}
    left = start.knowing(ends)
    doubtful = [end for end in _doubtful(left, ends, both) if end.index not in partly]
    rest = [
        end for end in doubtful if not best.are_slow(left, end) or has_longer_ways(left, end, both)
    ]
    sure = [end for end in doubtful if end not in rest]
    return SlowEnds(ends, sure, [*partly.values(), *rest], both, left)


class BestPairs:
    """The fastest pairs of each node: a slow end is slow with all partners, not only with most.

    A bandwidth counts as it is, since a node that carries it with one partner can carry it. Of a
    latency the excess over the expected counts.
    """

    def __init__(self, start: Unexplained) -> None:
        slow = start.slow
        if not slow.adds_up:
            slow = msgspec.structs.replace(slow, expected=np.zeros_like(slow.expected))
        self._whole = msgspec.structs.replace(start, slow=slow)

    @cached_property
    def _usual(self) -> tuple[tuple[float, float], ...]:
        """For each way, what the best pairs of the usual node have, and how far these scatter."""
        slow = self._whole.slow
        rows = np.arange(slow.nodes)[sampled_rows(slow.nodes)]
        found = (quantile(side(rows, slow.partners), limits.BEST_SHARE) for side in slow.sides)
        return tuple(
            (centre(values[partners > 0]), scale(values[partners > 0]))
            for values, partners in found
        )

    def are_slow(self, left: Unexplained, end: Endpoint) -> bool:
        """Whether the end's best pairs show it as well; ``left`` is what the known leaves."""
        whole = msgspec.structs.replace(self._whole, groups=left.groups, ends=left.ends)
        rows = slice(end.index, end.index + 1)
        for way in end.ways[: len(self._usual)]:
            best, _ = quantile(whole.block(way, rows, whole.slow.partners), limits.BEST_SHARE)
            usual, scatter = self._usual[way]
            least = limits.SHOWN * end.level - limits.BEST_SCATTER * scatter
            if best[0] - usual < least:
                return False
        return True


def has_longer_ways(left: Unexplained, end: Endpoint, both: LevelTests) -> bool:
    """Check whether a node's latency is one that many nodes have, because ways differ in length.

    In a dragonfly, every node that is one switch farther from the other groups has it.
    """
    if not left.slow.adds_up:
        return False
    excess = both.excess[SENDING]
    shared = np.abs(excess - end.level) <= min(limits.AS_SLOW, limits.SHOWN * end.level)
    if shared.sum() <= max(limits.FEW_PAIRS, limits.QUARTER * left.slow.nodes):
        return False
    rows = np.arange(left.slow.nodes)[sampled_rows(left.slow.nodes)]
    sample = np.concatenate([left.pairs(slice(i, i + 1)) for i in rows])
    low, high = np.nanquantile(sample, limits.WAY_LENGTHS)
    return bool(end.level <= high - low)


def _next(left: Unexplained, named: Collection[int]) -> list[Endpoint]:
    every = standing_out(left.stand(limits.QUARTER, named), left.slow.limit)
    found = [end for end in every if end.index not in named]
    if not found or left.slow.nodes > limits.ONE_BY_ONE:
        return found
    worst = max(end.level for end in found)
    return [end for end in found if end.level == worst]


def standing_out(both: LevelTests, limit: float) -> list[Endpoint]:
    """All that stand out now."""
    q = both.q
    slow = may_reach(both.excess, both.error, limit) & (q <= limits.RATE)
    return [
        _end(both, int(i), slow[:, i], float(q[:, i].min()))
        for i in np.flatnonzero(slow.any(axis=0))
    ]


def _end(both: LevelTests, index: int, slow: NDArray[np.bool_], q: float) -> Endpoint:
    excess, error = both.excess[:, index], both.error[:, index]
    part: Ending = "node" if slow.all() else "sender" if slow[SENDING] else "receiver"
    return Endpoint(
        index, part, float(excess[slow].mean()), float(np.sqrt((error[slow] ** 2).mean())), q,
        (float(excess[0]), float(excess[-1])),
    )  # fmt: skip


def _estimated_again(
    left: Unexplained, named: Iterable[Endpoint], both: LevelTests
) -> list[Endpoint]:
    """Effects by medians, now that slow partners do not move them any more.

    An end that is no longer slow, once the others' part is taken away, was not at fault.
    """
    ends = []
    for end in named:
        again = _end(both, end.index, np.isin(np.arange(len(both.p)), end.ways), end.q)
        if not again.level < limits.LEAST * left.slow.limit:
            ends.append(again if np.isfinite(again.level) else end)
    return ends


def _doubtful(left: Unexplained, ends: list[Endpoint], both: LevelTests) -> list[Endpoint]:
    """Ends that look slow but are not named: noise alone may make one of all ends look so."""
    named = [end.index for end in ends]
    if left.slow.nodes < limits.MANY:  # the median of few is moved by one slow pair
        both = left.stand(limits.QUARTER, named)
    large = (both.p <= limits.MAYBE_SLOW) & (both.excess >= left.slow.limit)
    large[:, named] = False
    return [
        Endpoint(
            int(i), left.slow.endings[way], float(both.excess[way, i]),
            float(both.error[way, i]), 1.0, (0.0, 0.0),
        )
        for way, i in np.argwhere(large)
    ]  # fmt: skip


def behind(slow: Slowness) -> set[int]:
    """Nodes that are as slow as a fault even with their best partners; chance is not excluded."""
    every = slow.block(ALL)
    found: set[int] = set()
    for side in (every, every.T):
        best, partners = quantile(side, limits.QUARTER)
        found |= set(np.flatnonzero(best - centre(best[partners > 0]) >= slow.limit).tolist())
    return found


class SlowUplinks(msgspec.Struct, frozen=True, eq=False):
    """Groups whose way to the others is slow, by number; ``doubtful`` are only worth a look."""

    named: list[Endpoint]
    doubtful: list[Endpoint]


def find_uplinks(slow: Slowness, grouping: Grouping, medians: F64, noise: Noise) -> SlowUplinks:
    """Groups whose crossing pairs are slower than other groups', by number.

    Groups are compared as nodes are: the lower quartile of each over the others, with those of the
    faster groups. A group that is slow by its median only is doubtful. Latencies are left out,
    because ways between groups differ in length.
    """
    sizes = np.array([one.size for one in grouping.members[:-1]])
    usable = sizes >= 2
    if slow.adds_up or usable.sum() < limits.FEWEST_GROUPS:
        return SlowUplinks([], [])
    table = medians[:-1, :-1].copy()
    np.fill_diagonal(table, np.nan)
    for distance in (NEAR, FAR):
        here = grouping.distances[:-1, :-1] == distance
        if np.isfinite(table[here]).any():
            table[here] -= np.nanmedian(table[here])
    sigma = limits.GROUP_ERROR * noise.pair / np.sqrt(float(np.median(sizes[usable])))

    found = (quantile(way.astype(np.float32), limits.QUARTER) for way in (table, table.T))
    ways = [Levels(np.where(usable, low.astype(float), np.nan), met) for low, met in found]
    both = standing(ways, sigma, noise.freedom, usable, fewest=limits.FEWEST_GROUPS - 1)
    ends = standing_out(both, slow.limit)
    named = [end for end in ends if _shown_by_nodes(slow, grouping, end)]
    return SlowUplinks(named, _doubtful_uplinks(slow, grouping, medians, named))


def _doubtful_uplinks(
    slow: Slowness, grouping: Grouping, medians: F64, named: Iterable[Endpoint]
) -> list[Endpoint]:
    """Groups whose crossing pairs are slower by their median than those of the faster groups."""
    usual = np.zeros(3, dtype=np.float32)
    for distance in (NEAR, FAR):
        blocks = medians[grouping.distances == distance]
        if np.isfinite(blocks).any():
            usual[distance] = np.nanmedian(blocks)
    some = slow.partners
    columns = grouping.index[some]
    ways = np.full((2, grouping.count - 1), np.nan)
    for group, nodes in enumerate(grouping.members[:-1]):
        away = columns != group
        if nodes.size > 1 and away.any():
            less = usual[grouping.distances[group, columns[away]]]
            for way, side in enumerate(slow.sides):
                crossing = side(nodes, some)[:, away] - less
                measured = crossing[np.isfinite(crossing)]
                ways[way, group] = np.median(measured) if measured.size else np.nan
    excess = np.stack([way - centre(way[np.isfinite(way)]) for way in ways])
    worst = np.nan_to_num(np.fmax(*excess))
    known = {end.index for end in named}
    return [
        Endpoint(int(i), "node", float(worst[i]), 0.0, 1.0, (0.0, 0.0))
        for i in np.argsort(-worst, kind="stable")
        if worst[i] >= slow.limit and i not in known
    ][: limits.MOST_DOUBTFUL_GROUPS]


def _shown_by_nodes(slow: Slowness, grouping: Grouping, end: Endpoint) -> bool:
    """Whether nearly all nodes of the group, not only some, are slow towards the other groups."""
    nodes = grouping.members[end.index]
    away = grouping.index != end.index
    strip = (slow.received if end.part == "receiver" else slow.block)(nodes, ALL)
    found, _ = quantile(np.where(away[None, :], strip, np.float32(np.nan)), limits.QUARTER)
    shows = found >= np.nanmedian(found) - limits.SHOWN * end.level
    return bool(shows.mean() >= limits.SHOWN_BY_NODES)


def slow_blocks(ends: list[Endpoint], grouping: Grouping) -> NDArray[np.bool_]:
    """The blocks from group to group that slow uplinks explain."""
    table = np.zeros((grouping.count, grouping.count), dtype=bool)
    for end in ends:
        for way in end.ways:
            (table, table.T)[way][end.index] = True
    np.fill_diagonal(table, False)
    return table
