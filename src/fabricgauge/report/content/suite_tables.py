"""Sections on other suites' output: a row per curve, plots, every figure, odd lines."""

from collections.abc import Iterator

from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint
from fabricgauge.report import document as doc
from fabricgauge.report.content import suites
from fabricgauge.report.content.suite_pictures import suite_pictures
from fabricgauge.words.figures import of_unit, size

#: Curves of each medium: a page with more rows takes seconds to open.
MOST_CURVES = {doc.SCREEN: 24, doc.TRACKER: 60, doc.PAGE: 400}
MOST_UNPARSED = 200


def sections(judged: Judged) -> Iterator[doc.Section]:
    """Imported curves, or those of suites that were run."""
    found = suites.told(judged)
    if not found:
        return
    imported = all(one.launch.imported for one in found)
    what = "Imported: what the logs say" if imported else "Measured by other suites"
    count = f"{len(found)} {'curve' if len(found) == 1 else 'curves'}"
    rules = dict.fromkeys(one.curve.unit_rule for one in found)
    yield doc.Section("suites", f"{what}: {count}", (
        doc.Paragraph(_HOW, on=doc.PAGE), doc.Deferred(lambda: _drawn(judged)),
        _curves(judged, found),
        doc.Paragraph(f"units read as: {'; '.join(rules)}", on=doc.SCREEN),
        *(_table(one.curve, suites.row(judged, one)) for one in found[: MOST_CURVES[doc.PAGE]]),
        *_unparsed(judged),
    ), nav="Tables")  # fmt: skip


_HOW = (
    "Read from the output of the suites themselves; each figure has the line that says so. The unit"
    " rule is how the printed unit was read. Where a log has means only, no interval can be given."
)


def _drawn(judged: Judged) -> Iterator[doc.Block]:
    plots = tuple(map(doc.Plot, suite_pictures(judged)))
    if plots:
        yield doc.Plots(plots)


def _curves(judged: Judged, found: tuple[suites.Told, ...]) -> doc.Table:
    columns = (
        *doc.heads("where", "benchmark", "one figure is", "sizes", "best"),
        *doc.heads("of ceiling", right=True),
        *doc.heads("unit rule", on=doc.TRACKER | doc.PAGE), *doc.heads("remark"),
    )  # fmt: skip
    rows = []
    for one in found:
        r = suites.row(judged, one)
        best = doc.Cell(r.figure, strong=True)
        rows.append((r.where, r.benchmark, r.what, r.sizes, best, r.share, r.rule, r.remark))
    limit = doc.RowLimit("and {count} more; the JSON and CSV reports have them all", MOST_CURVES)
    return doc.Table(columns, tuple(rows), limit=limit)


def _table(curve: SuiteCurve, of: suites.SuiteRow) -> doc.Fold:
    """One curve with all its figures."""
    right = {"size", of.what, "samples", "line"}
    heads = ("size", of.what, "interval", "also", "samples", "line")
    columns = tuple(doc.ColumnHead(head, right=head in right) for head in heads)
    cut = (doc.Paragraph(curve.cut_off, kind="caution"),) if curve.cut_off else ()
    rows = tuple(_point(curve, one) for one in curve.points)
    note = f"{of.what}; {of.where}; {settings(curve)}"
    return doc.Fold(of.benchmark, note, (*cut, doc.Table(columns, rows)), on=doc.PAGE)


def settings(curve: SuiteCurve) -> str:
    return ", ".join(f"{key} {said}" for key, said in curve.settings.items())


def _point(curve: SuiteCurve, one: SuitePoint) -> tuple[doc.Cell | str, ...]:
    unit = UNITS[curve.quantity]
    ends = (of_unit(one.estimate.low, unit), of_unit(one.estimate.high, unit))
    return (
        "" if one.message_bytes is None else size(one.message_bytes),
        doc.Cell(suites.value(curve, one), strong=True),
        " to ".join(ends) if one.estimate.supported else "",
        ", ".join(f"{key} {of_unit(said, unit)}" for key, said in one.besides.items()),
        f"{one.estimate.samples:,}" if one.estimate.samples else "", str(one.line),
    )  # fmt: skip


def _unparsed(judged: Judged) -> Iterator[doc.Block]:
    lines = [one for launch in judged.run.launches for one in launch.unparsed][:MOST_UNPARSED]
    if lines:
        columns = (*doc.heads("where"), *doc.heads("lines", right=True),
                   *doc.heads("the first reads", loose=True), *doc.heads("expected"))  # fmt: skip
        rows = tuple(
            (f"{one.source}:{one.line}", str(one.count), one.text, one.reason) for one in lines
        )
        yield doc.Heading("Lines that were not understood", on=doc.PAGE)
        yield doc.Table(columns, rows, on=doc.PAGE)


def references(judged: Judged) -> Iterator[doc.Section]:
    """Published figures beside the run's own."""
    if not judged.against:
        return
    said = "Published figures, drawn beside the run's own; no rule judges the run by them."
    columns = (
        *doc.heads("reference", "benchmark", "one figure is"), *doc.heads("sizes", on=doc.PAGE),
        *doc.heads("best"), *doc.heads("unit rule", "where from, and what to know", on=doc.PAGE),
    )  # fmt: skip
    rows = []
    for curve in judged.against:
        r = suites.row_of(curve, None)
        best = doc.Cell(r.figure, strong=True)
        rows.append((r.where, r.benchmark, r.what, r.sizes, best, r.rule, settings(curve)))
    caveat = f"caveat: {judged.against[0].settings.get('caveat', 'none')}"
    whole = "`fabricgauge compare` has the whole curves"
    blocks = (doc.Paragraph(said), doc.Table(columns, tuple(rows)),
              doc.Paragraph(f"{caveat}; {whole}", on=doc.TEXT))  # fmt: skip
    yield doc.Section("references", "References beside it", blocks, nav="References")
