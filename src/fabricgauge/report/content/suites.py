"""What other suites' output says: rows, plots, tables of every figure, and odd lines."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.groups import grouped
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS, Quantity, SuiteCurve, SuitePoint
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import worst_first
from fabricgauge.report.content.curves import ceiling_line
from fabricgauge.report.picture import Mark, Picture, PlotCurve, canvas_text, estimate_mark
from fabricgauge.words.figures import digits, of_unit, percent, size
from fabricgauge.words.sentences import counted

#: Statistics that no reader takes for each other; words as the reports print them.
STATISTICS = {
    "mean": "mean", "median": "median", "typical": "typical (the suite's median)",
    "minimum": "minimum", "maximum": "maximum", "single": "as printed",
}  # fmt: skip
#: Unit in which a quantity is shown, and how many of it are one SI unit.
SHOWN: dict[Quantity, tuple[str, float]] = {
    "time": ("µs", 1e6),
    "bandwidth": ("MB/s", 1e-6),
    "bus_bandwidth": ("MB/s", 1e-6),
    "message_rate": ("messages/s", 1.0),
    "overlap": ("%", 100.0),
}


class Told(NamedTuple):
    """A curve and the launch (for imported ones: the file) that it is of."""

    launch: Launch
    curve: SuiteCurve


def told(judged: Judged) -> tuple[Told, ...]:
    """All curves that other suites' output gave, in the order of reading."""
    return tuple(Told(launch, one) for launch in judged.run.launches for one in launch.curves)


def _row(curve: SuiteCurve, limit: float | None) -> tuple[doc.Said, ...]:
    """A curve in a line, with its best figure: the least time, or the most of anything else.

    ``limit`` is the ceiling in its unit, None where none applies.
    """
    most = min if curve.quantity in LESS_IS_BETTER else max
    best = most(curve.points, key=lambda one: one.estimate.value, default=None)
    figure, share, remarks = "no figure", "", list(_remarks(curve))
    if best:
        length = best.message_bytes
        figure = f"{value(curve, best)}{'' if length is None else f' at {size(length)}'}"
        share = percent(best.estimate.value / limit) if limit else ""
        if limit and best.estimate.value > 1.01 * limit:
            remarks.append("above the ceiling: see above-ceiling")
    return (
        f"{curve.source}:{curve.first_line}", _benchmark(curve), _what(curve), _sizes(curve),
        doc.Cell(figure, strong=True), share, curve.unit_rule, "; ".join(remarks),
    )  # fmt: skip


def _benchmark(curve: SuiteCurve) -> str:
    return f"{curve.suite} {curve.version} {curve.benchmark}".replace("  ", " ")


def _what(curve: SuiteCurve) -> str:
    """What one figure is."""
    parts = (curve.what, curve.settings.get("placement", ""), STATISTICS[curve.statistic])
    return ", ".join(filter(None, parts))


def _sizes(curve: SuiteCurve) -> str:
    """``24 sizes, 0 B to 4 MiB``."""
    known = {one.message_bytes for one in curve.points if one.message_bytes is not None}
    if not known:
        return "no size" if curve.points else "none"
    if len(known) == 1:
        return size(min(known))
    return f"{len(known)} sizes, {size(min(known))} to {size(max(known))}"


def _remarks(curve: SuiteCurve) -> Iterator[str]:
    if curve.pairs > 1:
        yield f"sum over {curve.pairs} pairs"
    if curve.directions > 1:
        yield "sum of both directions"
    if curve.failures:
        yield f"{counted(len(curve.failures), 'row')} without a figure"
    if curve.cut_off:
        yield "cut off"


def value(curve: SuiteCurve, one: SuitePoint) -> str:
    """A figure with its unit: ``116.96 MB/s``, ``49.81 µs``, ``1.234 M messages/s``."""
    if curve.quantity == "message_rate":
        return f"{digits(one.estimate.value / 1e6)} M messages/s"
    return of_unit(one.estimate.value, UNITS[curve.quantity])


def _interval(curve: SuiteCurve, one: SuitePoint) -> str:
    """Empty where no samples are told."""
    unit, ends = UNITS[curve.quantity], (one.estimate.low, one.estimate.high)
    return " to ".join(of_unit(end, unit) for end in ends) if one.estimate.supported else ""


def ceiling_of(judged: Judged, one: Told) -> float | None:
    """What the stated network allows for a bandwidth curve, bytes/s; None where none is known.

    Bytes that move in ways that no rule knows are held against nothing.
    """
    network, curve = one.launch.network, one.curve
    ceiling = judged.ceilings.get(network) if network is not None else None
    if not isinstance(ceiling, Ceiling) or curve.quantity != "bandwidth":
        return None
    if curve.pattern is None and not curve.of_ping_pong:
        return None
    links = curve.most_links(one.launch.hosts_of(curve))
    return ceiling.payload_bytes_per_s * curve.directions * links


#: A page with more could not be read, and would be slow to make and to open.
MOST_PICTURES = 24
MOST_SERIES = 6
#: Of one kind of figure; an archive of logs has hundreds of it.
MOST_ALIKE = 2


def suite_pictures(judged: Judged, found: Sequence[Told]) -> tuple[Picture, ...]:
    """At most ``MOST_PICTURES`` plots of the first curves of each kind, our own patterns first."""
    groups = grouped(
        (one for one in found if _sized(one.curve) > 1),
        lambda one: (one.curve.pattern is None, one.curve.quantity, one.curve.what,
                     one.launch.network),
    )  # fmt: skip
    drawn = (
        _picture(judged, group[first : first + MOST_SERIES])
        for _, group in sorted(groups.items(), key=lambda item: item[0][0])
        for first in range(0, min(len(group), MOST_ALIKE * MOST_SERIES), MOST_SERIES)
    )
    return tuple(islice(drawn, MOST_PICTURES))


def _picture(judged: Judged, group: Sequence[Told]) -> Picture:
    """The curves, and reference curves of the same pattern and quantity."""
    first, network = group[0].curve, group[0].launch.network
    unit, factor = SHOWN[first.quantity]
    limit = ceiling_of(judged, group[0])
    beside = (one for one in judged.against if _sized(one) and _kind(one) == _kind(first))
    drawn = tuple(map(_series, (*(one.curve for one in group), *beside)))
    where = f" ({network})" if network else ""
    return Picture(
        title=f"{first.what}, {first.quantity.replace('_', ' ')}{where}",
        y_label=unit, log=first.quantity != "bandwidth", series=drawn,
        lines=ceiling_line(limit, drawn), full_scale=limit * factor if limit else None,
    )  # fmt: skip


def _kind(curve: SuiteCurve) -> tuple[str, str, int]:
    return curve.pattern or curve.benchmark, curve.quantity, curve.directions


def with_references(judged: Judged, picture: Picture) -> Picture:
    """A plot of our own curves with the reference curves of the same patterns in it."""
    quantity = "time" if picture.log else "bandwidth"
    beside = [
        one for one in judged.against if one.pattern in picture.patterns
        and one.quantity == quantity and _sized(one) > 0
    ]  # fmt: skip
    return picture._replace(series=(*picture.series, *map(_series, beside)))


def _sized(curve: SuiteCurve) -> int:
    return sum(point.message_bytes is not None for point in curve.points)


def _series(curve: SuiteCurve) -> PlotCurve:
    marks = suite_marks(sorted(curve.points, key=lambda one: one.message_bytes or 0), curve)
    return PlotCurve(canvas_text(f"{curve.benchmark} ({curve.source}:{curve.first_line})"), marks)


def suite_marks(points: Iterable[SuitePoint], curve: SuiteCurve) -> list[Mark]:
    """The points of a curve that have a message size, in the plot's unit."""
    marks = []
    for one in points:
        if one.message_bytes is not None:
            of = one.estimate
            launches = f" in {of.launches} launches" if of.launches > 1 else ""
            marks.append(estimate_mark(
                one.message_bytes, of, SHOWN[curve.quantity][1],
                f"{value(curve, one)} ({STATISTICS[curve.statistic]})",
                _interval(curve, one) or "none: no samples are told",
                canvas_text(f"line {one.line}; {curve.unit_rule}") if one.line else "",
                f"{of.samples:,}{launches}" if of.samples else "not said",
            ))  # fmt: skip
    return marks


#: Curves of each medium: a page with more rows takes seconds to open.
MOST_CURVES = {doc.SCREEN: 24, doc.TRACKER: 60, doc.PAGE: 400}
MOST_UNPARSED = 200


def sections(judged: Judged) -> Iterator[doc.Section]:
    """Imported curves, or those of suites that were run; pairs of many nodes are in matrices."""
    # Curves of the worst tables first, otherwise in the order of reading.
    places = {(one.source, one.line): place for place, one in enumerate(worst_first(judged.tables))}
    found = sorted(
        (one for one in told(judged) if not one.launch.rounds),
        key=lambda one: places.get((one.curve.source, one.curve.first_line), 0),
    )
    if not found:
        return
    imported = all(one.launch.imported for one in found)
    what = "Imported: what the logs say" if imported else "Measured by other suites"
    rules = dict.fromkeys(one.curve.unit_rule for one in found)
    columns = (
        *doc.heads("where", "benchmark", "one figure is", "sizes", "best", ">of ceiling"),
        *doc.heads("unit rule", on=doc.TRACKER | doc.PAGE), *doc.heads("remark"),
    )  # fmt: skip
    rows = tuple(_row(one.curve, ceiling_of(judged, one)) for one in found)
    limit = doc.RowLimit("and {count} more; the JSON and CSV reports have them all", MOST_CURVES)
    blocks = (
        doc.Paragraph(_HOW, on=doc.PAGE),
        doc.Deferred(lambda: (doc.drawn(suite_pictures(judged, found)),)),
        doc.Table(columns, rows, limit=limit),
        doc.Paragraph(f"units read as: {'; '.join(rules)}", on=doc.SCREEN),
        *(_table(one.curve) for one in found[: MOST_CURVES[doc.PAGE]]),
        *_unparsed(judged),
    )
    yield doc.Section("suites", f"{what}: {counted(len(found), 'curve')}", blocks, nav="Tables")


_HOW = (
    "Read from the output of the suites themselves; each figure has the line that says so. The unit"
    " rule is how the printed unit was read. Where a log has means only, no interval can be given."
)


def _table(curve: SuiteCurve) -> doc.Fold:
    """One curve with all its figures."""
    what, unit = _what(curve), UNITS[curve.quantity]
    columns = (*doc.figures("size", what), *doc.heads("interval", "also", ">samples", ">line"))
    cut = (doc.Paragraph(curve.cut_off, kind="caution"),) if curve.cut_off else ()
    rows = tuple(
        (
            "" if one.message_bytes is None else size(one.message_bytes),
            doc.Cell(value(curve, one), strong=True), _interval(curve, one),
            ", ".join(f"{key} {of_unit(said, unit)}" for key, said in one.besides.items()),
            f"{one.estimate.samples:,}" if one.estimate.samples else "", str(one.line),
        )
        for one in curve.points
    )  # fmt: skip
    note = f"{what}; {curve.source}:{curve.first_line}; {_settings(curve)}"
    return doc.Fold(_benchmark(curve), note, (*cut, doc.Table(columns, rows)), on=doc.PAGE)


def _settings(curve: SuiteCurve) -> str:
    return ", ".join(f"{key} {said}" for key, said in curve.settings.items())


def _unparsed(judged: Judged) -> Iterator[doc.Block]:
    lines = [one for launch in judged.run.launches for one in launch.unparsed][:MOST_UNPARSED]
    rows = tuple(
        (f"{one.source}:{one.line}", str(one.count), one.text, one.reason) for one in lines
    )
    if rows:
        yield doc.Heading("Lines that were not understood", on=doc.PAGE)
    columns = doc.heads("where", ">lines", "~the first reads", "expected")
    yield doc.Table(columns, rows, on=doc.PAGE)


def references(judged: Judged) -> doc.Section:
    """Published figures beside the run's own."""
    columns = (
        *doc.heads("reference", "benchmark", "one figure is"), *doc.heads("sizes", on=doc.PAGE),
        *doc.heads("best"), *doc.heads("unit rule", "where from, and what to know", on=doc.PAGE),
    )  # fmt: skip
    each = ((_row(curve, None), curve) for curve in judged.against)
    rows = tuple((*row[:5], curve.unit_rule, _settings(curve)) for row, curve in each)
    caveat = judged.against[0].settings.get("caveat", "none") if judged.against else ""
    whole = f"caveat: {caveat}; `fabricgauge compare` has the whole curves"
    said = "Published figures, drawn beside the run's own; no rule judges the run by them."
    told = (doc.Paragraph(whole, on=doc.TEXT),) if rows else ()
    blocks = (doc.Table(columns, rows), *told)
    return doc.Section("references", "References beside it", blocks, nav="References", intro=said)
