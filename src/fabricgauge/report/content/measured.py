"""What two nodes measured: tables of usual sizes, plots, and every case in figures."""

from collections.abc import Container, Iterator
from typing import NamedTuple

import msgspec

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import limit_bytes_s
from fabricgauge.report.content.curves import (
    P99_SAMPLES,
    at,
    curves_of,
    direction,
    facts,
    key_sizes,
    networks,
    pair_curves,
    pictures,
)
from fabricgauge.report.content.suites import with_references
from fabricgauge.words.figures import (
    digits,
    half_width,
    megabytes_per_s,
    microseconds,
    percent,
    size,
)
from fabricgauge.words.networks import is_loopback, named
from fabricgauge.words.patterns import PATTERNS

#: What has a column of its own among the usual sizes, and its head; a terminal has less room.
_HEADS = {
    "latency": "half RTT µs",
    "put_latency": "put µs",
    "bandwidth": "MB/s",
    "put_bandwidth": "put MB/s",
    "bidirectional_bandwidth": "MB/s, sum",
}
_ON_SCREEN = ("latency", "bandwidth", "bidirectional_bandwidth")
#: Part of the default set, so that they are left out beside what has columns.
_USUAL = ("put_latency", "put_bandwidth")
#: In the place of a percentile for which there are too few samples.
TOO_FEW = doc.Cell("–", hint="too few samples")


class OtherRow(NamedTuple):
    """One size of one curve, by the word that asks for it; its second row does not repeat that."""

    pattern: str
    between: str
    size: str
    median: str


def figures(judged: Judged) -> Iterator[doc.Section]:
    """Of each network the usual sizes, and the ends of every other curve."""
    columns = {doc.SCREEN: _ON_SCREEN, doc.TRACKER: tuple(_HEADS)}
    for network in (one for one in networks(judged) if not is_loopback(one)):
        title = f"{named(network)}; medians, 95 % intervals, share of the ceiling"
        usual = tuple(
            _usual(judged, curves_of(judged, network, patterns), medium)
            for medium, patterns in columns.items()
        )
        yield doc.Section("figures", f"Measured: {title}", usual, on=doc.TEXT)
        heads = doc.heads("pattern", "between", "size", "median")
        rest = tuple(
            doc.Table(heads, other_rows(judged, network, patterns), on=medium)
            for medium, patterns in columns.items()
        )
        yield doc.Section("others", f"Measured in other patterns: {title}", rest, on=doc.TEXT)


def _usual(judged: Judged, curves: tuple[Curve, ...], medium: doc.Medium) -> doc.Table:
    heads = (f"{_HEADS[one.pattern]}\n{direction(one)}" for one in curves)
    rows = tuple(
        (size(length), *(_cell(judged, curve, length, medium) for curve in curves))
        for length in key_sizes(curves)
    )
    return doc.Table(doc.figures("size", *heads), rows, on=medium)


def _cell(judged: Judged, curve: Curve, message_bytes: int, medium: doc.Medium) -> str:
    point = at(curve, message_bytes)
    if point is None:
        return "·" if medium is doc.SCREEN else "–"
    if point.bandwidth is None:
        words, share = f"{microseconds(point.time.value)} {half_width(point.time)}", ""
    else:
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        share = percent(point.bandwidth.value / limit) if limit else ""
        rate = point.bandwidth.value
        shown = digits(rate / 1e6) if medium is doc.SCREEN else megabytes_per_s(rate)
        words = f"{shown} {half_width(point.bandwidth)}"
    if medium is doc.SCREEN:
        return f"{words}  {share}".rstrip().replace(" %", "%").replace("± ", "±")
    return f"{words}, {share}" if share else words


def other_rows(
    judged: Judged, network: str | None, columns: Container[str]
) -> tuple[OtherRow, ...]:
    """The smallest and the largest message of each curve of no pattern of ``columns``."""
    here = [one for one in pair_curves(judged) if one.network == network and one.points]
    alone = not any(curve.pattern in columns for curve in here)
    shown = (
        curve
        for curve in here
        if curve.pattern not in columns and (alone or curve.variant or curve.pattern not in _USUAL)
    )
    return tuple(row for curve in shown for row in _ends(judged, curve))


def _ends(judged: Judged, curve: Curve) -> Iterator[OtherRow]:
    plain = msgspec.structs.replace(curve, variant="")  # the word has it
    for number, point in enumerate([curve.points[0], *curve.points[1:][-1:]]):
        told = ("", "") if number else (curve.word, direction(plain))
        yield OtherRow(*told, size(point.message_bytes), _median(judged, curve, point))


def _median(judged: Judged, curve: Curve, point: CurvePoint) -> str:
    rate = point.bandwidth
    if rate is None:
        return f"{microseconds(point.time.value)} µs {half_width(point.time)}"
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    share = f", {percent(rate.value / limit)}" if limit else ""
    return f"{megabytes_per_s(rate.value)} MB/s {half_width(rate)}{share}"


def curves(judged: Judged) -> doc.Section:
    """A plot for each pattern of each network."""
    said = "Medians with their 95 % intervals (whiskers). The tint above a latency curve reaches to"
    said += " its 99th percentile. Point at a mark for its figures; a click on a legend entry hides"
    said += " or shows it."
    plots = (doc.Deferred(lambda: _plots(judged)),)
    return doc.Section("curves", "Curves", plots, nav="Curves", intro=said, on=doc.PAGE)


def _plots(judged: Judged) -> list[doc.Block]:
    blocks: list[doc.Block] = []
    for network in networks(judged):
        plots = doc.drawn(with_references(judged, one) for one in pictures(judged, network))
        if plots.plots:
            blocks += [doc.Heading(named(network)), plots]
    return blocks or [doc.Paragraph("No curve was measured.")]


_CASES = (
    "Times are µs per sample; p99.9 is that of the worst launch. The interval is that of the"
    " median. “–” stands for too few samples: fewer than 100 for p99, than 1,000 in every"
    " launch for p99.9. A batch is how many operations were timed at once."
)


def cases(judged: Judged) -> doc.Section:
    """Every curve in figures."""
    tables = tuple(_case_table(judged, curve) for curve in pair_curves(judged))
    none = (doc.Paragraph("No case was measured."),)
    return doc.Section(
        "cases", "Cases in figures", tables or none, nav="Cases", intro=_CASES, on=doc.PAGE
    )


def _case_table(judged: Judged, curve: Curve) -> doc.Fold:
    rated = any(point.bandwidth for point in curve.points)
    heads = (
        "size", "window", "median µs", "interval µs", "p99", "p99.9", "min", "max",
        *(("MB/s", "of ceiling") if rated else ()), "samples", "warm-up", "batch", "launches",
    )  # fmt: skip
    rows = tuple(_case_row(judged, curve, point, rated) for point in curve.points)
    words = PATTERNS[curve.pattern]
    note = f"{named(curve.network)}, {len(rows)} sizes; a sample is {words.sample}"
    table = doc.Table((*doc.figures(*heads), *doc.heads("stopped by")), rows)
    return doc.Fold(f"{words.title} {direction(curve)}", note, (table,))


def _case_row(judged: Judged, curve: Curve, point: CurvePoint, rated: bool) -> tuple[doc.Said, ...]:
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    known = facts(judged, curve, point.message_bytes)
    rate, time = point.bandwidth, point.time
    rates = (
        doc.Cell(f"{megabytes_per_s(rate.value)} {half_width(rate)}" if rate else "", strong=True),
        percent(rate.value / limit) if rate and limit else "",
    )
    return (
        size(point.message_bytes), str(point.window),
        doc.Cell(microseconds(time.value), strong=True),
        f"{microseconds(time.low)} to {microseconds(time.high)}",
        microseconds(point.p99_s) if time.samples >= P99_SAMPLES else TOO_FEW,
        microseconds(known.p999_s) if known.p999_s is not None else TOO_FEW,
        microseconds(point.minimum_s), microseconds(point.maximum_s), *(rates if rated else ()),
        f"{time.samples:,}", f"{known.warmup_samples:,}", str(known.batch), str(time.launches),
        known.stops,
    )  # fmt: skip
