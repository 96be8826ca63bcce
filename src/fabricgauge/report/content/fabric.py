"""A fabric of many nodes: who is at fault, and the matrices of all pairs."""

from collections.abc import Iterator, Sequence

import numpy as np

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import NodeRank, PairAnalysis
from fabricgauge.report import document as doc
from fabricgauge.report.content import fabric_words as words
from fabricgauge.report.content.matrix_pictures import heat_map, histogram
from fabricgauge.report.picture import HeatMap, shortened
from fabricgauge.words.figures import digits, percent, size
from fabricgauge.words.networks import named

MOST_FINDINGS, MOST_EVIDENCE, MOST_SUSPECTS = 8, 4, 4
#: A wider table of percentages does not fit 80 columns.
MOST_NODES_DRAWN = 16
LONGEST_NAME = 10
#: Nodes of a ranking in an issue tracker, those that stand open on a page, all that a page has.
WORST_NODES, FIRST_NODES, MOST_NODES = 10, 30, 1024
MOST_GROUPS = 24
_TONES: dict[str, doc.Tone] = {"FAULT": "fail", "SUSPECTED": "inconclusive", "PROPERTY": "warn"}
_HEADS = ("node", "group", ">sending", ">receiving", ">jitter", ">typical", "worst partner")
_HOW = (
    "Rows send, columns receive, nodes stand group by group. Colours mean the same in every report:"
    " the first is what the noise explains, the last is twice the typical time or half the typical"
    " rate, and whatever is worse; what was not measured is grey. Point at a cell for its nodes and"
    " value."
)


def faults(judged: Judged) -> Iterator[doc.Section]:
    """Who is gone, who is slow, who is suspected, and a line per matrix."""
    if not judged.fabric.analyses:
        return
    found = words.findings(judged)
    apart = tuple(f"{one.subject}: {one.summary}" for one in words.told_apart(judged))
    more = "and {count} more; the HTML report lists them"
    blocks = (
        doc.Items(apart),
        *doc.first(tuple(map(_told, found)), MOST_FINDINGS, more, doc.SCREEN),
        *(_finding(one, place < 5) for place, one in enumerate(found)),
        *_suspects(judged, more),
        doc.Items(tuple(words.summary(judged)), on=doc.TRACKER | doc.PAGE),
    )
    title = words.heading(found, bool(apart))
    urgent = bool(apart) or any(one.kind != "PROPERTY" for one in found)
    yield doc.Section("fault", title, blocks, nav="Who is at fault", urgent=urgent)


def _told(one: words.Named) -> doc.Block:
    limit = doc.RowLimit("and {count} more", {doc.SCREEN: MOST_EVIDENCE})
    return doc.Fold(one.sentence, "", (doc.Items(one.evidence, limit=limit),), on=doc.SCREEN)


def _finding(one: words.Named, is_open: bool) -> doc.Judgement:
    sure = f"{one.q} (false-discovery rate at which it is named); {one.affected}"
    entries = (
        doc.Entry("Effect", (doc.Paragraph(f"{one.effect}; interval {one.interval}"),)),
        doc.Entry("How sure", (doc.Paragraph(sure),)),
        doc.Entry("Evidence", (doc.Items(one.evidence),)),
    )
    said = f"{one.what} is {one.effect} than the others'{one.remark}"
    return doc.Judgement(
        one.kind, _TONES[one.kind], one.network, one.who, said, entries, open=is_open,
        on=doc.TRACKER | doc.PAGE,
    )  # fmt: skip


def _suspects(judged: Judged, more: str) -> Iterator[doc.Block]:
    """What is not named, why not, and the test that would decide."""
    lines, rows = [], list[tuple[doc.Said, ...]]()
    for analysis in judged.fabric.analyses:
        network = named(analysis.matrix.network)
        for one in analysis.suspects:
            who, effect = words.who(one.part, one.names), words.compared(one.effect)
            what = f"{one.quantity} at {size(analysis.matrix.message_bytes)}"
            lines.append(
                f"suspect: {who}: {what} is {effect}, not named: {one.reason};"
                f" next: {one.next_test}"
            )
            cells = (f"{network}: {what}", effect, one.reason, one.next_test)
            rows.append((doc.Cell(who, strong=True), *cells))
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_SUSPECTS})
    yield doc.Items(tuple(lines), limit=limit, on=doc.SCREEN)
    if rows:
        yield doc.Heading("Conspicuous, but not named", on=doc.TRACKER | doc.PAGE)
    heads = ("what", "figure", ">effect", "why it is not named", "the test that would decide")
    yield doc.Table(doc.heads(*heads), tuple(rows), on=doc.TRACKER | doc.PAGE)


def key_figures(judged: Judged) -> Iterator[tuple[str, doc.KeyFigure]]:
    """What is typical of each matrix, with the network that it is of."""
    for one in judged.fabric.analyses:
        unit, factor = words.SHOWN[one.matrix.quantity]
        what = f"{words.title(one)}: typical of {words.coverage(one)}; {words.verdict(one)}"
        yield one.matrix.network, doc.KeyFigure(digits(one.typical * factor), unit, what)


def pairs(judged: Judged) -> Iterator[doc.Section]:
    """What is typical and worst of each matrix; pages draw it, text has small ones as figures."""
    analyses = sorted(judged.fabric.analyses, key=lambda one: not one.findings)
    if not analyses:
        return
    count = max(len(one.matrix.nodes) for one in analyses)
    blocks = [_overview(analyses), doc.Paragraph(_HOW, on=doc.PAGE)]
    blocks += [block for one in analyses for block in _matrix(one)]
    title = f"All pairs of {count:,} nodes"
    yield doc.Section("pairs", title, tuple(blocks), nav="All pairs")


def _overview(analyses: Sequence[PairAnalysis]) -> doc.Block:
    columns = doc.heads("=", "typical", "worst node", "noise", "covered", "named", "suspects")
    rows = tuple(
        (
            f"{named(one.matrix.network)} {one.matrix.quantity} {size(one.matrix.message_bytes)}",
            words.typical(one), _worst(one), percent(one.noise), percent(one.matrix.coverage),
            str(len(one.findings)), str(len(one.suspects)),
        )
        for one in analyses
    )  # fmt: skip
    return doc.Table(columns, rows, on=doc.TEXT)


def _worst(analysis: PairAnalysis) -> str:
    """The node that stands worst, by its worse direction: a median over both would hide one."""
    if not analysis.ranking:
        return "none"
    worst, less_is_better = analysis.ranking[0], analysis.matrix.quantity == "latency"
    ways = ((worst.sending, f"{worst.node} →"), (worst.receiving, f"→ {worst.node}"))
    effect, way = max(ways) if less_is_better else min(ways)
    return f"{way} {words.change(effect)}"


def _matrix(analysis: PairAnalysis) -> Iterator[doc.Block]:
    title = words.title(analysis)
    if len(analysis.matrix.nodes) <= MOST_NODES_DRAWN:
        said = f"{title}, % of the typical; rows send, columns receive"
        yield doc.Fold(said, "", (_percentages(analysis),), on=doc.SCREEN)
    yield doc.Heading(title, on=doc.TRACKER | doc.PAGE)
    yield doc.Paragraph(_summary(analysis), kind="soft", on=doc.PAGE)
    yield doc.Deferred(lambda: (_pictures(analysis),))
    rows = tuple(_rank(analysis, one) for one in analysis.ranking)
    if rows:
        yield doc.Heading("Nodes, worst first", 2, on=doc.TRACKER | doc.PAGE)
        said = "Sending and receiving are relative to the typical node; jitter is the relative"
        yield doc.Paragraph(f"{said} spread of a pair's samples.", kind="soft", on=doc.PAGE)
        yield doc.Table(doc.heads(*_HEADS), rows[:WORST_NODES], on=doc.TRACKER)
        yield from _ranking(analysis, rows)


def _percentages(analysis: PairAnalysis) -> doc.Table:
    """Cells in percent of the typical, ``·`` where nothing was measured."""
    order = list(analysis.order) or list(range(len(analysis.matrix.nodes)))
    names = [shortened(analysis.matrix.nodes[place], LONGEST_NAME) for place in order]
    shares = 100 * analysis.matrix.values[np.ix_(order, order)] / analysis.typical
    columns = (*doc.heads(""), *doc.figures(*map(str, range(1, len(names) + 1))))
    rows = tuple(
        (f"{place} {name}", *("·" if share != share else f"{share:.0f}" for share in row))
        for place, (name, row) in enumerate(zip(names, shares.tolist(), strict=True), 1)
    )
    return doc.Table(columns, rows, tight=True)


def _summary(analysis: PairAnalysis) -> str:
    return (
        f"{len(analysis.matrix.nodes):,} nodes, {words.coverage(analysis)} measured;"
        f" {words.grouping(analysis)}. Typical {words.typical(analysis)}; what no node, group or"
        f" pair explains is {percent(analysis.noise)}. {words.verdict(analysis).capitalize()}."
    )


def _pictures(analysis: PairAnalysis) -> doc.Block:
    heat, spectrum = heat_map(analysis), histogram(analysis)
    if heat is None:
        return doc.Paragraph("No pair was measured.", kind="caution", on=doc.PAGE)
    quantity, peaks = analysis.matrix.quantity, analysis.spectrum.peaks
    levels = " · ".join(words.value(quantity, one) for one in peaks)
    note = f"Levels (dashed): {levels}" if levels else ""
    beside = (doc.Plot(spectrum, note),) if spectrum else ()
    return doc.Plots((doc.Plot(heat, _note(heat)),), (*beside, *_between(analysis)))


def _note(heat: HeatMap) -> str:
    block, side = heat.block, heat.whole_block
    each = f"Each cell holds {block} × {block} pairs and shows the worst of them."
    whole = f"The whole picture shows the worst of each {side} × {side} pairs; zoom in (box or"
    whole += f" wheel) for each {'cell' if block > 1 else 'pair'}."
    marks = "Triangles at the edges mark what is named."
    said = ((block > 1, each), (side > block, whole), (heat.named, marks))
    return " ".join(words for holds, words in said if holds)


def _between(analysis: PairAnalysis) -> Iterator[doc.Block]:
    """Medians from each group (row) to each; none for a single group."""
    if not 2 <= len(analysis.groups) <= MOST_GROUPS:
        return
    unit, factor = words.SHOWN[analysis.matrix.quantity]
    yield doc.Heading(f"From group (row) to group, median, {unit}", 2)
    columns = (*doc.heads(""), *doc.figures(*(one.name for one in analysis.groups)))
    rows = tuple(
        (group.name, *(digits(one * factor) if one == one else "–" for one in row))
        for group, row in zip(analysis.groups, analysis.between.tolist(), strict=True)
    )
    yield doc.Table(columns, rows, tight=True)


def _rank(analysis: PairAnalysis, one: NodeRank) -> tuple[str, ...]:
    return (
        one.node, one.group, words.change(one.sending), words.change(one.receiving),
        percent(one.jitter), words.value(analysis.matrix.quantity, one.typical), one.worst_partner,
    )  # fmt: skip


def _ranking(analysis: PairAnalysis, rows: Sequence[tuple[str, ...]]) -> Iterator[doc.Block]:
    """The first as a table; a thousand rows of one would take longer to lay out than the rest."""
    names = {name for one in analysis.findings for name in one.names}
    placed = [(str(place), *row) for place, row in enumerate(rows[:MOST_NODES], 1)]
    first = placed[:FIRST_NODES]
    marked = frozenset(place for place, row in enumerate(first) if row[1] in names)
    columns = doc.heads(">#", *_HEADS)
    yield doc.Table(columns, tuple(first), marked=marked, on=doc.PAGE)
    rest = placed[FIRST_NODES:]
    if rest:
        left = len(rows) - len(placed)
        note = f"and {left:,} more in the CSV and JSON reports" if left else ""
        lines = doc.Lines(tuple(_aligned((tuple(one.head for one in columns), *rest))))
        yield doc.Fold(f"The other {len(rest):,}", note, (lines,), on=doc.PAGE)


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
