"""Summarise the pairs without a named part: the figures of the sound fabric."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.localise.slowness import Flags
from fabricgauge.judge.stats.series import Observation, Series, point
from fabricgauge.model.pairs import WAYS, PairAnalysis, PairFinding, Quantity

#: 97.5 % of a standard normal distribution, for a two-sided interval of 95 %.
_Z = 1.959964
_CONFIDENCE = 0.95
#: Order statistics of fewer values cover their median with less than 95 %.
_FEWEST = 6


def typical_series(analyses: Iterable[PairAnalysis]) -> tuple[Series, ...]:
    """Return one series per quantity, a point per message size: the median over sound pairs.

    Each pass over the pairs stands for a launch. The interval is that of the median over pairs, by
    order statistics (normal approximation of the binomial). A pair is sound if no finding
    names an end of it or the pair itself, and if it crosses no oversubscribed level; without
    sound pairs, there is no point.
    """
    by_quantity: dict[Quantity, list[PairAnalysis]] = {}
    for analysis in analyses:
        by_quantity.setdefault(analysis.matrix.quantity, []).append(analysis)
    named = [
        finding
        for same_quantity in by_quantity.values()
        for analysis in same_quantity
        for finding in analysis.findings
    ]
    all_series = (_series(quantity, group, named) for quantity, group in by_quantity.items())
    return tuple(series for series in all_series if series.points)


def _series(
    quantity: Quantity, analyses: Sequence[PairAnalysis], named: Sequence[PairFinding]
) -> Series:
    points, pairs = [], 0
    for analysis in sorted(analyses, key=lambda analysis: analysis.matrix.message_bytes):
        sound = _sound(analysis, named)
        if observed := [*_observed(analysis, sound)]:
            values = analysis.matrix.values[sound & np.isfinite(analysis.matrix.values)]
            typical = point(analysis.matrix.message_bytes, observed)
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
            # Half of the distance between first and last decile, as a share of the median.
            spread = float((high - low) / (2 * middle))
            points.append(msgspec.structs.replace(typical, pairs_differ_by=spread))
            pairs = max(pairs, values.size)
    if quantity == "latency":  # a symmetric matrix has each pair twice
        pairs //= 2
    return Series(quantity, "any node", "any other", tuple(points), of_pairs=pairs)


def _sound(analysis: PairAnalysis, named: Sequence[PairFinding]) -> Flags:
    """Mark the pairs that no fault touches and that cross no oversubscribed level, (N, N)."""
    nodes = np.array(analysis.matrix.nodes)
    sound = ~np.eye(len(nodes), dtype=bool)
    for fault in named:
        named_nodes = np.isin(nodes, np.array(analysis.nodes_of(fault), dtype=str))
        if fault.explanation != "fault":
            if fault.quantity == analysis.matrix.quantity:
                sound &= inside(analysis)
        elif fault.part == "group":
            sound[np.ix_(named_nodes, ~named_nodes)] = False
            sound[np.ix_(~named_nodes, named_nodes)] = False
        elif fault.part in WAYS:
            origin, target = (nodes == name for name in fault.names)
            sound[np.ix_(origin, target)] = False
            if fault.part == "pair":
                sound[np.ix_(target, origin)] = False
        else:
            sound[named_nodes & (fault.part != "receiver"), :] = False
            sound[:, named_nodes & (fault.part != "sender")] = False
    return sound


def inside(analysis: PairAnalysis) -> Flags:
    """Mark the pairs inside a group, (N, N)."""
    number = {node: place for place, group in enumerate(analysis.groups) for node in group.nodes}
    group = np.array([number.get(node, -1) for node in analysis.matrix.nodes])
    same: Flags = group[:, None] == group[None, :]
    same[group < 0] = False
    return same


def _observed(analysis: PairAnalysis, sound: Flags) -> Iterator[Observation]:
    """Yield each pass's median over the sound pairs, with its interval by ranks."""
    matrix, late = analysis.matrix, analysis.matrix.quantity == "latency"
    if late:
        sound = np.triu(sound & sound.T)
    for number, layer in enumerate(matrix.repeats, start=1):
        values = layer[sound & np.isfinite(layer)]
        if not values.size:
            continue
        times = values if late else np.divide(matrix.message_bytes, values, out=values)
        reach = _Z * np.sqrt(times.size) / 2
        low = max(0, int(np.floor(times.size / 2 - reach)))
        high = min(times.size - 1, int(np.ceil(times.size / 2 + reach)))
        middle = (times.size - 1) // 2, times.size // 2
        times.partition((low, *middle, high))
        yield Observation(
            number, float(times[[*middle]].mean()), float(times[low]), float(times[high]),
            _CONFIDENCE if times.size >= _FEWEST else 0.0, times.size, matrix.message_bytes,
            None, None,
        )  # fmt: skip
