"""Turn matrices of all pairs into pictures of cells: ordered by group, quantised, worst per block.

A cell is a whole number: 0 if nothing was measured, else 1 for the best pair and more the worse.
That is two bytes per pair in the page, and one colour scale for all quantities.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairAnalysis
from fabricgauge.model.words.figures import digits
from fabricgauge.report.picture import SHOWN, GroupBlock, HeatMap, Histogram, title
from fabricgauge.report.visible import visible

#: Most cells per side; more are joined into blocks that show their worst pair.
MOST_CELLS = 1024
#: Resolution of cells as a share of the typical value, within 16 bits. Of more nodes than this it
#: is a part of the noise: what is finer makes a page larger and says nothing.
QUANTUM, MOST_EXACT, NOISE_STEPS = 1e-4, 256, 4.0
CODES = 65535
#: The last colour stands for this multiple of the typical time, or this fraction of the rate.
WORST_SHOWN = 2.0
#: The first colour reaches from the best figure to a band beyond the typical one. The band is
#: NOISES times the noise; LEAST_BAND and MOST_BAND of the typical figure bound it.
NOISES, LEAST_BAND, MOST_BAND = 3.0, 0.02, 0.25
#: A matrix within that band has colours from its least to its largest value, if they differ by this
#: share of the typical one: less is a tick of the clock.
LEAST_SPAN = 0.002

Values = NDArray[np.floating]
Cells = NDArray[np.uint16]


def heat_map(analysis: PairAnalysis) -> HeatMap | None:
    """Return the picture of one matrix; None if nothing was measured."""
    matrix = analysis.matrix
    unit, factor = SHOWN[matrix.quantity]
    order = np.array(analysis.order or range(len(matrix.nodes)))
    extremes = _extremes(matrix.values)
    if extremes is None:
        return None
    less_is_better = matrix.quantity == "latency"
    block = -(-len(order) // MOST_CELLS)
    typical = analysis.typical * factor
    best, worst = (value * factor for value in extremes[:: 1 if less_is_better else -1])
    quantum = QUANTUM if len(order) <= MOST_EXACT else max(QUANTUM, analysis.noise / NOISE_STEPS)
    step = max(abs(typical) * quantum, abs(worst - best) / (CODES - 1))
    step = (step if less_is_better else -step) or 1.0
    cells = cells_of(matrix.values, order, factor, best, step, block)
    band = min(max(NOISES * analysis.noise, LEAST_BAND), MOST_BAND)
    good, bad = typical * (1 + band), typical * WORST_SHOWN
    if not less_is_better:
        good, bad = typical / (1 + band), typical / WORST_SHOWN
    beyond = worst > good if less_is_better else worst < good
    is_calm = not (beyond or analysis.findings) and abs(worst - best) >= LEAST_SPAN * abs(typical)
    if is_calm:
        good, bad = best, worst
    nodes = [matrix.nodes[place] for place in order]
    parts = (nodes[first : first + block] for first in range(0, len(nodes), block))
    labels = (names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" for names in parts)
    named = {name for finding in analysis.findings for name in finding.names}
    return HeatMap(
        title=f"{title(analysis)}, {unit}", cells=cells,
        labels=tuple(map(visible, labels)), groups=_groups(analysis, nodes, block),
        named=tuple(sorted({row // block for row, name in enumerate(nodes) if name in named})),
        best=best, step=step, good=good, bad=bad,
        typical=typical, unit=unit, block=block, nodes=len(nodes), is_calm=is_calm,
    )  # fmt: skip


def _extremes(values: Values) -> tuple[float, float] | None:
    """Return the least and the largest value; None if nothing was measured."""
    rows = [row[np.isfinite(row)] for row in values]
    lows, highs = [row.min() for row in rows if row.size], [row.max() for row in rows if row.size]
    return (float(min(lows)), float(max(highs))) if lows else None


def cells_of(
    values: Values, order: NDArray[np.int64], factor: float, best: float, step: float, block: int
) -> Cells:
    """Return the codes of blocks of pairs, a row of blocks at a time."""
    rows = []
    for first in range(0, len(order), block):
        strip = values[order[first : first + block]][:, order] * factor
        measured = np.isfinite(strip)
        steps = np.where(measured, (strip - best) / step, 0.0)
        codes = np.where(measured, np.clip(np.rint(steps) + 1, 1, CODES), 0).astype(np.uint16)
        starts = np.arange(0, len(order), block)
        rows.append(np.maximum.reduceat(codes.max(axis=0), starts))
    return np.stack(rows)


def _groups(analysis: PairAnalysis, nodes: Sequence[str], block: int) -> tuple[GroupBlock, ...]:
    """Return runs of nodes of one group, in the picture's order; none for a single group."""
    group_of = {node: group.name for group in analysis.groups for node in group.nodes}
    runs = [
        (name, list(run))
        for name, run in groupby(
            range(len(nodes)), lambda place: group_of.get(nodes[place], "no group")
        )
    ]
    if len(runs) < 2:
        return ()
    return tuple(
        GroupBlock(visible(name), run[0] / block, (run[-1] + 1) / block) for name, run in runs
    )


def histogram(analysis: PairAnalysis) -> Histogram | None:
    """Return the spectrum of one matrix; None if it has no pairs."""
    spectrum = analysis.spectrum
    if not any(spectrum.counts):
        return None
    unit, factor = SHOWN[analysis.matrix.quantity]
    edges = tuple(edge * factor for edge in spectrum.edges)
    return Histogram(
        title=f"Spectrum: {title(analysis)}",
        unit=unit,
        edges=edges,
        counts=spectrum.counts,
        peaks=tuple(peak * factor for peak in spectrum.peaks),
        ranges=tuple(f"{digits(low)} to {digits(high)} {unit}" for low, high in pairwise(edges)),
    )
