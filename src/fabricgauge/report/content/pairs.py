"""Show the matrices of all pairs of a fabric: the typical figure, the worst nodes, pictures.

A picture is ordered by group. A cell of it is a whole number: 0 if nothing was measured, else 1 for
the best pair and more the worse. That is two bytes per pair in the page, and one colour scale for
all quantities.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import PairAnalysis, Quantity, name_part
from fabricgauge.model.words.figures import digits, microseconds, percent, signed, size, with_unit
from fabricgauge.model.words.networks import named
from fabricgauge.report import document as doc
from fabricgauge.report.picture import (
    SHOWN,
    GroupBlock,
    HeatMap,
    Histogram,
    shortened,
    title,
)
from fabricgauge.report.visible import visible

#: Most nodes in a table of percentages of 80 columns.
MOST_NODES_DRAWN = 16
LONGEST_NAME = 10
#: Nodes of a ranking in an issue tracker, those that stand open on a page, all that a page has.
WORST_NODES, FIRST_NODES, MOST_NODES = 10, 30, 1024
MOST_GROUPS = 24
_GROUPED = {"topology": "of the topology", "data": "derived from the data"}
_HEADS = ("node", "group", ">sending", ">receiving", ">jitter", ">typical", "worst partner")
_HOW = (
    "Rows send, columns receive, nodes stand group by group. Yellow to violet means the same in"
    " every report: the first colour covers the noise, the last begins at twice the typical time or"
    " half the typical rate. A matrix without a pair beyond the noise is drawn in blues instead,"
    " over its own span. Unmeasured cells are grey. Point at a cell for its nodes and value."
)


_RELATIVE = (
    "Sending and receiving are relative to the typical node; jitter is the relative spread of a"
    " pair's samples."
)


def typical(analysis: PairAnalysis) -> str:
    """Return the median over healthy pairs with its unit."""
    return value(analysis.matrix.quantity, analysis.typical)


def value(quantity: Quantity, amount: float) -> str:
    """Return a figure with the unit that people read; a latency always stays in µs."""
    if quantity == "latency":
        return f"{microseconds(amount)} µs"
    return with_unit(amount, "bytes/s")


def coverage(analysis: PairAnalysis) -> str:
    """Return how many directed pairs were measured, and the possible number."""
    count = len(analysis.matrix.nodes)
    possible = count * (count - 1)
    share = analysis.matrix.coverage
    return f"{round(share * possible):,} of {possible:,} directed pairs ({percent(share)})"


def verdict(analysis: PairAnalysis) -> str:
    """Summarise the analysis of one matrix; other rules may name further nodes."""
    faults = sum(finding.explanation == "fault" for finding in analysis.findings)
    counts = [f"{faults or 'none'} slower than its peers"]
    counts += ["oversubscribed"] * (len(analysis.findings) > faults)
    counts += [f"{len(analysis.suspects)} suspected"] * bool(analysis.suspects)
    return ", ".join(counts)


def summary(judged: Judged) -> Iterator[str]:
    """Yield one line per matrix: coverage, the typical figure, and the findings."""
    for analysis in judged.fabric.analyses:
        nodes = f"{len(analysis.matrix.nodes):,} nodes"
        if analysis.grouped_by != "none" and analysis.groups:
            nodes += f", {len(analysis.groups)} groups {_GROUPED[analysis.grouped_by]}"
        nodes += f", {coverage(analysis)}"
        sentence = f"typical {typical(analysis)}, noise {percent(analysis.noise)}"
        yield f"{title(analysis)}: {nodes}, {sentence}: {verdict(analysis)}"


def key_figures(judged: Judged) -> Iterator[tuple[str, doc.KeyFigure]]:
    """Yield a figure for each matrix with its network: the worst fault's, else the typical one."""
    for analysis in judged.fabric.analyses:
        unit, factor = SHOWN[analysis.matrix.quantity]
        faults = [finding for finding in analysis.findings if finding.explanation == "fault"]
        figure, part = analysis.typical, f"typical of {coverage(analysis)};"
        if faults:
            worst = max(faults, key=lambda finding: abs(finding.effect))
            figure *= 1 + worst.effect
            part = f"{name_part(worst.part, worst.names)}; typical {typical(analysis)},"
        description = f"{title(analysis)}: {part} {verdict(analysis)}"
        yield analysis.matrix.network, doc.KeyFigure(digits(figure * factor), unit, description)


def pairs(judged: Judged) -> Iterator[doc.Section]:
    """Show the typical and the worst of each matrix; pages draw it, text prints small ones."""
    analyses = sorted(judged.fabric.analyses, key=lambda analysis: not analysis.findings)
    if not analyses:
        return
    count = max(len(analysis.matrix.nodes) for analysis in analyses)
    blocks: list[doc.Block] = [_overview(analyses), doc.Paragraph(_HOW, on=doc.PAGE)]
    blocks += [block for analysis in analyses for block in _matrix(analysis)]
    title = f"All pairs of {count:,} nodes"
    yield doc.Section("pairs", title, tuple(blocks), nav="All pairs")


def _overview(analyses: Sequence[PairAnalysis]) -> doc.Table:
    columns = doc.heads("=", "typical", "worst node", "noise", "covered", "named", "suspects")
    rows = tuple(
        (
            f"{named(analysis.matrix.network)} {analysis.matrix.quantity}"
            f" {size(analysis.matrix.message_bytes)}",
            typical(analysis), _worst(analysis), percent(analysis.noise),
            percent(analysis.matrix.coverage), str(len(analysis.findings)),
            str(len(analysis.suspects)),
        )
        for analysis in analyses
    )  # fmt: skip
    return doc.Table(columns, rows, on=doc.TEXT)


def _worst(analysis: PairAnalysis) -> str:
    """Return the worst node by its worse direction: a median over both would hide one."""
    if not analysis.ranking:
        return "none"
    worst, less_is_better = analysis.ranking[0], analysis.matrix.quantity == "latency"
    directions = ((worst.sending, f"{worst.node} →"), (worst.receiving, f"→ {worst.node}"))
    effect, direction = max(directions) if less_is_better else min(directions)
    return f"{direction} {signed(effect)}"


def _matrix(analysis: PairAnalysis) -> Iterator[doc.Block]:
    heading = title(analysis)
    if len(analysis.matrix.nodes) <= MOST_NODES_DRAWN:
        of_typical = f"{heading}, % of the typical; rows send, columns receive"
        yield doc.Fold(of_typical, "", (_percentages(analysis),), on=doc.SCREEN)
    yield doc.Heading(heading, on=doc.TRACKER | doc.PAGE)
    yield doc.Deferred(lambda: (_pictures(analysis),))
    scatters = any(node.jitter for node in analysis.ranking)  # a suite tells means alone
    rows = tuple(
        (
            node.node, node.group, signed(node.sending), signed(node.receiving),
            percent(node.jitter) if scatters else "–",
            value(analysis.matrix.quantity, node.typical), node.worst_partner,
        )
        for node in analysis.ranking
    )  # fmt: skip
    if rows:
        yield doc.Heading("Nodes, worst first", 2, on=doc.TRACKER | doc.PAGE)
        yield doc.Paragraph(_RELATIVE, kind="soft", on=doc.PAGE)
        yield doc.Table(doc.heads(*_HEADS), rows[:WORST_NODES], on=doc.TRACKER)
        yield from _ranking(analysis, rows)


def _percentages(analysis: PairAnalysis) -> doc.Table:
    """Return cells in percent of the typical figure, ``·`` if not measured."""
    order = list(analysis.order) or list(range(len(analysis.matrix.nodes)))
    names = [shortened(analysis.matrix.nodes[place], LONGEST_NAME) for place in order]
    shares = 100 * analysis.matrix.values[order][:, order] / analysis.typical
    columns = (*doc.heads(""), *doc.figure_heads(*map(str, range(1, len(names) + 1))))
    rows = tuple(
        (f"{place} {name}", *("·" if share != share else f"{share:.0f}" for share in row))
        for place, (name, row) in enumerate(zip(names, shares.tolist(), strict=True), 1)
    )
    return doc.Table(columns, rows, tight=True)


def _pictures(analysis: PairAnalysis) -> doc.Block:
    heat, spectrum = heat_map(analysis), histogram(analysis)
    if heat is None:
        return doc.Paragraph("No pair was measured.", kind="caution", on=doc.PAGE)
    quantity, peaks = analysis.matrix.quantity, analysis.spectrum.peaks
    levels = " · ".join(value(quantity, peak) for peak in peaks)
    note = f"Levels (dashed): {levels}" if levels else ""
    spectrum_plots = (doc.Plot(spectrum, note),) if spectrum else ()
    return doc.Plots((doc.Plot(heat, _note(heat)),), (*spectrum_plots, *_between(analysis)))


def _note(heat: HeatMap) -> str:
    block, side, notes = heat.block, heat.block * heat.joined, []
    if heat.is_calm:
        ends = (signed(end / heat.typical - 1) for end in sorted((heat.good, heat.bad)))
        notes.append(f"Blues span {' to '.join(ends)} of the typical: no pair is beyond the noise.")
    if block > 1:
        notes.append(f"Each cell holds {block} × {block} pairs and shows the worst of them.")
    if side > block:
        notes.append(
            f"The whole picture shows the worst of each {side} × {side} pairs; drag a box around"
            f" some for each {'cell' if block > 1 else 'pair'}."
        )
    if heat.named:
        notes.append("Triangles at the edges mark named nodes.")
    return " ".join(notes)


def _between(analysis: PairAnalysis) -> Iterator[doc.Block]:
    """Yield medians from each group (row) to each; none for a single group."""
    if not 2 <= len(analysis.groups) <= MOST_GROUPS:
        return
    unit, factor = SHOWN[analysis.matrix.quantity]
    yield doc.Heading(f"From group (row) to group, median, {unit}", 2)
    columns = (*doc.heads(""), *doc.figure_heads(*(group.name for group in analysis.groups)))
    rows = tuple(
        (group.name, *(digits(rate * factor) if rate == rate else "–" for rate in row))
        for group, row in zip(analysis.groups, analysis.between.tolist(), strict=True)
    )
    yield doc.Table(columns, rows, tight=True)


def _ranking(analysis: PairAnalysis, rows: Sequence[tuple[str, ...]]) -> Iterator[doc.Block]:
    """Yield the first as a table; a browser lays out a thousand rows too slowly."""
    names = {name for finding in analysis.findings for name in finding.names}
    placed = [(str(place), *row) for place, row in enumerate(rows[:MOST_NODES], 1)]
    first = placed[:FIRST_NODES]
    marked = frozenset(place for place, row in enumerate(first) if row[1] in names)
    columns = doc.heads(">#", *_HEADS)
    yield doc.Table(columns, tuple(first), marked=marked, on=doc.PAGE)
    remaining = placed[FIRST_NODES:]
    if remaining:
        omitted = len(rows) - len(placed)
        note = f"and {omitted:,} more in the CSV and JSON reports" if omitted else ""
        cells = (tuple(column.head for column in columns), *remaining)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        padded = (map(str.ljust, row, widths) for row in cells)
        lines = doc.Lines(tuple("  ".join(row).rstrip() for row in padded))
        yield doc.Fold(f"{len(remaining):,} more nodes", note, (lines,), on=doc.PAGE)


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
