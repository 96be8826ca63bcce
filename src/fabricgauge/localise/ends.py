"""Slow senders, receivers and nodes: what is slow with nearly all partners.

What is already known to be slow is taken away first, so that it is not blamed on anybody else.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.groups import Grouping
from fabricgauge.localise.limits import ALSO_SLOW, LEAST, MANY, MAYBE_SLOW, ONE_BY_ONE, QUARTER
from fabricgauge.localise.noise import (
    Noise,
    Standing,
    centre,
    false_discovery,
    standing,
)
from fabricgauge.localise.slowness import (
    ALL,
    F32,
    Levels,
    Places,
    Slowness,
    levels,
    quantile,
)


class Known(msgspec.Struct, frozen=True, eq=False):
    """Slowness of named things, 0 for the others.

    ``sending``, ``receiving`` (N,) are the nodes', ``outward``, ``inward`` (N,) those of the
    node's group towards and from other groups.
    """

    sending: F32
    receiving: F32
    outward: F32
    inward: F32


class Left(msgspec.Struct, frozen=True, eq=False):
    """The slowness that ``known`` leaves to be explained.

    Delays are subtracted. A bottleneck hides whatever is less slow behind it, so its pairs tell
    nothing of others and become NaN. Nodes of one group have one number in ``index``; nodes on
    their own never cross.
    """

    slow: Slowness
    known: Known
    index: NDArray[np.int64]

    def sending(self, rows: Places, columns: Places = ALL) -> F32:
        """Rows as evidence on their senders: the receivers' and groups' part is taken away."""
        strip = self.slow.block(rows, columns)
        self._without(strip, self.known.receiving[columns])
        return self._without_groups(strip, rows, columns)

    def receiving(self, rows: Places, columns: Places = ALL) -> F32:
        """Columns, transposed, as evidence on their receivers."""
        strip = np.ascontiguousarray(self.slow.block(columns, rows).T)
        self._without(strip, self.known.sending[columns])
        return self._without_groups(strip, rows, columns, transposed=True)

    def pairs(self, rows: Places) -> F32:
        """Rows as evidence on single pairs: all that is known is taken away."""
        strip = self.sending(rows)
        self._without(strip.T, self.known.sending[rows])
        return strip

    def _without(self, strip: F32, part: F32) -> None:
        """Take what is known of the columns off, in place."""
        if not part.any():
            return
        if self.slow.adds_up:
            strip -= part[None, :]
        else:
            strip[:, part > 0] = np.nan

    def _without_groups(
        self, strip: F32, rows: Places, columns: Places, *, transposed: bool = False
    ) -> F32:
        own, other = self.known.outward, self.known.inward
        if transposed:
            own, other = other, own
        if not (own.any() or other.any()):
            return strip
        slow = (own[rows, None] > 0) | (other[None, columns] > 0)
        strip[slow & (self.index[rows, None] != self.index[None, columns])] = np.nan
        return strip


def left_of(slow: Slowness, grouping: Grouping, uplinks: Sequence["End"]) -> Left:
    """All that slow ways of groups leave."""
    nodes = slow.nodes
    index = np.where(grouping.index < grouping.count - 1, grouping.index, -1 - np.arange(nodes))
    outward, inward = _excesses(uplinks, nodes, grouping.members)
    nobody = np.zeros(nodes, dtype=np.float32)
    return Left(slow, Known(nobody, nobody, outward, inward), index)


def _knowing(left: Left, ends: Iterable["End"]) -> Left:
    """The same where these ends are known to be slow, and no others."""
    nodes = left.slow.nodes
    sending, receiving = _excesses(ends, nodes, np.arange(nodes)[:, None])
    known = msgspec.structs.replace(left.known, sending=sending, receiving=receiving)
    return msgspec.structs.replace(left, known=known)


def _excesses(
    ends: Iterable["End"], nodes: int, members: Sequence[NDArray[np.int64]] | NDArray[np.int64]
) -> tuple[F32, F32]:
    """What each node's end, or its group's, is slow by: going out, and coming in."""
    out, back = np.zeros((2, nodes), dtype=np.float32)
    for end in ends:
        if end.part != "receiver":
            out[members[end.index]] = max(end.sending, 0.0)
        if end.part != "sender":
            back[members[end.index]] = max(end.receiving, 0.0)
    return out, back


#: Rows as evidence on one direction of their nodes, over these columns.
Evidence = Callable[[Places, Places], F32]

Ending = Literal["node", "sender", "receiver"]


class End(msgspec.Struct, frozen=True):
    """A slow end. ``sending`` and ``receiving`` are its excess slowness, healthy or not."""

    index: int
    part: Ending
    level: float
    error: float
    q: float
    sending: float
    receiving: float


class Both(msgspec.Struct, frozen=True, eq=False):
    """The standing of all senders and of all receivers; one and the same where delays add up."""

    sending: Standing
    receiving: Standing


class Search(msgspec.Struct, frozen=True, eq=False):
    """What the search for slow ends needs; ``limit`` is the least slowness of a fault.

    Ends are looked for within their groups only as well where ``confined`` (groups of nodes) is
    not empty.
    """

    left: Left
    noise: Noise
    limit: float
    rate: float
    confined: tuple[NDArray[np.int64], ...]

    @property
    def nodes(self) -> int:
        return self.left.slow.nodes

    @property
    def symmetric(self) -> bool:
        return self.left.slow.adds_up


class SlowEnds(msgspec.Struct, frozen=True, eq=False):
    """Who is named, who only looks slow, how all nodes stand, and what is left to be explained."""

    named: list[End]
    doubtful: list[End]
    both: Both
    left: Left


def find_ends(search: Search) -> SlowEnds:
    """Name the slowest first, take its part away, and look again until nothing stands out."""
    start, named = search.left, dict[int, End]()
    while new := _next(search, named):
        named |= {end.index: end for end in new}
        search = msgspec.structs.replace(search, left=_knowing(start, named.values()))
    both = stand(search, 0.5, _all_but(search, named))
    ends = _estimated_again(search, named.values(), both)
    search = msgspec.structs.replace(search, left=_knowing(start, ends))
    return SlowEnds(ends, _doubtful(search, ends, both), both, search.left)


def _doubtful(search: Search, ends: list[End], both: Both) -> list[End]:
    """Ends that look slow and are not named, for noise could make one of so many look so."""
    named = {end.index for end in ends}
    if search.nodes < MANY:  # the median of few is moved by one slow pair
        both = stand(search, QUARTER, _all_but(search, named))
    found = []
    for number, side in enumerate((both.sending, both.receiving)[: 2 - search.symmetric]):
        part: Ending = "node" if search.symmetric else ("sender", "receiver")[number]
        large = (side.p <= MAYBE_SLOW) & (side.excess >= search.limit)
        found += [
            End(int(i), part, float(side.excess[i]), float(side.error[i]), 1.0, 0.0, 0.0)
            for i in np.flatnonzero(large)
            if int(i) not in named
        ]
    return found


def behind(slow: Slowness, limit: float) -> set[int]:
    """Nodes that are slow by ``limit`` even with their best partners, likely by chance or not."""
    every = slow.block(ALL)
    found: set[int] = set()
    for side in (every, every.T):
        best, partners = quantile(side, QUARTER)
        found |= set(np.flatnonzero(best - centre(best[partners > 0]) >= limit).tolist())
    return found


def _all_but(search: Search, named: Collection[int]) -> NDArray[np.bool_]:
    return np.isin(np.arange(search.nodes), list(named), invert=True)


def stand(search: Search, share: float, healthy: NDArray[np.bool_]) -> Both:
    """How each node's quantile over its partners compares with the healthy ones'."""
    left = search.left
    sending = _against(search, left.sending, share, healthy)
    if search.symmetric:
        return Both(sending, sending)
    return Both(sending, _against(search, left.receiving, share, healthy))


def _against(
    search: Search, evidence: Evidence, share: float, healthy: NDArray[np.bool_]
) -> Standing:
    some = search.left.slow.partners
    found = levels(
        lambda first, last: evidence(slice(first, last), some),
        search.nodes, share, len(range(search.nodes)[some]),
    )  # fmt: skip
    every = _judge(search, found, healthy, share)
    if not search.confined:
        return every
    values, partners = np.full(search.nodes, np.nan), np.zeros(search.nodes, dtype=np.int64)
    for members in search.confined:
        values[members], partners[members] = quantile(evidence(members, members), share)
    return _worse(every, _judge(search, Levels(values, partners), healthy, share))


def _judge(search: Search, found: Levels, healthy: NDArray[np.bool_], share: float) -> Standing:
    noise = search.noise
    alone = search.nodes <= 3 and noise.passes > 1
    return standing(
        found, noise.pair, noise.freedom, healthy, middle=share == 0.5, fewest=2 if alone else 3
    )


def _worse(every: Standing, inside: Standing) -> Standing:
    """A bottleneck between groups hides a lesser one at a node; within its group it shows."""
    better = inside.p < every.p * 1e-3
    return Standing(
        np.where(better, inside.excess, every.excess),
        np.where(better, inside.error, every.error),
        np.where(better, inside.p, every.p),
    )


def _next(search: Search, named: dict[int, End]) -> list[End]:
    both = stand(search, QUARTER, _all_but(search, named))
    every = standing_out(both, search.limit, search.rate)
    found = [end for end in every if end.index not in named]
    if not found or search.nodes > ONE_BY_ONE:
        return found
    worst = max(end.level for end in found)
    return [end for end in found if end.level == worst]


def standing_out(both: Both, limit: float, rate: float) -> list[End]:
    """All that stand out now; the other direction of one is slow at a weaker test already."""
    out, back = both.sending, both.receiving
    if out is back:
        q = false_discovery(out.p, out.tests)
        slow = (q <= rate) & out.reaches(limit)
        return [
            End(int(i), "node", out.excess[i], out.error[i], q[i], out.excess[i], out.excess[i])
            for i in np.flatnonzero(slow)
        ]
    q = false_discovery(np.concatenate((out.p, back.p)), out.tests + back.tests).reshape(2, -1)
    reach = np.stack((out.reaches(limit), back.reaches(limit)))
    also = reach & (np.stack((out.p, back.p)) <= ALSO_SLOW)
    slow = reach & (q <= rate)
    return [_end(both, q[:, i], also[:, i], int(i)) for i in np.flatnonzero(slow.any(axis=0))]


def _end(both: Both, q: NDArray[np.float64], slow: NDArray[np.bool_], index: int) -> End:
    excess = np.array([both.sending.excess[index], both.receiving.excess[index]])
    error = np.array([both.sending.error[index], both.receiving.error[index]])
    part: Ending = "node" if slow.all() else "sender" if slow[0] else "receiver"
    return End(
        index, part, float(excess[slow].mean()), float(np.sqrt((error[slow] ** 2).mean())),
        float(q.min()), float(excess[0]), float(excess[1]),
    )  # fmt: skip


def _estimated_again(search: Search, named: Iterable[End], both: Both) -> list[End]:
    """Effects by medians, now that slow partners do not move them any more.

    What is not slow any more, with the others' part known, was not at fault.
    """
    ends = []
    for end in named:
        slow = np.array([end.part != "receiver", end.part != "sender"])
        again = _end(both, np.array([end.q]), slow, end.index)
        if not again.level < LEAST * search.limit:
            ends.append(again if np.isfinite(again.level) else end)
    return ends
