"""Figures of other suites as our own series take them, and the payload that they account for."""

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


def observed_of(
    launch: int, curve: SuiteCurve, one: SuitePoint, links: int
) -> tuple[int, bool, Observed]:
    """Message size, whether the log tells it, and the figure.

    Bandwidth becomes the time that one message takes, per direction and link; ``links`` is over
    how many of them the figure is a sum.
    """
    is_time = curve.quantity == "time"
    sized = one.message_bytes is not None
    unsized_bytes = 0 if is_time else PEAK_BYTES
    message_bytes = one.message_bytes if one.message_bytes is not None else unsized_bytes
    found = one.estimate
    ends = (found.value, found.low, found.high)
    if not is_time:
        value, low, high = (curve.directions * links * message_bytes / rate for rate in ends)
        ends = (value, high, low)
    tail_s = one.besides.get("p99") if is_time else None
    return (
        message_bytes,
        sized,
        Observed(launch, *ends, found.confidence, found.samples, message_bytes, tail_s, None),
    )


def accounted_bytes(curves: Sequence[SuiteCurve]) -> tuple[int, int]:
    """Bytes that ranks 0 and 1 sent at the least, by what the curves say.

    A table with two quantities tells of the same messages twice: per table the one that
    accounts for most counts. Windows and warm-up are left out, for no log tells them all.
    """
    most: dict[tuple[str, int, int], int] = {}
    for curve in curves:
        sent = _streamed(curve) or sum(
            one.message_bytes * max(1, one.estimate.samples)
            for one in curve.points
            if one.message_bytes is not None
        )
        both = curve.directions == 2 or curve.pattern in LATENCY_PATTERNS - {"put_latency"}
        for rank in (0, 1) if both else (0 if curve.origin == 0 else 1,):
            key = (curve.source, curve.first_line, rank)
            most[key] = max(sent, most.get(key, 0))
    first, second = (sum(sent for key, sent in most.items() if key[2] == rank) for rank in (0, 1))
    return first, second


def _streamed(curve: SuiteCurve) -> int:
    """What a stream of a set time carried: its mean rate by its seconds."""
    try:
        seconds = float(curve.settings.get("duration", "0 s").removesuffix(" s"))
    except ValueError:
        return 0
    if curve.quantity != "bandwidth" or not 0 < seconds < 1e6:
        return 0
    return int(sum(one.estimate.value for one in curve.points) * seconds)
