"""Suspects measured once more, one pair at a time, held against good pairs of the same launch.

Of a latency the fastest messages count: what lies on the way delays those as well, while a host
that is busy, which is no matter of the network, delays most but not all.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec
import numpy as np

from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import Finding
from fabricgauge.stats.series import Point, Series

#: As much of the effect must be there again for the suspicion to be confirmed.
CONFIRMED = 0.5


class Again(msgspec.Struct, frozen=True):
    """What a suspect did alone. ``effect`` is as in :class:`Finding`, relative to ``controls``
    good pairs; ``partners`` are those whom it met, ``good`` and ``own`` the medians over pairs in
    the quantity's unit, of a latency those of the fastest messages.
    """

    effect: float
    own: float
    good: float
    partners: tuple[str, ...]
    controls: int
    confirmed: bool


def again(
    finding: Finding,
    series: Sequence[Series],
    accused: Collection[str],
    members: Collection[str] = (),
) -> Again | Skipped:
    """What the pairs that were measured again say of a finding.

    ``accused`` are all nodes that stand in any finding: what they take part in shows nothing of
    another one. ``members`` are the nodes of the group, if it is one that is accused.
    """
    own, good = _sides(finding, series, accused, members)
    own_values, good_values = _values(finding, own), _values(finding, good)
    if not own_values:
        return Skipped("it was not measured again")
    if not good_values:
        return Skipped("no two good nodes were measured beside it")
    here, usual = float(np.median(own_values)), float(np.median(good_values))
    effect = here / usual - 1.0
    partners = {end for one in own for end in (one.origin, one.target)} - {*finding.names, *members}
    confirmed = effect * finding.effect > 0 and abs(effect) >= CONFIRMED * abs(finding.effect)
    return Again(effect, here, usual, tuple(sorted(partners)), len(good_values), confirmed)


def pair_values(
    finding: Finding, series: Sequence[Series], accused: Collection[str]
) -> tuple[list[float], list[float]]:
    """What the accused pairs, and the good ones beside them, did; in the quantity's unit."""
    own, good = _sides(finding, series, accused, ())
    return _values(finding, own), _values(finding, good)


def _sides(
    finding: Finding, series: Sequence[Series], accused: Collection[str], members: Collection[str]
) -> tuple[list[Series], list[Series]]:
    fitting = [one for one in series if one.pattern == finding.quantity]
    own = [one for one in fitting if _concerns(finding, one, accused, members)]
    good = [one for one in fitting if one.origin not in accused and one.target not in accused]
    return own, good


def _concerns(
    finding: Finding, one: Series, accused: Collection[str], members: Collection[str]
) -> bool:
    """Whether a pair shows the accused part with somebody who is not accused."""
    ends = (one.origin, one.target)
    if finding.part in ("pair", "direction"):
        directed = finding.part == "direction" and finding.quantity == "bandwidth"
        return ends == finding.names if directed else set(ends) == set(finding.names)
    own = set(members) if finding.part == "group" else {finding.names[0]}
    inside = [end in own for end in ends]
    if sum(inside) != 1 or ends[inside.index(False)] in set(accused) - own:
        return False
    return _ROLES.get(finding.part, _either)(finding, inside)


def _either(finding: Finding, inside: Sequence[bool]) -> bool:
    return True


def _first(finding: Finding, inside: Sequence[bool]) -> bool:
    return inside[0] or finding.quantity == "latency"


def _second(finding: Finding, inside: Sequence[bool]) -> bool:
    return inside[1] or finding.quantity == "latency"


_ROLES: dict[str, Callable[[Finding, Sequence[bool]], bool]] = {
    "sender": _first,
    "receiver": _second,
}


def _values(finding: Finding, series: Sequence[Series]) -> list[float]:
    """Each pair's bandwidth, or fastest message, at the size nearest to the finding's."""
    values = []
    for one in series:
        nearest = min(
            one.points,
            key=lambda point: abs(point.message_bytes - finding.message_bytes),
            default=None,
        )
        if nearest is not None:
            latency = finding.quantity == "latency"
            values.append(_fastest_s(nearest) if latency else nearest.bandwidth.value)
    return values


def _fastest_s(point: Point) -> float:
    times = [one.times for one in point.measurements if one.times is not None]
    return min((one.minimum_s for one in times), default=point.time.value)
