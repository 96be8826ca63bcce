"""What each plot shows, as columns of numbers and of text; knows nothing of Bokeh."""

from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.judged import Judged
from fabricgauge.report.content.conclusion import limit_bytes_s
from fabricgauge.report.content.sweep import P99_SAMPLES, curves_of, direction
from fabricgauge.report.picture import (
    Line,
    Mark,
    Picture,
    PlotCurve,
    canvas_text,
    level,
    plot_curve,
    position,
)
from fabricgauge.words.figures import duration, megabytes_per_s, microseconds, percent, size
from fabricgauge.words.patterns import ONE_WAY_BANDWIDTHS, PAIR_LATENCIES, PATTERNS

FLOOR_STEPS_PER_DOUBLING = 4
LONGEST_LABEL = 40


def pictures(judged: Judged, network: str | None) -> tuple[Picture, ...]:
    """The plots of one network; a pattern that was not measured has none."""
    wanted = (
        _times(judged, network, "latency"),
        _rates(judged, network, ONE_WAY_BANDWIDTHS, "per direction"),
        *(_times(judged, network, one) for one in PAIR_LATENCIES if one != "latency"),
        _rates(judged, network, ("bidirectional_bandwidth",), "sum of both directions"),
    )
    return tuple(picture for picture in wanted if picture.series)


def _times(judged: Judged, network: str | None, pattern: str) -> Picture:
    curves = curves_of(judged, network, (pattern,))
    series = tuple(_time_series(curve) for curve in curves)
    lines = tuple(_floors(judged, network, series))
    title = _capital(PATTERNS[pattern].title)
    y_label = f"{PATTERNS[pattern].sentence}, µs"
    return Picture(title, y_label, True, series, lines, None, patterns=(pattern,))


def _time_series(curve: Curve) -> PlotCurve:
    return plot_curve(_label(curve), [_time_mark(point) for point in curve.points])


def _time_mark(point: CurvePoint) -> Mark:
    """The tail is the 99th percentile; with too few samples for one, the interval's end."""
    time = point.time
    enough = time.samples >= P99_SAMPLES
    p99 = f"p99 {microseconds(point.p99_s)} µs" if enough else "too few samples for a p99"
    return Mark(
        position(point.message_bytes), *_scaled(time, 1e6), size(point.message_bytes),
        f"{microseconds(time.value)} µs",
        f"{microseconds(time.low)} to {microseconds(time.high)} µs",
        f"{p99}, least {microseconds(point.minimum_s)} µs", _count(point),
        (point.p99_s if enough else time.high) * 1e6,
    )  # fmt: skip


def _rates(judged: Judged, network: str | None, wanted: Iterable[str], which: str) -> Picture:
    patterns = tuple(wanted)
    limit = limit_bytes_s(judged, network, patterns[0])
    curves = curves_of(judged, network, patterns)
    series = tuple(_rate_series(curve, limit) for curve in curves)
    return Picture(
        title=_capital(f"bandwidth, {which}"),
        y_label=f"MB/s, {which}",
        log=False,
        series=tuple(one for one in series if one.x),
        lines=ceiling_line(limit, series),
        full_scale=limit / 1e6 if limit else None,
        patterns=patterns,
    )


def _rate_series(curve: Curve, limit: float | None) -> PlotCurve:
    carried = ((point, point.bandwidth) for point in curve.points)
    marks = [_rate_mark(point, rate, limit) for point, rate in carried if rate]
    return plot_curve(_label(curve), marks)


def _rate_mark(point: CurvePoint, rate: Estimate, limit: float | None) -> Mark:
    return Mark(
        position(point.message_bytes), *_scaled(rate, 1e-6), size(point.message_bytes),
        f"{megabytes_per_s(rate.value)} MB/s",
        f"{megabytes_per_s(rate.low)} to {megabytes_per_s(rate.high)} MB/s",
        f"{percent(rate.value / limit)} of the ceiling" if limit else "no ceiling known",
        _count(point),
    )  # fmt: skip


def _count(point: CurvePoint) -> str:
    return f"{point.time.samples:,} in {point.time.launches} launches"


def _scaled(estimate: Estimate, factor: float) -> tuple[float, float, float]:
    return estimate.value * factor, estimate.low * factor, estimate.high * factor


def ceiling_line(limit: float | None, series: Sequence[PlotCurve]) -> tuple[Line, ...]:
    """The ceiling in MB/s, where one is known."""
    return level(f"ceiling {megabytes_per_s(limit)} MB/s", series, limit / 1e6) if limit else ()


def _label(curve: Curve) -> str:
    shares = curve.pattern in (*ONE_WAY_BANDWIDTHS[1:], "put_latency")
    kind = f"{curve.pattern.partition('_')[0]} " if shares else ""
    text = canvas_text(f"{kind}{direction(curve)}")
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _floors(judged: Judged, network: str | None, series: tuple[PlotCurve, ...]) -> Iterator[Line]:
    """The medium's floor and the time that the wire needs, where they can be seen."""
    ends = [x for one in series for x in one.x]
    if not ends:
        return
    for floor_s in sorted(_medium_floors_s(judged, network)):
        yield from level(f"floor of the medium {duration(floor_s)}", series, floor_s * 1e6)
    ceiling = judged.ceilings.get(network) if network is not None else None
    if isinstance(ceiling, Ceiling):
        yield from _wire_floor(ceiling, max(ends), min(y for one in series for y in one.y))


def _wire_floor(ceiling: Ceiling, last: float, lowest_us: float) -> Iterator[Line]:
    """The least time of a transfer, from where it comes near the fastest message on."""
    steps = range(int(last * FLOOR_STEPS_PER_DOUBLING) + 1)
    sizes = [2 ** (step / FLOOR_STEPS_PER_DOUBLING) for step in steps]
    times = [1e6 * ceiling.one_transfer_floor_s(n) for n in sizes]
    seen = [(position(n), t) for n, t in zip(sizes, times, strict=True) if t > lowest_us / 5]
    if len(seen) > 1:
        yield Line("wire time at the ceiling", [x for x, _ in seen], [y for _, y in seen])


def _medium_floors_s(judged: Judged, network: str | None) -> set[float]:
    """Limits of time that verdicts were held against and that must not be undercut."""
    return {
        verdict.threshold.value
        for verdict in judged.verdicts
        if verdict.about.kind == "network" and verdict.network == network and verdict.threshold
        and verdict.threshold.unit.split(" ")[0] == "s"
        and verdict.threshold.relation in ("at least", ">=", "≥") and verdict.threshold.value > 0
    }  # fmt: skip


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
