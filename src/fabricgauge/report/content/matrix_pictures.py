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
from fabricgauge.report.picture import SHOWN, GroupBlock, HeatMap, Histogram, canvas_text, title

#: Most cells per side; more are joined into blocks that show their worst pair.
MOST_CELLS = 1024
#: Most cells per side with a pixel each on the page; larger pictures show blocks.
MOST_IN_WHOLE = 384
#: Resolution of cells as a share of the typical value, within 16 bits.
QUANTUM = 1e-4
CODES = 65535
#: The last colour stands for this multiple of the typical time, or this fraction of the rate.
WORST_SHOWN = 2.0
#: The first colour reaches from the best figure to a band beyond the typical one. The band is
#: NOISES times the noise; LEAST_BAND and MOST_BAND of the typical figure bound it.
NOISES, LEAST_BAND, MOST_BAND = 3.0, 0.02, 0.25

Values = NDArray[np.float64]
Cells = NDArray[np.uint16]


def heat_map(analysis: PairAnalysis) -> HeatMap | None:
    """Return the picture of one matrix; None if nothing was measured."""
    matrix = analysis.matrix
    unit, factor = SHOWN[matrix.quantity]
    order = list(analysis.order) or list(range(len(matrix.nodes)))
    values = matrix.values[np.ix_(order, order)] * factor
    if not np.isfinite(values).any():
        return None
    less_is_better = matrix.quantity == "latency"
    block = -(-len(order) // MOST_CELLS)
    typical = analysis.typical * factor
    codes, best, step = _coded(values, typical, less_is_better)
    cells = blocked(codes, block)
    band = min(max(NOISES * analysis.noise, LEAST_BAND), MOST_BAND)
    good, bad = typical * (1 + band), typical * WORST_SHOWN
    if not less_is_better:
        good, bad = typical / (1 + band), typical / WORST_SHOWN
    nodes = [matrix.nodes[place] for place in order]
    parts = (nodes[first : first + block] for first in range(0, len(nodes), block))
    labels = (names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" for names in parts)
    named = {name for finding in analysis.findings for name in finding.names}
    return HeatMap(
        title=f"{title(analysis)}, {unit}", cells=cells,
        whole=blocked(cells, -(-len(cells) // MOST_IN_WHOLE)),
        labels=tuple(map(canvas_text, labels)), groups=_groups(analysis, nodes, block),
        named=tuple(sorted({row // block for row, name in enumerate(nodes) if name in named})),
        best=best, step=step, good=good, bad=bad,
        typical=typical, unit=unit, block=block, nodes=len(nodes),
    )  # fmt: skip


def blocked(codes: Cells, block: int) -> Cells:
    """Return the worst of each block of ``block`` by ``block`` cells: the largest code."""
    if block == 1:
        return codes
    starts = np.arange(0, len(codes), block)
    along_rows = np.maximum.reduceat(codes, starts, axis=0)
    joined: Cells = np.maximum.reduceat(along_rows, starts, axis=1)
    return joined


def _coded(values: Values, typical: float, less_is_better: bool) -> tuple[Cells, float, float]:
    """Return the codes, the value of code 1, and the increase per code."""
    best, worst = float(np.nanmin(values)), float(np.nanmax(values))
    if not less_is_better:
        best, worst = worst, best
    step = max(abs(typical) * QUANTUM, abs(worst - best) / (CODES - 1))
    step = (step if less_is_better else -step) or 1.0
    measured = np.isfinite(values)
    steps = np.zeros(values.shape)
    np.divide(values - best, step, out=steps, where=measured)
    codes = np.where(measured, np.clip(np.rint(steps) + 1, 1, CODES), 0)
    return codes.astype(np.uint16), best, step


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
        GroupBlock(canvas_text(name), run[0] / block, (run[-1] + 1) / block) for name, run in runs
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
