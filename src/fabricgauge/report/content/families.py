"""Show imported tables of one heading as a family: their number, spread and extremes."""

from collections.abc import Iterator

from fabricgauge.model.judged import Extreme, FamilyCurve, FamilyVerdict, Judged
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS
from fabricgauge.model.words.figures import percent, size, with_unit
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.content.verdicts import badge
from fabricgauge.report.picture import Mark, Picture, PlotCurve, position
from fabricgauge.report.visible import visible

#: Most lines of tables that are listed for an outcome.
MOST_LINES = 5
#: Sizes of a family on a screen; a page has all.
SCREEN_SIZES = 8


def families(judged: Judged) -> Iterator[doc.Section]:
    """Yield the families of tables, each with its outcomes, its figures and its extremes."""
    if not judged.families:
        return
    tables = sum(family.tables for family in judged.families)
    blocks = [block for family in judged.families for block in _family(family)]
    title = (
        f"{counted(tables, 'table')} in"
        f" {counted(len(judged.families), 'family', 'families')} of one heading"
    )
    intro = (
        "Tables that differ in nothing but their figures are judged together; none gets a better"
        " outcome than alone. Those that stand out are also judged by themselves, below."
    )
    yield doc.Section("families", title, tuple(blocks), nav="Families", intro=intro)


def _family(family: FamilyVerdict) -> Iterator[doc.Block]:
    network = f", {family.network}" if family.network else ""
    yield doc.Heading(
        f"{family.source}: {family.tables:,} tables of {family.suite} {family.benchmark}{network},"
        f" lines {family.first_line:,} to {family.last_line:,}"
    )
    yield doc.Table(
        doc.heads("=outcome", ">tables", ">share", "rules", "first lines, worst first"),
        tuple(
            (
                badge(group.outcome), f"{group.tables:,}", percent(group.tables / family.tables),
                ", ".join(group.rules), _list_lines(group.lines, group.tables),
            )
            for group in family.outcomes
        ),
    )  # fmt: skip
    for curve in family.curves:
        yield from _curve(family, curve)
    share = percent(family.beyond)
    yield doc.Paragraph(
        f"{counted(family.slower, 'table')} slower and {counted(family.faster, 'table')} faster"
        f" than the median by more than {share} at any size; the farthest of each kind:"
    )
    extremes = [("slowest", extreme) for extreme in family.slowest]
    extremes += [("fastest", extreme) for extreme in family.fastest]
    yield doc.Table(
        doc.heads("which", "~source", "at", ">figure", ">of the median", "=outcome"),
        tuple(
            (
                which, f"{family.source}:{extreme.line}", _place(extreme),
                with_unit(extreme.figure, UNITS[extreme.quantity]), percent(extreme.ratio),
                badge(extreme.outcome),
            )
            for which, extreme in extremes
        ),
    )  # fmt: skip


def _list_lines(lines: tuple[int, ...], count: int) -> str:
    shown = ", ".join(map(str, lines[:MOST_LINES]))
    return f"{shown} and {count - MOST_LINES:,} more" if count > MOST_LINES and lines else shown


def _place(extreme: Extreme) -> str:
    at = extreme.what if extreme.message_bytes is None else size(extreme.message_bytes)
    return f"{at}, {extreme.quantity.replace('_', ' ')}"


def _curve(family: FamilyVerdict, curve: FamilyCurve) -> Iterator[doc.Block]:
    unit = UNITS[curve.quantity]
    if len(curve.points) > 1:
        yield doc.Plots((doc.Plot(_picture(family, curve)),))
    heads = doc.figure_heads("size", f"median, {curve.what}", "P5", "P95", "least", "most")
    rows: list[tuple[doc.Inline, ...]] = [
        (
            "" if point.message_bytes is None else size(point.message_bytes),
            doc.Cell(with_unit(point.median, unit), strong=True),
            *(
                with_unit(figure, unit)
                for figure in (point.p5, point.p95, point.minimum, point.maximum)
            ),
        )
        for point in curve.points
    ]
    # On a screen every third size or so, and the last.
    step = -(-len(rows) // SCREEN_SIZES)
    yield doc.Table(heads, tuple(rows[::-1][::step][::-1]), on=doc.TEXT)
    yield doc.Table(heads, tuple(rows), on=doc.PAGE | doc.PAPER)


def _picture(family: FamilyVerdict, curve: FamilyCurve) -> Picture:
    """Return the median over the sizes with its spread, and the least and largest figures."""
    y_label, factor = SHOWN[curve.quantity]
    unit = UNITS[curve.quantity]
    series = []
    for label in ("median, P5 to P95", "least", "most"):
        marks = []
        for point in curve.points:
            if point.message_bytes is None:
                continue
            value = {"least": point.minimum, "most": point.maximum}.get(label, point.median)
            ends = (point.p5, point.p95) if value == point.median else (value, value)
            words = (with_unit(value, unit), " to ".join(with_unit(end, unit) for end in ends))
            marks.append(Mark(
                position(point.message_bytes), value * factor, ends[0] * factor, ends[1] * factor,
                size(point.message_bytes), *words, "", f"{family.tables:,} tables",
            ))  # fmt: skip
        series.append(PlotCurve(label, marks))
    title = visible(f"{family.source}: {curve.what}, {curve.quantity.replace('_', ' ')}")
    is_log = curve.quantity in LESS_IS_BETTER or curve.quantity == "message_rate"
    return Picture(title=title, y_label=y_label, log=is_log, series=tuple(series))
