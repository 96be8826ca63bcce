"""Sections on other suites' output: a row per curve, plots, every figure, odd lines."""

from collections.abc import Iterator

from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint
from fabricgauge.report.content import suites
from fabricgauge.report.content.suite_pictures import suite_pictures
from fabricgauge.report.document import (
    PAGE,
    SCREEN,
    TEXT,
    TRACKER,
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Limit,
    Paragraph,
    Plot,
    Plots,
    Section,
    Table,
)
from fabricgauge.words.figures import of_unit, size

#: Curves of each medium: a page with more rows takes seconds to open.
MOST_CURVES = {SCREEN: 24, TRACKER: 60, PAGE: 400}
MOST_UNPARSED = 200


def sections(judged: Judged) -> Iterator[Section]:
    """Imported curves, or those of suites that were run."""
    found = suites.told(judged)
    if not found:
        return
    imported = all(one.launch.imported for one in found)
    what = "Imported: what the logs say" if imported else "Measured by other suites"
    count = f"{len(found)} {'curve' if len(found) == 1 else 'curves'}"
    rules = dict.fromkeys(one.curve.unit_rule for one in found)
    yield Section("suites", f"{what}: {count}", (
        Paragraph(_HOW, on=PAGE), *_drawn(judged), _curves(judged, found),
        Paragraph(f"units read as: {'; '.join(rules)}", on=SCREEN),
        *(_table(one.curve, suites.row(judged, one)) for one in found[: MOST_CURVES[PAGE]]),
        *_unparsed(judged),
    ), nav="Tables")  # fmt: skip


_HOW = (
    "Read from the output of the suites themselves; each figure has the line that says so. The unit"
    " rule is how the printed unit was read. Where a log has means only, no interval can be given."
)


def _drawn(judged: Judged) -> Iterator[Block]:
    plots = tuple(map(Plot, suite_pictures(judged)))
    if plots:
        yield Plots(plots)


def _curves(judged: Judged, found: tuple[suites.Told, ...]) -> Table:
    columns = (
        *map(Column, ("where", "benchmark", "one figure is", "sizes", "best")),
        Column("of ceiling", right=True), Column("unit rule", on=TRACKER | PAGE), Column("remark"),
    )  # fmt: skip
    rows = []
    for one in found:
        r = suites.row(judged, one)
        best = Cell(r.figure, strong=True)
        rows.append((r.where, r.benchmark, r.what, r.sizes, best, r.share, r.rule, r.remark))
    limit = Limit("and {count} more; the JSON and CSV reports have them all", MOST_CURVES)
    return Table(columns, tuple(rows), limit=limit)


def _table(curve: SuiteCurve, of: suites.SuiteRow) -> Fold:
    """One curve with all its figures."""
    right = {"size", of.what, "samples", "line"}
    heads = ("size", of.what, "interval", "also", "samples", "line")
    columns = tuple(Column(head, right=head in right) for head in heads)
    cut = (Paragraph(curve.cut_off, kind="caution"),) if curve.cut_off else ()
    rows = tuple(_point(curve, one) for one in curve.points)
    note = f"{of.what}; {of.where}; {settings(curve)}"
    return Fold(of.benchmark, note, (*cut, Table(columns, rows)), on=PAGE)


def settings(curve: SuiteCurve) -> str:
    return ", ".join(f"{key} {said}" for key, said in curve.settings.items())


def _point(curve: SuiteCurve, one: SuitePoint) -> tuple[Cell | str, ...]:
    unit = UNITS[curve.quantity]
    ends = (of_unit(one.estimate.low, unit), of_unit(one.estimate.high, unit))
    return (
        "" if one.message_bytes is None else size(one.message_bytes),
        Cell(suites.value(curve, one), strong=True),
        " to ".join(ends) if one.estimate.supported else "",
        ", ".join(f"{key} {of_unit(said, unit)}" for key, said in one.besides.items()),
        f"{one.estimate.samples:,}" if one.estimate.samples else "", str(one.line),
    )  # fmt: skip


def _unparsed(judged: Judged) -> Iterator[Block]:
    lines = [one for launch in judged.run.launches for one in launch.unparsed][:MOST_UNPARSED]
    if lines:
        columns = (Column("where"), Column("lines", right=True),
                   Column("the first reads", loose=True), Column("expected"))  # fmt: skip
        rows = tuple(
            (f"{one.source}:{one.line}", str(one.count), one.text, one.reason) for one in lines
        )
        yield Heading("Lines that were not understood", on=PAGE)
        yield Table(columns, rows, on=PAGE)


def references(judged: Judged) -> Iterator[Section]:
    """Published figures beside the run's own."""
    if not judged.against:
        return
    said = "Published figures, drawn beside the run's own; no rule judges the run by them."
    columns = (
        *map(Column, ("reference", "benchmark", "one figure is")), Column("sizes", on=PAGE),
        Column("best"), Column("unit rule", on=PAGE),
        Column("where from, and what to know", on=PAGE),
    )  # fmt: skip
    rows = []
    for curve in judged.against:
        r = suites.row_of(curve, None)
        best = Cell(r.figure, strong=True)
        rows.append((r.where, r.benchmark, r.what, r.sizes, best, r.rule, settings(curve)))
    caveat = f"caveat: {judged.against[0].settings.get('caveat', 'none')}"
    whole = "`fabricgauge compare` has the whole curves"
    blocks = (Paragraph(said), Table(columns, tuple(rows)),
              Paragraph(f"{caveat}; {whole}", on=TEXT))  # fmt: skip
    yield Section("references", "References beside it", blocks, nav="References")
