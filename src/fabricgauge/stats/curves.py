"""The curves of a run as values that a report can draw."""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.run import Run
from fabricgauge.stats.launches import Observed
from fabricgauge.stats.series import Point, Series, series_of


def curves(run: Run) -> tuple[Curve, ...]:
    """One curve per network (or None), pattern and direction, in the launches' order."""
    networks = dict.fromkeys(launch.network for launch in run.launches)
    return tuple(
        _curve(network, series)
        for network in networks
        for series in series_of([one for one in run.launches if one.network == network])
    )


def _curve(network: str | None, series: Series) -> Curve:
    return Curve(
        network=network,
        pattern=series.pattern,
        origin_node=series.origin,
        target_node=series.target,
        points=tuple(_point(series, point) for point in series.points),
    )


def _point(series: Series, point: Point) -> CurvePoint:
    return CurvePoint(
        message_bytes=point.message_bytes,
        window=point.observed[0].measurement.window,
        time=point.time,
        bandwidth=_bandwidth(series, point),
        p99_s=percentile_s(point.observed, 0.99),
        minimum_s=min(one.times.minimum_s for one in point.observed),
        maximum_s=max(one.times.maximum_s for one in point.observed),
    )


def _bandwidth(series: Series, point: Point) -> Estimate | None:
    if series.is_latency or point.message_bytes == 0:
        return None
    if series.pattern != "bidirectional_bandwidth":
        return point.bandwidth
    return msgspec.structs.replace(
        point.bandwidth,
        value=2 * point.bandwidth.value,
        low=2 * point.bandwidth.low,
        high=2 * point.bandwidth.high,
    )


def percentile_s(observed: Sequence[Observed], share: float) -> float:
    """A percentile over the samples of all launches, from their histograms.

    It is the lower bound of the bucket that holds it, so at most one bucket width
    (0.78 %) low. Without histograms it is the worst launch's own 99th percentile.
    """
    buckets = [bucket for one in observed for bucket in one.measurement.histogram_ps]
    if not buckets:
        return max(one.times.p99_s for one in observed)
    lower, counts = np.array(sorted(buckets), dtype=float).T
    reached = np.cumsum(counts) >= share * counts.sum()
    return float(lower[int(np.argmax(reached))]) * 1e-12
