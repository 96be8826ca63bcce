"""Select sizes and percentiles of curves between two nodes, and plot them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Curve, CurvePoint, Estimate
from fabricgauge.model.judged import Judged
from fabricgauge.model.pattern import PATTERNS
from fabricgauge.model.words import sentences
from fabricgauge.model.words.figures import duration, megabytes_per_s, microseconds, percent
from fabricgauge.model.words.networks import OWN_CHOICE
from fabricgauge.model.words.patterns import (
    ONE_WAY_BANDWIDTHS,
    PAIR_LATENCIES,
    is_of_a_pair,
    throughput,
)
from fabricgauge.report.content.conclusion import limit_bytes_s
from fabricgauge.report.picture import (
    Line,
    Mark,
    Picture,
    PlotCurve,
    estimate_mark,
    level_line,
    position,
    shortened,
)
from fabricgauge.report.visible import visible

T = TypeVar("T")

# Small message, eager, near rendezvous, and a stream at its ceiling.
KEY_SIZES_BYTES = (0, 8, 1024, 16384, 65536, 1 << 20, 1 << 22)

#: Fewest samples of a percentile: with fewer it is about the maximum.
P99_SAMPLES, P999_SAMPLES = 100, 1000


def pair_curves(judged: Judged) -> tuple[Curve, ...]:
    """Return the curves between two nodes, without cases of many ranks."""
    return tuple(curve for curve in judged.curves if is_of_a_pair(curve.pattern))


def networks(judged: Judged) -> tuple[str | None, ...]:
    """Return the networks with curves, in the order of the curves."""
    return tuple(dict.fromkeys(curve.network for curve in pair_curves(judged)))


def curves_of(judged: Judged, network: str | None, patterns: Iterable[str]) -> tuple[Curve, ...]:
    return tuple(
        curve
        for pattern in patterns
        for curve in judged.curves
        if curve.network == network and curve.pattern == pattern
    )


def key_sizes(curves: Iterable[Curve]) -> tuple[int, ...]:
    """Return sizes for a short table: all if they are few, the usual ones, or a spread."""
    measured = sorted({point.message_bytes for curve in curves for point in curve.points})
    if len(measured) <= len(KEY_SIZES_BYTES):
        return tuple(measured)
    usual = tuple(size for size in KEY_SIZES_BYTES if size in measured)
    if len(usual) >= 3:
        return usual
    return tuple(spread(measured, 7))


def spread(items: Sequence[T], limit: int) -> Sequence[T]:
    """Return all items, or ``limit`` at even distances with the first and the last."""
    if len(items) <= limit:
        return items
    return [items[place * (len(items) - 1) // (limit - 1)] for place in range(limit)]


def direction(curve: Curve) -> str:
    """Return ``c1 → c2``, ``c1 ↔ c2`` if both send at once, ``c1 → c2 (fence)``."""
    bidirectional = PATTERNS[curve.pattern].directions == 2
    variant = f" ({curve.variant})" if curve.variant else ""
    return f"{sentences.direction(curve.origin_node, curve.target_node, bidirectional)}{variant}"


def point_throughput(curve: Curve, point: CurvePoint) -> float | None:
    """Return the payload rate at a point in bytes/s, a stream's sum over its directions."""
    if point.bandwidth is not None:
        return point.bandwidth.value
    return throughput(curve.pattern, point.message_bytes, point.time.value, point.window)


FLOOR_STEPS_PER_DOUBLING = 4
LONGEST_LABEL = 40


def pictures(judged: Judged, network: str | None) -> tuple[Picture, ...]:
    """Return the plots of one network; an unmeasured pattern has none."""
    candidates = (
        _times(judged, network, "latency"),
        _rates(judged, network, ONE_WAY_BANDWIDTHS, "per direction"),
        *(_times(judged, network, pattern) for pattern in PAIR_LATENCIES if pattern != "latency"),
        _rates(judged, network, ("bidirectional_bandwidth",), "sum of both directions"),
        _throughputs(judged, network),
    )
    return tuple(picture for picture in candidates if picture.series)


#: Patterns of single messages whose throughput is plotted together if the second was measured.
_SINGLE_MESSAGES = ("latency", "ping_ping")


def _throughputs(judged: Judged, network: str | None) -> Picture:
    """Plot the size over the time of single messages, as suites print it."""
    if not curves_of(judged, network, _SINGLE_MESSAGES[1:]):
        return Picture("", "", False, ())
    series = []
    for curve in curves_of(judged, network, _SINGLE_MESSAGES):
        marks = []
        for point in curve.points:
            rate, time = point_throughput(curve, point), point.time
            if rate is not None:
                low, high = (rate * time.value / end for end in (time.high, time.low))
                estimate = msgspec.structs.replace(time, value=rate, low=low, high=high)
                marks.append(_rate_mark(point, estimate, "size / time"))
        name = PATTERNS[curve.pattern].name
        if marks:
            series.append(PlotCurve(visible(f"{name} {direction(curve)}"), marks))
    title = "Throughput of single messages"
    return Picture(title, "MB/s, size / time", False, tuple(series))


def _times(judged: Judged, network: str | None, pattern: str) -> Picture:
    words = PATTERNS[pattern]
    series = tuple(
        PlotCurve(_label(curve), list(map(_time_mark, curve.points)))
        for curve in curves_of(judged, network, (pattern,))
    )
    title = words.title[:1].upper() + words.title[1:]
    floors = tuple(_floors(judged, network, series))
    return Picture(title, f"{words.sentence}, µs", True, series, floors, patterns=(pattern,))


def _time_mark(point: CurvePoint) -> Mark:
    """Return a mark whose tail is the 99th percentile, or the interval's end for few samples."""
    time = point.time
    enough = time.samples >= P99_SAMPLES
    p99 = f"p99 {microseconds(point.p99_s)} µs" if enough else "too few samples for a p99"
    mark = estimate_mark(
        point.message_bytes, time, 1e6, f"{microseconds(time.value)} µs",
        f"{microseconds(time.low)} to {microseconds(time.high)} µs",
        f"{p99}, least {microseconds(point.minimum_s)} µs", _count(point),
        (point.p99_s if enough else time.high) * 1e6,
    )  # fmt: skip
    return _with_recheck(mark, point)


def _with_recheck(mark: Mark, point: CurvePoint) -> Mark:
    """Return the mark, hollow and with the second figure if that refuted the first."""
    if point.recheck is None:
        return mark
    return mark._replace(fill=0.0, also=f"{mark.also}; {recheck(point)}")


def recheck(point: CurvePoint) -> str:
    """Return the figure of a second measurement that refuted a point, empty if none did."""
    if point.recheck is None:
        return ""
    if point.bandwidth is None or point.time.value <= 0:
        return f"measured again: {microseconds(point.recheck.value)} µs"
    rate = point.bandwidth.value * point.time.value / point.recheck.value
    return f"measured again: {megabytes_per_s(rate)} MB/s"


def _rates(
    judged: Judged, network: str | None, patterns: tuple[str, ...], direction_words: str
) -> Picture:
    limit = limit_bytes_s(judged, network, patterns[0])
    curves = (
        PlotCurve(_label(curve), list(_rate_marks(curve, limit)))
        for curve in curves_of(judged, network, patterns)
    )
    series = tuple(curve for curve in curves if curve.marks)
    return Picture(
        f"Bandwidth, {direction_words}", f"MB/s, {direction_words}", False, series,
        ceiling_line(limit, series), limit / 1e6 if limit else None, patterns=patterns,
    )  # fmt: skip


def _rate_marks(curve: Curve, limit: float | None) -> Iterator[Mark]:
    for point in curve.points:
        if rate := point.bandwidth:
            share = f"{percent(rate.value / limit)} of the ceiling" if limit else "no ceiling known"
            yield _with_recheck(_rate_mark(point, rate, share), point)


def _rate_mark(point: CurvePoint, rate: Estimate, note: str) -> Mark:
    value, low, high = map(megabytes_per_s, (rate.value, rate.low, rate.high))
    interval = f"{low} to {high} MB/s"
    return estimate_mark(
        point.message_bytes, rate, 1e-6, f"{value} MB/s", interval, note, _count(point)
    )


def _count(point: CurvePoint) -> str:
    return f"{point.time.samples:,} in {point.time.launches} launches"


def ceiling_line(limit: float | None, series: Sequence[PlotCurve]) -> tuple[Line, ...]:
    """Return the ceiling in MB/s, if known."""
    if not limit:
        return ()
    lines = level_line(f"ceiling {megabytes_per_s(limit)} MB/s", series, limit / 1e6)
    return tuple(line._replace(is_ceiling=True) for line in lines)


def _label(curve: Curve) -> str:
    shares = curve.pattern in (*ONE_WAY_BANDWIDTHS[1:], "put_latency")
    kind = f"{curve.pattern.partition('_')[0]} " if shares else ""
    return shortened(visible(f"{kind}{direction(curve)}"), LONGEST_LABEL)


def _floors(judged: Judged, network: str | None, series: tuple[PlotCurve, ...]) -> Iterator[Line]:
    """Yield lower bounds of times: the limits of verdicts, and the wire's time.

    The wire's line begins where it comes near the fastest message.
    """
    marks = [mark for curve in series for mark in curve.marks]
    limits = (
        verdict.threshold
        for verdict in judged.verdicts
        if verdict.about.kind == "network" and verdict.network == network and verdict.threshold
    )
    floors = (
        limit.value
        for limit in limits
        if limit.unit.split(" ")[0] == "s" and limit.relation in ("at least", ">=", "≥")
    )
    for floor_s in sorted({floor for floor in floors if floor > 0}):
        yield from level_line(f"floor of the medium {duration(floor_s)}", series, floor_s * 1e6)
    ceiling = judged.ceilings.get(OWN_CHOICE if network is None else network)
    if isinstance(ceiling, Ceiling) and marks:
        last, lowest = max(mark.x for mark in marks), min(mark.y for mark in marks)
        steps = range(int(last * FLOOR_STEPS_PER_DOUBLING) + 1)
        sizes = [2 ** (step / FLOOR_STEPS_PER_DOUBLING) for step in steps]
        times = [1e6 * ceiling.transfer_floor_s(size) for size in sizes]
        near = [(x, y) for x, y in zip(sizes, times, strict=True) if y > lowest / 5]
        if len(near) > 1:
            x, y = zip(*near, strict=True)
            yield Line("wire time at the ceiling", list(map(position, x)), list(y))
