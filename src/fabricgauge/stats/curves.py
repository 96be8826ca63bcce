"""The curves of a run as values that a report can draw."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.run import Run
from fabricgauge.stats.series import Point, Series, series_of


def curves(run: Run) -> tuple[Curve, ...]:
    """One curve per network (or None), pattern, variant and direction, in the launches' order.

    These are the engine's own; what another suite measured stays as its log tells it, and pairs
    that were measured again to confirm a suspicion are evidence of that alone.
    """
    own = [one for one in run.launches if one.purpose == "measure" and not one.curves]
    return tuple(
        Curve(
            network=network,
            pattern=series.pattern,
            origin_node=series.origin,
            target_node=series.target,
            points=tuple(_point(series, point) for point in series.points),
            variant=series.variant,
        )
        for network in dict.fromkeys(launch.network for launch in run.launches)
        for series in series_of([one for one in own if one.network == network])
    )


def _point(series: Series, point: Point) -> CurvePoint:
    times = _times(point.measurements)
    bandwidth: Estimate | None = point.bandwidth
    if series.is_latency or point.message_bytes == 0:
        bandwidth = None
    elif series.pattern == "bidirectional_bandwidth":
        one = point.bandwidth
        twice = {"value": 2 * one.value, "low": 2 * one.low, "high": 2 * one.high}
        bandwidth = msgspec.structs.replace(one, **twice)
    return CurvePoint(
        message_bytes=point.message_bytes,
        window=point.measurements[0].window,
        time=point.time,
        bandwidth=bandwidth,
        p99_s=percentile_s(point.measurements, 0.99),
        minimum_s=min(one.minimum_s for one in times),
        maximum_s=max(one.maximum_s for one in times),
    )


def _times(measurements: Sequence[Measurement]) -> list[Times]:
    return [one.times for one in measurements if one.times is not None]


def percentile_s(measurements: Sequence[Measurement], share: float) -> float:
    """A percentile over the samples of all launches, from their histograms.

    It is the lower bound of the bucket that holds it, so at most one bucket width
    (0.78 %) low. Without histograms it is the worst launch's own 99th percentile.
    """
    buckets = [bucket for one in measurements for bucket in one.histogram_ps]
    if not buckets:
        return max(one.p99_s for one in _times(measurements))
    lower, counts = np.array(sorted(buckets), dtype=float).T
    reached = np.cumsum(counts) >= share * counts.sum()
    return float(lower[int(np.argmax(reached))]) * 1e-12
