"""Show the measurements of two nodes: tables of usual sizes, plots, and every case in figures."""

from collections import Counter
from collections.abc import Container, Iterator

import msgspec

from fabricgauge.model.estimate import Curve, CurvePoint
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.memory import describe_memory
from fabricgauge.model.pattern import BUFFER_WORDS, PATTERNS
from fabricgauge.model.words.figures import (
    digits,
    half_width,
    megabytes_per_s,
    microseconds,
    share_of,
    size,
    supported_digits,
)
from fabricgauge.model.words.networks import is_loopback, named
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import limit_bytes_s
from fabricgauge.report.content.curves import (
    P99_SAMPLES,
    P999_SAMPLES,
    curves_of,
    direction,
    key_sizes,
    networks,
    pair_curves,
    pictures,
    point_throughput,
    recheck,
)
from fabricgauge.report.content.suites import with_references

#: Patterns with a column of their own among the usual sizes; a terminal has less room.
_HEADS = {
    "latency": "half RTT µs",
    "put_latency": "put µs",
    "bandwidth": "MB/s",
    "put_bandwidth": "put MB/s",
    "bidirectional_bandwidth": "MB/s, sum",
}
_ON_SCREEN = ("latency", "bandwidth", "bidirectional_bandwidth")
#: Patterns of the default set that are left out beside the patterns with columns.
_USUAL = ("put_latency", "put_bandwidth")
#: Stands in the place of a percentile with too few samples.
TOO_FEW = doc.Cell("–", hint="too few samples")


def figures(judged: Judged) -> Iterator[doc.Section]:
    """Yield the usual sizes of each network, and the ends of every other curve."""
    columns = {doc.SCREEN: _ON_SCREEN, doc.TRACKER: tuple(_HEADS)}
    for network in (network for network in networks(judged) if not is_loopback(network)):
        plan = judged.run.plan
        memory = f"; {describe_memory(plan.memory)}" if plan.memory else ""
        buffers = memory + (f"; {BUFFER_WORDS[plan.buffers]}" if plan.buffers != "fewest" else "")
        title = f"{named(network)}{buffers}; medians, 95 % intervals, share of the ceiling"
        usual = tuple(
            _key_size_table(judged, curves_of(judged, network, patterns), medium)
            for medium, patterns in columns.items()
        )
        yield doc.Section("figures", f"Measured: {title}", usual, on=doc.TEXT)
        heads = doc.heads("pattern", "between", "size", "median")
        tables = tuple(
            doc.Table(heads, other_rows(judged, network, patterns), on=medium)
            for medium, patterns in columns.items()
        )
        yield doc.Section("others", f"Measured in other patterns: {title}", tables, on=doc.TEXT)


def _key_size_table(judged: Judged, curves: tuple[Curve, ...], medium: doc.Medium) -> doc.Table:
    heads = (f"{_HEADS[curve.pattern]}\n{direction(curve)}" for curve in curves)
    points = [{point.message_bytes: point for point in curve.points} for curve in curves]
    columns = list(zip(curves, points, strict=True))
    rows = tuple(
        (
            size(length),
            *(_cell(judged, curve, by_size.get(length), medium) for curve, by_size in columns),
        )
        for length in key_sizes(curves)
    )
    return doc.Table(doc.figure_heads("size", *heads), rows, on=medium)


def _cell(judged: Judged, curve: Curve, point: CurvePoint | None, medium: doc.Medium) -> str:
    """Return a table's cell; a terminal gets fewer digits, and no blanks within a figure."""
    if medium is not doc.SCREEN:
        return ", ".join(_figure(judged, curve, point)) if point else "–"
    words = "  ".join(_figure(judged, curve, point, brief=True)) if point else "·"
    return words.replace(" %", "%").replace("± ", "±")


def _figure(
    judged: Judged, curve: Curve, point: CurvePoint, units: bool = False, brief: bool = False
) -> Iterator[str]:
    """Yield the median with its interval, then a rate's share of a known ceiling."""
    rate = point.bandwidth
    if rate is None:
        figure = digits(point.time.value * 1e6, supported_digits(point.time))
        yield f"{figure}{' µs' * units} {half_width(point.time)}"
        return
    usual = 5 if rate.value >= 1e8 and not brief else 4
    figure = digits(rate.value / 1e6, supported_digits(rate, usual))
    yield f"{figure}{' MB/s' * units} {half_width(rate)}"
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    if limit:
        yield share_of(rate, limit)


def other_rows(
    judged: Judged, network: str | None, columns: Container[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the smallest and the largest message of each curve of no pattern in ``columns``.

    A row has the word that asks for the curve, its ends, the size and the median; a curve's second
    row does not repeat the first two.
    """
    curves = [curve for curve in pair_curves(judged) if curve.network == network and curve.points]
    alone = not any(curve.pattern in columns for curve in curves)
    rows = []
    for curve in curves:
        usual = curve.pattern in _USUAL and not curve.variant and not alone
        if curve.pattern not in columns and not usual:
            bare = msgspec.structs.replace(curve, variant="")  # the word has it
            first_cells = (curve.word, direction(bare))
            for point in (curve.points[0], *curve.points[1:][-1:]):
                figures = list(_figure(judged, curve, point, units=True))
                rate = point_throughput(curve, point)
                if point.bandwidth is None and rate is not None:
                    figures.append(f"{megabytes_per_s(rate)} MB/s")
                median = ", ".join(figures)
                rows.append((*first_cells, size(point.message_bytes), median))
                first_cells = ("", "")
    return tuple(rows)


_COPIES = (
    "Each rank timed copies between its GPU and locked host memory before the cases of its launch;"
    " the best launch counts. Messages that MPI stages through host memory are no faster than the"
    " slowest copy."
)


def copies(judged: Judged) -> Iterator[doc.Section]:
    """Show the rates of copies between host and GPU, for each network with buffers on a GPU."""
    for network in (network for network in networks(judged) if not is_loopback(network)):
        rates = judged.evidence.find_network(network).copies
        if not rates:
            continue
        curves = curves_of(judged, network, ("bandwidth",))
        columns: dict[str, dict[int, float]] = {}
        for curve in curves:
            carried = ((point.message_bytes, point.bandwidth) for point in curve.points)
            columns[f"network\n{direction(curve)}"] = {n: rate.value for n, rate in carried if rate}
        for node, sizes in rates.items():
            columns[f"{node}\nGPU to host"] = {n: copy.to_host for n, copy in sizes.items()}
            columns[f"{node}\nhost to GPU"] = {n: copy.to_device for n, copy in sizes.items()}
        timed = sorted({length for sizes in rates.values() for length in sizes})
        rows = []
        for length in key_sizes(curves) or timed:
            figures = (column.get(length) for column in columns.values())
            cells = ("–" if figure is None else megabytes_per_s(figure) for figure in figures)
            rows.append((size(length), *cells))
        title = f"Copies between GPU and host: {named(network)}; medians in MB/s"
        table = doc.Table(doc.figure_heads("size", *columns), tuple(rows))
        yield doc.Section("copies", title, (table,), nav="Copies", intro=_COPIES)


_CURVES = (
    "Medians with their 95 % intervals (whiskers). The tint above a latency curve reaches to its"
    " 99th percentile. Point at a mark for its figures; a click on a legend entry hides or shows"
    " it. A hollow mark was refuted by a second measurement."
)


def curves(judged: Judged) -> doc.Section:
    plots = (doc.Deferred(lambda: _plots(judged)),)
    return doc.Section("curves", "Curves", plots, nav="Curves", intro=_CURVES, on=doc.PAGE)


def _plots(judged: Judged) -> list[doc.Block]:
    blocks: list[doc.Block] = []
    for network in networks(judged):
        plots = doc.side_by_side(
            with_references(judged, picture) for picture in pictures(judged, network)
        )
        if plots.plots:
            blocks += [doc.Heading(named(network)), plots]
    return blocks or [doc.Paragraph("No curve was measured.")]


_CASES = (
    "Times are µs per sample; p99.9 is that of the worst launch. The interval is that of the"
    " median. “–” stands for too few samples: fewer than 100 for p99, than 1,000 in every"
    " launch for p99.9. A batch is the number of operations timed at once. ○ marks a size that a"
    " second measurement refuted; point at it for the second figure."
)


def cases(judged: Judged) -> doc.Section:
    tables = tuple(_case_table(judged, curve) for curve in pair_curves(judged))
    blocks = tables or (doc.Paragraph("No case was measured."),)
    return doc.Section("cases", "Cases in figures", blocks, nav="Cases", intro=_CASES, on=doc.PAGE)


def _case_table(judged: Judged, curve: Curve) -> doc.Fold:
    rated = any(point.bandwidth for point in curve.points)
    heads = (
        "size", "window", "median µs", "interval µs", "p99", "p99.9", "min", "max",
        "MB/s", *(("of ceiling",) if rated else ()), "samples", "warm-up", "batch", "launches",
    )  # fmt: skip
    rows = tuple(_case_row(judged, curve, point, rated) for point in curve.points)
    words = PATTERNS[curve.pattern]
    sizes = counted(len(rows), "size")
    note = f"{named(curve.network)}, {sizes}; a sample is {words.sample}"
    table = doc.Table((*doc.figure_heads(*heads), *doc.heads("stopped by")), rows)
    return doc.Fold(f"{words.title} {direction(curve)}", note, (table,))


def _case_row(
    judged: Judged, curve: Curve, point: CurvePoint, rated: bool
) -> tuple[doc.Inline, ...]:
    """Return a point's figures, the worst p99.9 with enough samples, and each launch's stop."""
    records = _records(judged, curve, point.message_bytes)
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    rate, time = point.bandwidth, point.time
    moved = point_throughput(curve, point)
    plain = doc.Cell("" if moved is None else megabytes_per_s(moved), hint="size / time")
    rates = (
        doc.Cell(f"{megabytes_per_s(rate.value)} {half_width(rate)}" if rate else "", strong=True),
        share_of(rate, limit) if rate and limit else "",
    )
    tails = [
        record.times.p999_s for record in records if record.times and record.samples >= P999_SAMPLES
    ]
    stops = Counter(map(_stopped_by, records)).items()
    return (
        doc.Cell(f"{size(point.message_bytes)} ○", hint=recheck(point))
        if point.recheck
        else size(point.message_bytes),
        str(point.window),
        doc.Cell(microseconds(time.value), strong=True),
        f"{microseconds(time.low)} to {microseconds(time.high)}",
        microseconds(point.p99_s) if time.samples >= P99_SAMPLES else TOO_FEW,
        microseconds(max(tails)) if tails else TOO_FEW,
        microseconds(point.minimum_s), microseconds(point.maximum_s),
        *(rates if rated else (plain,)),
        f"{time.samples:,}", f"{sum(record.warmup_samples for record in records):,}",
        str(max((record.batch for record in records), default=1)), str(time.launches),
        ", ".join(f"{word} × {count}" if count > 1 else word for word, count in stops),
    )  # fmt: skip


def _stopped_by(record: Measurement) -> str:
    cut = record.losing and record.stop == "budget"
    return "budget, cut because frames were lost" if cut else record.stop or record.status


def _records(judged: Judged, curve: Curve, message_bytes: int) -> list[Measurement]:
    identity = (curve.pattern, curve.variant, message_bytes, curve.origin_node, curve.target_node)
    measurements = []
    for launch in judged.run.launches:
        hosts = dict(enumerate(launch.nodes))
        for case in launch.measurements if launch.network == curve.network else ():
            ends = (hosts.get(case.origin, ""), hosts.get(case.target, ""))
            if (case.pattern, case.variant, case.message_bytes, *ends) == identity:
                measurements.append(case)
    return measurements
