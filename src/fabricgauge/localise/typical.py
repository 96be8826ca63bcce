"""The pairs without a named part, as one series: what the fabric does where it is sound."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import WAYS, PairAnalysis, PairFinding, Quantity
from fabricgauge.stats.series import Observed, Series, point

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
    by_quantity: dict[Quantity, list[PairAnalysis]] = {}
    for analysis in analyses:
        by_quantity.setdefault(analysis.matrix.quantity, []).append(analysis)
    named = [one for each in by_quantity.values() for analysis in each for one in analysis.findings]
    found = (_series(quantity, each, named) for quantity, each in by_quantity.items())
    return tuple(one for one in found if one.points)


def _series(
    quantity: Quantity, analyses: Sequence[PairAnalysis], named: Sequence[PairFinding]
) -> Series:
    points, pairs = [], 0
    for analysis in sorted(analyses, key=lambda one: one.matrix.message_bytes):
        sound = _sound(analysis, named)
        if observed := [*_observed(analysis, sound)]:
            points.append(point(analysis.matrix.message_bytes, observed))
            pairs = max(pairs, int((sound & np.isfinite(analysis.matrix.values)).sum()))
    if quantity == "latency":  # a symmetric matrix has each pair twice
        pairs //= 2
    return Series(quantity, "any node", "any other", tuple(points), of_pairs=pairs)


def _sound(analysis: PairAnalysis, named: Sequence[PairFinding]) -> NDArray[np.bool_]:
    """Which pairs no fault touches, (N, N); what crosses shares an oversubscribed level."""
    nodes = np.array(analysis.matrix.nodes)
    sound = ~np.eye(len(nodes), dtype=bool)
    for one in named:
        own = np.isin(nodes, np.array(analysis.nodes_of(one), dtype=str))
        if one.explanation != "fault":
            if one.quantity == analysis.matrix.quantity:
                sound &= inside(analysis)
        elif one.part == "group":
            sound[np.ix_(own, ~own)] = sound[np.ix_(~own, own)] = False
        elif one.part in WAYS:
            origin, target = (nodes == name for name in one.names)
            sound[np.ix_(origin, target)] = False
            if one.part == "pair":
                sound[np.ix_(target, origin)] = False
        else:
            sound[own & (one.part != "receiver"), :] = False
            sound[:, own & (one.part != "sender")] = False
    return sound


def inside(analysis: PairAnalysis) -> NDArray[np.bool_]:
    """Which pairs stay inside a group, (N, N)."""
    nodes = np.array(analysis.matrix.nodes)
    found = np.zeros((nodes.size, nodes.size), dtype=bool)
    for group in analysis.groups:
        members = np.isin(nodes, group.nodes)
        found[np.ix_(members, members)] = True
    return found


def _observed(analysis: PairAnalysis, sound: NDArray[np.bool_]) -> Iterator[Observed]:
    """Each pass's median over the sound pairs, with its interval by ranks."""
    matrix, late = analysis.matrix, analysis.matrix.quantity == "latency"
    if late:
        sound = sound & sound.T & np.triu(np.ones_like(sound))
    for number, layer in enumerate(matrix.repeats, start=1):
        values = layer[sound]
        values = values[np.isfinite(values)]
        if not values.size:
            continue
        times = np.sort(values if late else matrix.message_bytes / values)
        reach = _Z * np.sqrt(times.size) / 2
        low = max(0, int(np.floor(times.size / 2 - reach)))
        high = min(times.size - 1, int(np.ceil(times.size / 2 + reach)))
        yield Observed(
            number, float(np.median(times)), float(times[low]), float(times[high]),
            _CONFIDENCE if times.size >= _FEWEST else 0.0, times.size, matrix.message_bytes,
            None, None,
        )  # fmt: skip
