"""Figures of other suites as our own series take them: seconds per sample, with a payload."""

from collections.abc import Iterator, Sequence

from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.stats.launches import Observed

#: A headline "12,171 MB/s" without a size stands for a stream so long that size plays no part.
PEAK_BYTES = 1 << 30


def usable_curves(curves: Sequence[SuiteCurve]) -> Iterator[tuple[SuiteCurve, Pattern]]:
    """Curves that move bytes as one of our patterns does, in the quantity that this tells.

    A ping-pong may be told of by its bandwidth alone.
    """
    for curve in curves:
        tells = curve.quantity == "bandwidth" or (
            curve.quantity == "time" and curve.pattern in LATENCY_PATTERNS
        )
        if curve.pattern is not None and tells:
            yield curve, curve.pattern


def usable_points(curve: SuiteCurve) -> Iterator[SuitePoint]:
    """Points that a time per message follows from: an empty message has no bandwidth."""
    for one in curve.points:
        empty = one.message_bytes == 0 and curve.quantity != "time"
        if not empty and one.estimate.low > 0:
            yield one


def observed_of(launch: int, curve: SuiteCurve, one: SuitePoint) -> tuple[int, bool, Observed]:
    """Message size, whether the log tells it, and the figure.

    Bandwidth becomes the time that one message takes, per direction. Several pairs at once
    share a link in ways that a log does not tell: each counts as if it had one of its own.
    """
    is_time = curve.quantity == "time"
    sized = one.message_bytes is not None
    unsized_bytes = 0 if is_time else PEAK_BYTES
    message_bytes = one.message_bytes if one.message_bytes is not None else unsized_bytes
    found = one.estimate
    ends = (found.value, found.low, found.high)
    if not is_time:
        value, low, high = (curve.directions * curve.pairs * message_bytes / rate for rate in ends)
        ends = (value, high, low)
    tail_s = one.besides.get("p99") if is_time else None
    return (
        message_bytes,
        sized,
        Observed(launch, *ends, found.confidence, found.samples, message_bytes, tail_s, None),
    )
