"""Suspects measured once more, one pair at a time, held against good pairs of the same launch.

Of a latency the fastest messages count: what lies on the way delays those as well, while a host
that is busy, which is no matter of the network, delays most but not all. Latencies are compared as
if all ways were as long as the usual one.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec
import numpy as np

from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import WAYS, Finding, PairAnalysis
from fabricgauge.stats.pairs.distances import Distances, distances
from fabricgauge.stats.pairs.doubted import Doubted, nodes_of
from fabricgauge.stats.series import Point, Series

#: As much of the effect must be there again for the suspicion to be confirmed.
CONFIRMED = 0.5


class Again(msgspec.Struct, frozen=True):
    """What a suspect did alone. ``effect`` is as in :class:`Finding`, relative to ``controls``
    good pairs; ``partners`` are those whom it met, ``good`` and ``own`` the medians over pairs in
    the quantity's unit, of a latency those of the fastest messages, at the usual distance.
    """

    effect: float
    own: float
    good: float
    partners: tuple[str, ...]
    controls: int
    confirmed: bool


def again(
    analysis: PairAnalysis, finding: Finding, series: Sequence[Series], others: Doubted
) -> Again | Skipped:
    """What the pairs that were measured again say of a finding of that analysis.

    What ``others`` take part in shows nothing of it.
    """
    sides = sides_of(analysis, finding, series, others)
    if not sides.own:
        return Skipped("it was not measured again")
    if not sides.good:
        return Skipped("no two good nodes were measured beside it")
    here, usual = float(np.median(sides.own)), float(np.median(sides.good))
    effect = here / usual - 1.0
    confirmed = effect * finding.effect > 0 and abs(effect) >= CONFIRMED * abs(finding.effect)
    return Again(effect, here, usual, sides.partners, len(sides.good), confirmed)


class Sides(msgspec.Struct, frozen=True):
    """What the accused pairs, and the good ones beside them, did; in the quantity's unit.

    ``partners`` are those whom the accused met.
    """

    own: tuple[float, ...]
    good: tuple[float, ...]
    partners: tuple[str, ...]


def sides_of(
    analysis: PairAnalysis, claim: Finding, series: Sequence[Series], others: Doubted
) -> Sides:
    """The pairs that show the claim, and good ones; beside a way, those of its ends are good."""
    ways = distances(analysis)
    own, good = series_of_sides(analysis, claim, series, others)
    met = {end for one in own for end in (one.origin, one.target)}
    return Sides(
        tuple(_values(claim, own, ways)),
        tuple(_values(claim, good, ways)),
        tuple(sorted(met.difference(nodes_of(analysis, claim)))),
    )


def series_of_sides(
    analysis: PairAnalysis, claim: Finding, series: Sequence[Series], others: Doubted
) -> tuple[list[Series], list[Series]]:
    """Those that show the claim, and those of good pairs."""
    fitting = [one for one in series if one.pattern == claim.quantity]
    accused = nodes_of(analysis, claim)
    own = [one for one in fitting if _concerns(claim, one, accused, others)]
    return own, [one for one in fitting if others.spares(one)]


def _concerns(claim: Finding, one: Series, accused: Collection[str], others: Doubted) -> bool:
    """Whether a pair shows the accused part with somebody who is not doubted."""
    ends = (one.origin, one.target)
    if claim.part in WAYS:
        directed = claim.part == "direction" and claim.quantity == "bandwidth"
        return ends == claim.names if directed else set(ends) == set(claim.names)
    inside = [end in accused for end in ends]
    if sum(inside) != 1 or ends[inside.index(False)] in others.nodes:
        return False
    return frozenset(ends) not in others.ways and _ROLES.get(claim.part, _either)(claim, inside)


def _either(claim: Finding, inside: Sequence[bool]) -> bool:
    return True


def _first(claim: Finding, inside: Sequence[bool]) -> bool:
    return inside[0] or claim.quantity == "latency"


def _second(claim: Finding, inside: Sequence[bool]) -> bool:
    return inside[1] or claim.quantity == "latency"


_ROLES: dict[str, Callable[[Finding, Sequence[bool]], bool]] = {
    "sender": _first,
    "receiver": _second,
}


def _values(claim: Finding, series: Sequence[Series], ways: Distances) -> list[float]:
    """Each pair's bandwidth, or fastest message, at the size nearest to the claim's."""
    values = []
    for one in series:
        nearest = min(
            one.points,
            key=lambda point: abs(point.message_bytes - claim.message_bytes),
            default=None,
        )
        if nearest is not None:
            latency = claim.quantity == "latency"
            value = _fastest_s(nearest) if latency else nearest.bandwidth.value
            values.append(value - ways.beyond_usual(one))
    return values


def _fastest_s(point: Point) -> float:
    times = [one.times for one in point.measurements if one.times is not None]
    return min((one.minimum_s for one in times), default=point.time.value)
