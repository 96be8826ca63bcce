"""Show the matrices of all pairs of a fabric: the typical figure, the worst nodes, pictures."""

from collections.abc import Iterator, Sequence

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import PairAnalysis, Quantity, name_part
from fabricgauge.model.words.figures import digits, microseconds, percent, signed, size, with_unit
from fabricgauge.model.words.networks import named
from fabricgauge.report import document as doc
from fabricgauge.report.picture import SHOWN, HeatMap, shortened, title

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
    counts += ["oversubscribed"] if len(analysis.findings) > faults else []
    count = len(analysis.suspects)
    return ", ".join([*counts, f"{count} suspected"] if count else counts)


def summary(judged: Judged) -> Iterator[str]:
    """Yield one line per matrix: coverage, the typical figure, and the findings."""
    for analysis in judged.fabric.analyses:
        grouped = analysis.grouped_by != "none" and bool(analysis.groups)
        groups = (
            f", {len(analysis.groups)} groups {_GROUPED[analysis.grouped_by]}" if grouped else ""
        )
        nodes = f"{len(analysis.matrix.nodes):,} nodes{groups}, {coverage(analysis)}"
        sentence = f"typical {typical(analysis)}, noise {percent(analysis.noise)}"
        yield f"{title(analysis)}: {nodes}, {sentence}: {verdict(analysis)}"


def key_figures(judged: Judged) -> Iterator[tuple[str, doc.KeyFigure]]:
    """Yield a figure for each matrix with its network: the worst fault's, else the typical one."""
    for analysis in judged.fabric.analyses:
        unit, factor = SHOWN[analysis.matrix.quantity]
        faults = [finding for finding in analysis.findings if finding.explanation == "fault"]
        if faults:
            worst = max(faults, key=lambda finding: abs(finding.effect))
            figure, part = (
                analysis.typical * (1 + worst.effect),
                name_part(worst.part, worst.names),
            )
            description = (
                f"{title(analysis)}: {part}; typical {typical(analysis)}, {verdict(analysis)}"
            )
        else:
            figure, description = (
                analysis.typical,
                f"{title(analysis)}: typical of {coverage(analysis)}; {verdict(analysis)}",
            )
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
        title_words = f"{heading}, % of the typical; rows send, columns receive"
        yield doc.Fold(title_words, "", (_percentages(analysis),), on=doc.SCREEN)
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
        title_words = (
            "Sending and receiving are relative to the typical node; jitter is the relative"
        )
        yield doc.Paragraph(f"{title_words} spread of a pair's samples.", kind="soft", on=doc.PAGE)
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
    from fabricgauge.report.content.matrix_pictures import heat_map, histogram

    heat, spectrum = heat_map(analysis), histogram(analysis)
    if heat is None:
        return doc.Paragraph("No pair was measured.", kind="caution", on=doc.PAGE)
    quantity, peaks = analysis.matrix.quantity, analysis.spectrum.peaks
    levels = " · ".join(value(quantity, peak) for peak in peaks)
    note = f"Levels (dashed): {levels}" if levels else ""
    spectrum_plots = (doc.Plot(spectrum, note),) if spectrum else ()
    return doc.Plots((doc.Plot(heat, _note(heat)),), (*spectrum_plots, *_between(analysis)))


def _note(heat: HeatMap) -> str:
    block, side = heat.block, heat.block * heat.joined
    block_note = f"Each cell holds {block} × {block} pairs and shows the worst of them."
    zoom_note = f"The whole picture shows the worst of each {side} × {side} pairs; drag a"
    zoom_note += f" box around some for each {'cell' if block > 1 else 'pair'}."
    marks = "Triangles at the edges mark named nodes."
    ends = (signed(end / heat.typical - 1) for end in sorted((heat.good, heat.bad)))
    calm = f"Blues span {' to '.join(ends)} of the typical: no pair is beyond the noise."
    notes = (
        (heat.is_calm, calm),
        (block > 1, block_note),
        (side > block, zoom_note),
        (heat.named, marks),
    )
    return " ".join(words for holds, words in notes if holds)


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
