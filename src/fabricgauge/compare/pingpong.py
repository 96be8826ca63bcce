"""A ping-pong's bandwidth and message rate are its time in other forms: it is compared once."""

from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.model.comparison import Side, Unmatched
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import SuiteCurve, SuitePoint

#: How ``what`` begins for a column that is worked out of the half round trip, and for that of
#: them which is message size over half round trip.
DERIVED = "ping-pong "
WHAT = "ping-pong bandwidth"
_TOLD = "the same figures as the time beside it, which is compared"


def as_times(side: Side, curves: Iterable[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    """The curves with each ping-pong bandwidth turned into half round trips.

    One whose table has a column of times as well is left out.
    """
    given = list(curves)
    timed = {_table(one) for one in given if one.pattern == "latency" and one.quantity == "time"}
    kept, left = [], []
    for curve in given:
        derived = curve.pattern is None and curve.what.startswith(DERIVED)
        if derived and _table(curve) in timed:
            left.append(Unmatched(side, curve, _TOLD))
        elif derived and curve.quantity == "bandwidth" and curve.what.startswith(WHAT):
            kept.append(_as_time(curve))
        else:
            kept.append(curve)
    return kept, left


def _table(curve: SuiteCurve) -> tuple[str, str, int]:
    return curve.source, curve.benchmark, curve.first_line


def _as_time(curve: SuiteCurve) -> SuiteCurve:
    return msgspec.structs.replace(
        curve,
        what=f"half round trip (size ÷ {WHAT})",
        quantity="time",
        pattern="latency",
        points=tuple(_points(curve.points)),
    )


def _points(points: Sequence[SuitePoint]) -> Iterable[SuitePoint]:
    for point in points:
        rate = point.estimate
        if point.message_bytes and rate.low > 0:
            time = Estimate(
                value=point.message_bytes / rate.value,
                low=point.message_bytes / rate.high,
                high=point.message_bytes / rate.low,
                confidence=rate.confidence,
                launches=rate.launches,
                samples=rate.samples,
            )
            yield SuitePoint(point.message_bytes, time, point.line)
