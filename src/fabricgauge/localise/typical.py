"""The pairs that nobody named is part of, as one series: what the fabric does where it is sound."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairAnalysis, PairFinding
from fabricgauge.stats.launches import Observed
from fabricgauge.stats.series import Series, point

#: 97.5 % of a standard normal distribution, for a two-sided interval of 95 %.
_Z = 1.959964
_CONFIDENCE = 0.95
#: Order statistics of fewer values cover their median with less than 95 %.
_FEWEST = 6


def typical_series(analyses: Iterable[PairAnalysis]) -> tuple[Series, ...]:
    """One series per quantity, a point per message size: the median over the sound pairs.

    Each pass over the pairs stands for a launch. The interval is that of the median over pairs, by
    order statistics (normal approximation of the binomial). A pair is sound if no finding
    names an end of it or the pair itself, and if it crosses no level that is oversubscribed; where
    that leaves none, there is no point.
    """
    by_quantity: dict[str, list[PairAnalysis]] = {}
    for analysis in analyses:
        by_quantity.setdefault(analysis.matrix.quantity, []).append(analysis)
    named = [one for each in by_quantity.values() for analysis in each for one in analysis.findings]
    found = (_series(quantity, each, named) for quantity, each in by_quantity.items())
    return tuple(one for one in found if one.points)


def _series(
    quantity: str, analyses: Sequence[PairAnalysis], named: Sequence[PairFinding]
) -> Series:
    points, pairs = [], 0
    for analysis in sorted(analyses, key=lambda one: one.matrix.message_bytes):
        sound = _sound(analysis, named)
        observed = _observed(analysis, sound)
        if observed:
            points.append(point(analysis.matrix.message_bytes, observed))
            pairs = max(pairs, int((sound & np.isfinite(analysis.matrix.values)).sum()))
    if quantity == "latency":  # a symmetric matrix has each pair twice
        return Series("latency", "any node", "any other", tuple(points), of_pairs=pairs // 2)
    return Series("bandwidth", "any node", "any other", tuple(points), of_pairs=pairs)


def _sound(analysis: PairAnalysis, named: Sequence[PairFinding]) -> NDArray[np.bool_]:
    """Which pairs no fault touches, (N, N)."""
    matrix = analysis.matrix
    sound = ~np.eye(len(matrix.nodes), dtype=bool)
    at = {node: place for place, node in enumerate(matrix.nodes)}
    groups = {group.name: [at[node] for node in group.nodes] for group in analysis.groups}
    for one in named:
        if one.explanation == "fault":
            _strike(sound, one, at, groups)
        elif one.quantity == analysis.matrix.quantity:
            sound &= _within(len(matrix.nodes), groups)
    return sound


def _within(count: int, groups: dict[str, list[int]]) -> NDArray[np.bool_]:
    """Which pairs stay inside a group, (N, N): what crosses shares an oversubscribed level."""
    inside = np.zeros((count, count), dtype=bool)
    for members in groups.values():
        inside[np.ix_(np.array(members, dtype=np.intp), np.array(members, dtype=np.intp))] = True
    return inside


def _strike(
    sound: NDArray[np.bool_], one: PairFinding, at: dict[str, int], groups: dict[str, list[int]]
) -> None:
    """Take what a finding explains out of the sound pairs, in place."""
    if one.part == "group":
        inside = np.array(groups.get(one.names[0], []), dtype=np.intp)
        outside = np.setdiff1d(np.arange(sound.shape[0]), inside)
        sound[np.ix_(inside, outside)] = sound[np.ix_(outside, inside)] = False
        return
    places = [at[name] for name in one.names if name in at]
    if one.part in ("pair", "direction") and len(places) == 2:
        sound[places[0], places[1]] = False
        if one.part == "pair":
            sound[places[1], places[0]] = False
        return
    for place in places:
        if one.part in ("node", "rail", "sender"):
            sound[place, :] = False
        if one.part in ("node", "rail", "receiver"):
            sound[:, place] = False


def _observed(analysis: PairAnalysis, sound: NDArray[np.bool_]) -> list[Observed]:
    matrix = analysis.matrix
    if matrix.quantity == "latency":
        sound = sound & sound.T & np.triu(np.ones_like(sound))
    observed = []
    for number, layer in enumerate(matrix.repeats, start=1):
        values = layer[sound]
        values = values[np.isfinite(values)]
        times = values if matrix.quantity == "latency" else matrix.message_bytes / values
        if times.size:
            observed.append(_one(number, times, matrix.message_bytes))
    return observed


def _one(number: int, times: NDArray[np.float64], message_bytes: int) -> Observed:
    times = np.sort(times)
    reach = _Z * np.sqrt(times.size) / 2
    low = max(0, int(np.floor(times.size / 2 - reach)))
    high = min(times.size - 1, int(np.ceil(times.size / 2 + reach)))
    return Observed(
        launch=number,
        median_s=float(np.median(times)),
        low_s=float(times[low]),
        high_s=float(times[high]),
        confidence=_CONFIDENCE if times.size >= _FEWEST else 0.0,
        samples=times.size,
        payload_bytes=message_bytes,
        p99_s=None,
        measurement=None,
    )
