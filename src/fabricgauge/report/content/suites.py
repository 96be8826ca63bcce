"""Show other suites' output: rows, plots, tables of every figure, and unparsed lines."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS, Quantity, SuiteCurve, SuitePoint
from fabricgauge.model.words.figures import digits, percent, size, with_unit
from fabricgauge.model.words.networks import OWN_CHOICE
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import worst_first
from fabricgauge.report.content.curves import ceiling_line
from fabricgauge.report.picture import Mark, Picture, PlotCurve, estimate_mark
from fabricgauge.report.visible import visible

#: Words for each statistic.
STATISTICS = {
    "mean": "mean", "median": "median", "typical": "typical (the suite's median)",
    "minimum": "minimum", "maximum": "maximum", "single": "as printed",
}  # fmt: skip
#: Unit of a quantity in reports, and how many of it are one SI unit.
SHOWN: dict[Quantity, tuple[str, float]] = {
    "time": ("µs", 1e6),
    "bandwidth": ("MB/s", 1e-6),
    "bus_bandwidth": ("MB/s", 1e-6),
    "message_rate": ("messages/s", 1.0),
    "overlap": ("%", 100.0),
}


class LoggedCurve(NamedTuple):
    """Hold a curve and its launch (for imported ones: the file)."""

    launch: Launch
    curve: SuiteCurve


def logged_curves(judged: Judged) -> tuple[LoggedCurve, ...]:
    """Return all curves of other suites' output, in the order of reading."""
    return tuple(
        LoggedCurve(launch, curve) for launch in judged.run.launches for curve in launch.curves
    )


def _row(curve: SuiteCurve, limit: float | None) -> tuple[doc.Inline, ...]:
    """Return a curve in a line, with its best figure: the least time, or the most of anything else.

    ``limit`` is the ceiling in its unit, or None.
    """
    best_of = min if curve.quantity in LESS_IS_BETTER else max
    best = best_of(curve.points, key=lambda point: point.estimate.value, default=None)
    figure, share, remarks = "no figure", "", list(_remarks(curve))
    if best:
        length = best.message_bytes
        figure = f"{value(curve, best)}{'' if length is None else f' at {size(length)}'}"
        share = percent(best.estimate.value / limit) if limit else ""
        if limit and best.estimate.value > 1.01 * limit:
            remarks.append("above the ceiling: see above-ceiling")
    return (
        curve.place, _benchmark(curve), _what(curve), _sizes(curve),
        doc.Cell(figure, strong=True), share, curve.unit_rule, "; ".join(remarks),
    )  # fmt: skip


def _benchmark(curve: SuiteCurve) -> str:
    return f"{curve.suite} {curve.version} {curve.benchmark}".replace("  ", " ")


def _what(curve: SuiteCurve) -> str:
    parts = (curve.what, curve.settings.get("placement", ""), STATISTICS[curve.statistic])
    return ", ".join(filter(None, parts))


def _sizes(curve: SuiteCurve) -> str:
    """Return ``24 sizes, 0 B to 4 MiB``."""
    sizes = {point.message_bytes for point in curve.points if point.message_bytes is not None}
    if not sizes:
        return "no size" if curve.points else "none"
    if len(sizes) == 1:
        return size(min(sizes))
    return f"{len(sizes)} sizes, {size(min(sizes))} to {size(max(sizes))}"


def _remarks(curve: SuiteCurve) -> Iterator[str]:
    if curve.pairs > 1:
        yield f"sum over {curve.pairs} pairs"
    if curve.directions > 1:
        yield "sum of both directions"
    if curve.failures:
        yield f"{counted(len(curve.failures), 'row')} without a figure"
    if curve.cut_off:
        yield "cut off"


def value(curve: SuiteCurve, point: SuitePoint) -> str:
    """Return a figure with its unit: ``116.96 MB/s``, ``49.81 µs``, ``1.234 M messages/s``."""
    if curve.quantity == "message_rate":
        return f"{digits(point.estimate.value / 1e6)} M messages/s"
    return with_unit(point.estimate.value, UNITS[curve.quantity])


def _interval(curve: SuiteCurve, point: SuitePoint) -> str:
    """Return the interval, empty without samples."""
    unit, ends = UNITS[curve.quantity], (point.estimate.low, point.estimate.high)
    return " to ".join(with_unit(end, unit) for end in ends) if point.estimate.supported else ""


def ceiling_of(judged: Judged, entry: LoggedCurve) -> float | None:
    """Return the stated network's ceiling for a bandwidth curve, bytes/s; None if unknown.

    Bytes that move in directions that no rule knows have no ceiling.
    """
    network, curve = entry.launch.network, entry.curve
    ceiling = judged.ceilings.get(OWN_CHOICE if network is None else network)
    if not isinstance(ceiling, Ceiling) or curve.quantity != "bandwidth":
        return None
    if curve.pattern is None and not curve.derived_from_ping_pong:
        return None
    links = curve.max_links(entry.launch.hosts_of(curve))
    limit = ceiling.by_mtu.get(curve.evidence.mtu_bytes or 0, ceiling.payload_bytes_per_s)
    return limit * curve.directions * links


#: Most plots on a readable page that opens quickly.
MOST_PICTURES = 24
MOST_SERIES = 6
#: Most plots of one kind of figure; an archive of logs has hundreds.
MOST_ALIKE = 2


def suite_pictures(judged: Judged, logged_curves: Sequence[LoggedCurve]) -> tuple[Picture, ...]:
    """Return at most ``MOST_PICTURES`` plots of the first curves of each kind, our own patterns
    first.
    """
    groups = group_by(
        (logged for logged in logged_curves if _sized(logged.curve) > 1),
        lambda logged: (logged.curve.pattern is None, logged.curve.quantity, logged.curve.what,
                     logged.launch.network),
    )  # fmt: skip
    plots = (
        _picture(judged, group[first : first + MOST_SERIES])
        for _, group in sorted(groups.items(), key=lambda item: item[0][0])
        for first in range(0, min(len(group), MOST_ALIKE * MOST_SERIES), MOST_SERIES)
    )
    return tuple(islice(plots, MOST_PICTURES))


def _picture(judged: Judged, group: Sequence[LoggedCurve]) -> Picture:
    def kind(curve: SuiteCurve) -> tuple[str, str, int]:
        return curve.pattern or curve.benchmark, curve.quantity, curve.directions

    first, network = group[0].curve, group[0].launch.network
    unit, factor = SHOWN[first.quantity]
    limit = ceiling_of(judged, group[0])
    references = (curve for curve in judged.against if _sized(curve) and kind(curve) == kind(first))
    curves = tuple(map(_series, (*(logged.curve for logged in group), *references)))
    network_words = f" ({network})" if network else ""
    return Picture(
        title=f"{first.what}, {first.quantity.replace('_', ' ')}{network_words}",
        y_label=unit, log=first.quantity != "bandwidth", series=curves,
        lines=ceiling_line(limit, curves), full_scale=limit * factor if limit else None,
    )  # fmt: skip


def with_references(judged: Judged, picture: Picture) -> Picture:
    """Return a plot of our own curves with the reference curves of the same patterns in it."""
    quantity = "time" if picture.log else "bandwidth"
    references = [
        reference for reference in judged.against if reference.pattern in picture.patterns
        and reference.quantity == quantity and _sized(reference) > 0
    ]  # fmt: skip
    return picture._replace(series=(*picture.series, *map(_series, references)))


def _sized(curve: SuiteCurve) -> int:
    return sum(point.message_bytes is not None for point in curve.points)


def _series(curve: SuiteCurve) -> PlotCurve:
    marks = suite_marks(sorted(curve.points, key=lambda point: point.message_bytes or 0), curve)
    return PlotCurve(visible(f"{curve.benchmark} ({curve.place})"), marks)


def suite_marks(points: Iterable[SuitePoint], curve: SuiteCurve) -> list[Mark]:
    """Return the points of a curve that have a message size, in the plot's unit."""
    marks = []
    for point in points:
        if point.message_bytes is not None:
            estimate = point.estimate
            launches = f" in {estimate.launches} launches" if estimate.launches > 1 else ""
            marks.append(estimate_mark(
                point.message_bytes, estimate, SHOWN[curve.quantity][1],
                f"{value(curve, point)} ({STATISTICS[curve.statistic]})",
                _interval(curve, point) or "none: no samples in the log",
                visible(f"line {point.line}; {curve.unit_rule}") if point.line else "",
                f"{estimate.samples:,}{launches}" if estimate.samples else "unknown",
            ))  # fmt: skip
    return marks


#: Most curves of each medium: a page with more rows takes seconds to open.
MOST_CURVES = {doc.SCREEN: 24, doc.TRACKER: 60, doc.PAGE: 400}
MOST_UNPARSED = 200


def sections(judged: Judged) -> Iterator[doc.Section]:
    """Yield imported curves, or those of suites that were run; matrices show many nodes."""
    # Curves of the worst tables come first, otherwise in the order of reading.
    worst = enumerate(worst_first(judged.tables))
    places = {verdict.place: place for place, verdict in worst}
    entries = sorted(
        (logged for logged in logged_curves(judged) if not logged.launch.rounds),
        key=lambda logged: places.get(logged.curve.place, 0),
    )
    if not entries:
        return
    imported = all(logged.launch.imported for logged in entries)
    title = "Imported from logs" if imported else "Measured by other suites"
    rules = dict.fromkeys(logged.curve.unit_rule for logged in entries)
    columns = (
        *doc.heads("source", "benchmark", "figure", "sizes", "best", ">of ceiling"),
        *doc.heads("unit rule", on=doc.TRACKER | doc.PAGE), *doc.heads("remark"),
    )  # fmt: skip
    shown = entries[: MOST_CURVES[doc.PAGE]]
    rows = tuple(_row(logged.curve, ceiling_of(judged, logged)) for logged in shown)
    limit = doc.RowLimit("and {count} more; the JSON and CSV reports have them all", MOST_CURVES)
    blocks = (
        doc.Paragraph(_HOW, on=doc.PAGE),
        doc.Deferred(lambda: (doc.side_by_side(suite_pictures(judged, entries)),)),
        doc.Table(columns, rows, limit=limit, more=len(entries) - len(shown)),
        doc.Paragraph(f"units read as: {'; '.join(rules)}", on=doc.SCREEN),
        *(_table(logged.curve) for logged in shown),
        *_unparsed(judged),
    )
    count = counted(len(entries), "curve") + (", others in families" if judged.families else "")
    yield doc.Section("suites", f"{title}: {count}", blocks, nav="Tables")


_HOW = (
    "Read from the output of the suites; each figure has its line in the log. The unit rule is the"
    " reading of the printed unit. Means have no interval."
)


def _table(curve: SuiteCurve) -> doc.Fold:
    description, unit = _what(curve), UNITS[curve.quantity]
    columns = (
        *doc.figure_heads("size", description),
        *doc.heads("interval", "also", ">samples", ">line"),
    )
    cut = (doc.Paragraph(curve.cut_off, kind="caution"),) if curve.cut_off else ()
    rows = tuple(
        (
            "" if point.message_bytes is None else size(point.message_bytes),
            doc.Cell(value(curve, point), strong=True), _interval(curve, point),
            ", ".join(f"{key} {with_unit(figure, unit)}" for key, figure in point.besides.items()),
            f"{point.estimate.samples:,}" if point.estimate.samples else "", str(point.line),
        )
        for point in curve.points
    )  # fmt: skip
    note = f"{description}; {curve.place}; {_settings(curve)}"
    return doc.Fold(_benchmark(curve), note, (*cut, doc.Table(columns, rows)), on=doc.PAGE)


def _settings(curve: SuiteCurve) -> str:
    return ", ".join(f"{key} {value}" for key, value in curve.settings.items())


def _unparsed(judged: Judged) -> Iterator[doc.Block]:
    lines = [line for launch in judged.run.launches for line in launch.unparsed][:MOST_UNPARSED]
    rows = tuple(
        (f"{line.source}:{line.line}", str(line.count), line.text, line.reason) for line in lines
    )
    if rows:
        yield doc.Heading("Lines that were not understood", on=doc.PAGE)
    columns = doc.heads("source", ">lines", "~first line", "expected")
    yield doc.Table(columns, rows, on=doc.PAGE)


def references(judged: Judged) -> doc.Section:
    """Show published figures beside the run's own."""
    columns = (
        *doc.heads("reference", "benchmark", "figure"), *doc.heads("sizes", on=doc.PAGE),
        *doc.heads("best"), *doc.heads("unit rule", "source and caveats", on=doc.PAGE),
    )  # fmt: skip
    row_pairs = ((_row(curve, None), curve) for curve in judged.against)
    rows = tuple((*row[:5], curve.unit_rule, _settings(curve)) for row, curve in row_pairs)
    caveat = judged.against[0].settings.get("caveat", "none") if judged.against else ""
    sentence = f"caveat: {caveat}; `fabricgauge compare` has the whole curves"
    intro = "Published figures beside the run's own; no rule uses them."
    caveats = (doc.Paragraph(sentence, on=doc.TEXT),) if rows else ()
    blocks = (doc.Table(columns, rows), *caveats)
    return doc.Section("references", "References", blocks, nav="References", intro=intro)
