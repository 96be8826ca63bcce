"""Curves side by side: the rows that tables and plots show."""

from collections.abc import Iterable
from typing import NamedTuple

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch
from fabricgauge.words import sentences
from fabricgauge.words.patterns import PATTERNS, is_of_a_pair

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
    return tuple(measured[i * (len(measured) - 1) // 6] for i in range(7))


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
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    return ", ".join(f"{word} × {count}" if count > 1 else word for word, count in counts.items())
