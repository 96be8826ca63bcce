"""Slow senders, receivers and nodes: what is slow with nearly all partners.

What is already known to be slow is taken away first, so that it is not blamed on anybody else.
"""

from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.groups import Grouping
from fabricgauge.localise.limits import LEAST, Limits
from fabricgauge.localise.noise import MANY, Noise, Standing, false_discovery, standing
from fabricgauge.localise.slowness import F32, Levels, Slowness, Strip, levels


class Known(msgspec.Struct, eq=False):
    """Slowness of named things, 0 for the others.

    ``sending``, ``receiving`` (N,) are the nodes', ``outward``, ``inward`` (N,) those of the
    node's group towards and from other groups. Nodes of one group have one number in ``index``;
    nodes on their own never cross.
    """

    sending: F32
    receiving: F32
    outward: F32
    inward: F32
    index: NDArray[np.int64]


def nothing_known(grouping: Grouping) -> Known:
    nodes = grouping.index.size
    index = np.where(grouping.index < grouping.count - 1, grouping.index, -1 - np.arange(nodes))
    sending, receiving, outward, inward = np.zeros((4, nodes), dtype=np.float32)
    return Known(sending, receiving, outward, inward, index)


class Left(msgspec.Struct, frozen=True, eq=False):
    """The slowness that ``known`` leaves to be explained.

    Delays are subtracted. A bottleneck hides whatever is less slow behind it, so its pairs tell
    nothing of others and become NaN. ``turned`` is the transposed slowness.
    """

    slow: Slowness
    known: Known
    turned: F32

    def sending(self, first: int, last: int) -> F32:
        """Rows as evidence on their senders: the receivers' and groups' part is taken away."""
        strip = self.slow.values[first:last].copy()
        self._without(strip, self.known.receiving[None, :])
        return self._without_groups(strip, first, last)

    def receiving(self, first: int, last: int) -> F32:
        """Columns, transposed, as evidence on their receivers."""
        strip = self.turned[first:last].copy()
        self._without(strip, self.known.sending[None, :])
        return self._without_groups(strip, first, last, transposed=True)

    def pairs(self, first: int, last: int) -> F32:
        """Rows as evidence on single pairs: all that is known is taken away."""
        strip = self.sending(first, last)
        self._without(strip, self.known.sending[first:last, None])
        return strip

    def within(self, strip: Strip) -> Strip:
        """Only what does not leave the group."""

        def inside(first: int, last: int) -> F32:
            found = strip(first, last)
            found[self._crossing(first, last)] = np.nan
            return found

        return inside

    def _without(self, strip: F32, part: F32) -> None:
        if not part.any():
            return
        if self.slow.adds_up:
            strip -= part
        else:
            strip[np.broadcast_to(part > 0, strip.shape)] = np.nan

    def _without_groups(
        self, strip: F32, first: int, last: int, *, transposed: bool = False
    ) -> F32:
        known = self.known
        own, other = known.outward, known.inward
        if transposed:
            own, other = other, own
        if not (own.any() or other.any()):
            return strip
        slow = (own[first:last, None] > 0) | (other[None, :] > 0)
        strip[slow & self._crossing(first, last)] = np.nan
        return strip

    def _crossing(self, first: int, last: int) -> NDArray[np.bool_]:
        index = self.known.index
        apart: NDArray[np.bool_] = index[first:last, None] != index[None, :]
        return apart


#: A slow end is slow with at least three quarters of its partners.
QUARTER = 0.25

#: The other direction of a slow end is slow as well at this p already, and this much of the limit.
_ALSO, _ALSO_SHARE = 0.01, 0.75

#: A slow end that is not named is suspected at this p.
_MAYBE = 0.02

#: More than this and all that stands out in one look is named at once.
_ONE_BY_ONE = 512

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
    """What the search for slow ends needs. ``confined`` looks within groups only as well."""

    left: Left
    noise: Noise
    limits: Limits
    confined: bool

    @property
    def limit(self) -> float:
        return self.limits.slowness(self.left.slow.quantity)

    @property
    def nodes(self) -> int:
        return int(self.left.known.sending.size)

    @property
    def symmetric(self) -> bool:
        return self.left.slow.adds_up


def find_ends(search: Search) -> tuple[list[End], Both]:
    """Name the slowest first, take its part away, and look again until nothing stands out.

    ``left.known`` is filled in. The second value is how all nodes stand in the end.
    """
    named: dict[int, End] = {}
    while True:
        new = _next(search, named)
        if not new:
            break
        for end in new:
            named[end.index] = end
            _remember(search.left.known, end)
    return _measured_again(search, named)


def doubtful(search: Search, ends: list[End], both: Both) -> list[End]:
    """Ends that look slow and are not named, for noise could make one of so many look so."""
    named = {end.index for end in ends}
    if search.nodes < MANY:  # the median of few is moved by one slow pair
        both = stand(search, QUARTER, np.isin(np.arange(search.nodes), list(named), invert=True))
    found = []
    for number, side in enumerate((both.sending, both.receiving)[: 2 - search.symmetric]):
        part: Ending = "node" if search.symmetric else ("sender", "receiver")[number]
        large = (side.p <= _MAYBE) & (side.excess >= search.limit)
        found += [
            End(int(i), part, float(side.excess[i]), float(side.error[i]), 1.0, 0.0, 0.0)
            for i in np.flatnonzero(large)
            if int(i) not in named
        ]
    return found


def stand(search: Search, share: float, healthy: NDArray[np.bool_]) -> Both:
    """How each node's quantile over its partners compares with the healthy ones'."""
    left = search.left
    sending = _against(search, left.sending, share, healthy)
    if search.symmetric:
        return Both(sending, sending)
    return Both(sending, _against(search, left.receiving, share, healthy))


def _against(search: Search, strip: Strip, share: float, healthy: NDArray[np.bool_]) -> Standing:
    found = _judge(search, levels(strip, search.nodes, share), healthy, share)
    if not search.confined:
        return found
    inside = levels(search.left.within(strip), search.nodes, share)
    return _worse(found, _judge(search, inside, healthy, share))


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
    healthy = np.ones(search.nodes, dtype=bool)
    healthy[list(named)] = False
    both = stand(search, QUARTER, healthy)
    found = [end for end in _ends(search, both) if end.index not in named]
    if not found or search.nodes > _ONE_BY_ONE:
        return found
    worst = max(end.level for end in found)
    return [end for end in found if end.level == worst]


def _ends(search: Search, both: Both) -> list[End]:
    """All that stand out now."""
    limit, rate = search.limit, search.limits.rate
    out, back = both.sending, both.receiving
    if search.symmetric:
        q = false_discovery(out.p, out.tests)
        slow = (q <= rate) & out.reaches(limit)
        return [
            End(int(i), "node", out.excess[i], out.error[i], q[i], out.excess[i], out.excess[i])
            for i in np.flatnonzero(slow)
        ]
    q = false_discovery(np.concatenate((out.p, back.p)), out.tests + back.tests)
    reach = np.stack((out.reaches(limit), back.reaches(limit)))
    slow = (q.reshape(2, -1) <= rate) & reach
    large = np.stack((out.excess, back.excess)) >= _ALSO_SHARE * limit
    also = (reach | large) & (np.stack((out.p, back.p)) <= _ALSO)
    return [
        _end(both, q.reshape(2, -1)[:, i], also[:, i], int(i))
        for i in np.flatnonzero(slow.any(axis=0))
    ]


def _end(both: Both, q: NDArray[np.float64], slow: NDArray[np.bool_], index: int) -> End:
    excess = np.array([both.sending.excess[index], both.receiving.excess[index]])
    error = np.array([both.sending.error[index], both.receiving.error[index]])
    part: Ending = "node" if slow.all() else "sender" if slow[0] else "receiver"
    return End(
        index, part, float(excess[slow].mean()), float(np.sqrt((error[slow] ** 2).mean())),
        float(q.min()), float(excess[0]), float(excess[1]),
    )  # fmt: skip


def _remember(known: Known, end: End) -> None:
    if end.part != "receiver":
        known.sending[end.index] = max(end.sending, 0.0)
    if end.part != "sender":
        known.receiving[end.index] = max(end.receiving, 0.0)


def _forget(known: Known, end: End) -> None:
    known.sending[end.index] = known.receiving[end.index] = 0.0


def _measured_again(search: Search, named: dict[int, End]) -> tuple[list[End], Both]:
    """Effects by medians, now that slow partners do not move them any more.

    What is not slow any more, with the others' part known, was not at fault.
    """
    healthy = np.ones(search.nodes, dtype=bool)
    healthy[list(named)] = False
    both = stand(search, 0.5, healthy)
    ends = []
    for end in named.values():
        slow = np.array([end.part != "receiver", end.part != "sender"])
        again = _end(both, np.array([end.q]), slow, end.index)
        _forget(search.left.known, end)
        if not again.level < LEAST * search.limit:
            ends.append(again if np.isfinite(again.level) else end)
            _remember(search.left.known, ends[-1])
    return ends, both
