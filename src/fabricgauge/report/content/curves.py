"""Curves of two nodes: which sizes and percentiles are shown, and their plots."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch
from fabricgauge.report.content.conclusion import limit_bytes_s
from fabricgauge.report.picture import (
    Line,
    Mark,
    Picture,
    PlotCurve,
    canvas_text,
    estimate_mark,
    level,
    position,
    shortened,
)
from fabricgauge.words import sentences
from fabricgauge.words.figures import duration, megabytes_per_s, microseconds, percent
from fabricgauge.words.patterns import ONE_WAY_BANDWIDTHS, PAIR_LATENCIES, PATTERNS, is_of_a_pair

T = TypeVar("T")

# Small message, eager, near rendezvous, and where a stream reaches its ceiling.
KEY_SIZES_BYTES = (0, 8, 1024, 16384, 65536, 1 << 20, 1 << 22)

#: With fewer samples a percentile is the maximum, or next to it, under another name.
P99_SAMPLES, P999_SAMPLES = 100, 1000


class LaunchFacts(NamedTuple):
    """What the launches add to a curve's point: the worst p99.9 and why each stopped.

    Launches with too few samples for a 99.9th percentile do not count for it.
    """

    p999_s: float | None
    stops: str
    warmup_samples: int
    batch: int


def pair_curves(judged: Judged) -> tuple[Curve, ...]:
    """Curves between two nodes; cases of many ranks are told apart from them."""
    return tuple(curve for curve in judged.curves if is_of_a_pair(curve.pattern))


def networks(judged: Judged) -> tuple[str | None, ...]:
    """Networks with curves, in the order of the curves."""
    return tuple(dict.fromkeys(curve.network for curve in pair_curves(judged)))


def curves_of(judged: Judged, network: str | None, patterns: Iterable[str]) -> tuple[Curve, ...]:
    """A network's curves, pattern by pattern."""
    return tuple(
        curve
        for pattern in patterns
        for curve in judged.curves
        if curve.network == network and curve.pattern == pattern
    )


def key_sizes(curves: Iterable[Curve]) -> tuple[int, ...]:
    """Sizes for a short table: all if they are few, the usual ones, or a spread of all."""
    measured = sorted({point.message_bytes for curve in curves for point in curve.points})
    if len(measured) <= len(KEY_SIZES_BYTES):
        return tuple(measured)
    usual = tuple(size for size in KEY_SIZES_BYTES if size in measured)
    if len(usual) >= 3:
        return usual
    return tuple(spread(measured, 7))


def spread(every: Sequence[T], most: int) -> Sequence[T]:
    """All of them, or so many from the first to the last."""
    if len(every) <= most:
        return every
    return [every[place * (len(every) - 1) // (most - 1)] for place in range(most)]


def at(curve: Curve | None, message_bytes: int) -> CurvePoint | None:
    """The point of that size, if it was measured."""
    points = curve.points if curve else ()
    return next((point for point in points if point.message_bytes == message_bytes), None)


def direction(curve: Curve) -> str:
    """``c1 → c2``, or ``c1 ↔ c2`` where both send at once; ``c1 → c2 (fence)``."""
    both = PATTERNS[curve.pattern].directions == 2
    told = f" ({curve.variant})" if curve.variant else ""
    return f"{sentences.direction(curve.origin_node, curve.target_node, both)}{told}"


def facts(judged: Judged, curve: Curve, message_bytes: int) -> LaunchFacts:
    """What the records of all launches say of one point of a curve."""
    found = [
        measurement
        for launch in judged.run.launches
        if launch.network == curve.network
        for measurement in launch.measurements
        if measurement.message_bytes == message_bytes and _is_of(curve, launch, measurement)
    ]
    times = [one.times.p999_s for one in found if one.times and one.samples >= P999_SAMPLES]
    return LaunchFacts(
        p999_s=max(times, default=None),
        stops=_counted([one.stop or one.status for one in found]),
        warmup_samples=sum(one.warmup_samples for one in found),
        batch=max((one.batch for one in found), default=1),
    )


def _is_of(curve: Curve, launch: Launch, one: Measurement) -> bool:
    ends = tuple(
        launch.nodes[rank] if 0 <= rank < len(launch.nodes) else ""
        for rank in (one.origin, one.target)
    )
    alike = (one.pattern, one.variant) == (curve.pattern, curve.variant)
    return alike and ends == (curve.origin_node, curve.target_node)


def _counted(words: list[str]) -> str:
    counts = Counter(words).items()
    return ", ".join(f"{word} × {count}" if count > 1 else word for word, count in counts)


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
    words = PATTERNS[pattern]
    series = tuple(
        PlotCurve(_label(curve), [_time_mark(point) for point in curve.points])
        for curve in curves_of(judged, network, (pattern,))
    )
    return Picture(
        _capital(words.title), f"{words.sentence}, µs", True, series,
        tuple(_floors(judged, network, series)), None, patterns=(pattern,),
    )  # fmt: skip


def _time_mark(point: CurvePoint) -> Mark:
    """The tail is the 99th percentile; with too few samples for one, the interval's end."""
    time = point.time
    enough = time.samples >= P99_SAMPLES
    p99 = f"p99 {microseconds(point.p99_s)} µs" if enough else "too few samples for a p99"
    return estimate_mark(
        point.message_bytes, time, 1e6, f"{microseconds(time.value)} µs",
        f"{microseconds(time.low)} to {microseconds(time.high)} µs",
        f"{p99}, least {microseconds(point.minimum_s)} µs", _count(point),
        (point.p99_s if enough else time.high) * 1e6,
    )  # fmt: skip


def _rates(judged: Judged, network: str | None, patterns: tuple[str, ...], which: str) -> Picture:
    limit = limit_bytes_s(judged, network, patterns[0])
    drawn = (
        PlotCurve(
            _label(curve),
            [
                _rate_mark(point, point.bandwidth, limit)
                for point in curve.points
                if point.bandwidth
            ],
        )
        for curve in curves_of(judged, network, patterns)
    )
    series = tuple(one for one in drawn if one.marks)
    return Picture(
        _capital(f"bandwidth, {which}"), f"MB/s, {which}", False, series,
        ceiling_line(limit, series), limit / 1e6 if limit else None, patterns=patterns,
    )  # fmt: skip


def _rate_mark(point: CurvePoint, rate: Estimate, limit: float | None) -> Mark:
    return estimate_mark(
        point.message_bytes, rate, 1e-6, f"{megabytes_per_s(rate.value)} MB/s",
        f"{megabytes_per_s(rate.low)} to {megabytes_per_s(rate.high)} MB/s",
        f"{percent(rate.value / limit)} of the ceiling" if limit else "no ceiling known",
        _count(point),
    )  # fmt: skip


def _count(point: CurvePoint) -> str:
    return f"{point.time.samples:,} in {point.time.launches} launches"


def ceiling_line(limit: float | None, series: Sequence[PlotCurve]) -> tuple[Line, ...]:
    """The ceiling in MB/s, where one is known."""
    return level(f"ceiling {megabytes_per_s(limit)} MB/s", series, limit / 1e6) if limit else ()


def _label(curve: Curve) -> str:
    shares = curve.pattern in (*ONE_WAY_BANDWIDTHS[1:], "put_latency")
    kind = f"{curve.pattern.partition('_')[0]} " if shares else ""
    return shortened(canvas_text(f"{kind}{direction(curve)}"), LONGEST_LABEL)


def _floors(judged: Judged, network: str | None, series: tuple[PlotCurve, ...]) -> Iterator[Line]:
    """The medium's floor and the time that the wire needs, where they can be seen."""
    marks = [mark for one in series for mark in one.marks]
    if not marks:
        return
    for floor_s in sorted(_medium_floors_s(judged, network)):
        yield from level(f"floor of the medium {duration(floor_s)}", series, floor_s * 1e6)
    ceiling = judged.ceilings.get(network) if network is not None else None
    if isinstance(ceiling, Ceiling):
        yield from _wire_floor(ceiling, max(one.x for one in marks), min(one.y for one in marks))


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
