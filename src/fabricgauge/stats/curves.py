"""The curves of a run: its own, and all of them in the form of other suites' results."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, CROWD_PATTERNS, Pattern
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import Besides, Quantity, SuiteCurve, SuitePoint
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.stats.series import (
    Observed,
    Point,
    Series,
    bandwidth_estimate,
    series_of,
    time_estimate,
    usable_of,
)
from fabricgauge.words import sentences
from fabricgauge.words.networks import OWN_CHOICE, is_loopback
from fabricgauge.words.patterns import words_of

SUITE = "fabricgauge"
UNIT_RULE = "seconds and bytes, as the engine writes them"

#: What all of a run's own curves have in common.
_own = partial(
    SuiteCurve, suite=SUITE, statistic="median", unit_rule=UNIT_RULE, first_line=0, last_line=0
)

_WITHOUT_SIZE = frozenset({"barrier", "ibarrier"})


def curves(run: Run) -> tuple[Curve, ...]:
    """One curve per network (or None), pattern, variant and direction, in the launches' order.

    These are the engine's own; what another suite measured stays as its log tells it, and pairs
    that were measured again to confirm a suspicion are evidence of that alone.
    """
    own = [one for one in run.launches if one.purpose == "measure" and not one.curves]
    again = _rechecked(run)
    return tuple(
        Curve(
            network=network,
            pattern=series.pattern,
            origin_node=series.origin,
            target_node=series.target,
            points=tuple(
                _point(series, point, again.get((network, series.about, point.message_bytes)))
                for point in series.points
            ),
            variant=series.variant,
        )
        for network in dict.fromkeys(launch.network for launch in run.launches)
        for series in series_of([one for one in own if one.network == network])
    )


def _rechecked(run: Run) -> dict[tuple[str | None, VerdictSubject, int], Estimate]:
    """Return the times of points that two nodes measured again, by network, series and size."""
    launches = [one for one in run.launches if one.purpose == "again" and not one.curves]
    return {
        (network, series.about, point.message_bytes): point.time
        for network in dict.fromkeys(launch.network for launch in launches)
        for series in series_of([one for one in launches if one.network == network])
        for point in series.points
    }


def _point(series: Series, point: Point, again: Estimate | None) -> CurvePoint:
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
        mean_s=_mean_s(point.measurements) or point.time.value,
        recheck=again if again and _are_apart(again, point.time) else None,
    )


def _are_apart(a: Estimate, b: Estimate) -> bool:
    return a.supported and b.supported and (a.high < b.low or b.high < a.low)


def _mean_s(measurements: Sequence[Measurement]) -> float:
    """Seconds per sample over all samples of usable measurements."""
    means = [one.mean_s for one in _times(measurements)]
    return float(np.average(means, weights=[one.samples for one in measurements]))


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


def suite_curves(run: Run) -> tuple[SuiteCurve, ...]:
    """Every curve of a run: of pairs, of many ranks, then what other suites measured in it.

    Latency patterns give times, the others payload bandwidth; intervals are those of
    the engine's estimates. Curves of one node's loopback are left out.
    """
    version = next((one.header.engine for one in run.launches if one.header), "")
    own = (
        of_engine(one, version, run.identity, run.plan.memory)
        for one in curves(run)
        if not is_loopback(one.network)
    )
    together = crowd_curves(run)
    foreign = (_placed(launch, one) for launch in run.launches for one in launch.curves)
    return (*(one for one in own if one.points), *together, *foreign)


def _placed(launch: Launch, curve: SuiteCurve) -> SuiteCurve:
    """A curve with the nodes that it went between, where we started its program ourselves."""
    ranks = (curve.origin, curve.target)
    if launch.imported or not all(0 <= rank < len(launch.nodes) for rank in ranks):
        return curve
    ends = (launch.nodes[curve.origin], launch.nodes[curve.target])
    return msgspec.structs.replace(curve, hosts=ends)


def of_engine(curve: Curve, version: str = "", source: str = "", memory: str = "") -> SuiteCurve:
    """One curve of the engine; ``source`` is the identity of the run that it is from.

    ``memory`` is where its buffers lay, a word of ``model.memory``.
    """
    words = words_of(curve.pattern)
    summed = ", summed" if words.summed else ""
    what = f"{words.sentence}{summed}{f' ({curve.variant})' if curve.variant else ''}"
    there = sentences.direction(curve.origin_node, curve.target_node, words.directions == 2)
    windows = {point.window for point in curve.points}
    return _own(
        version=version,
        benchmark=curve.word,
        title=f"{what}, {there}",
        what=what,
        quantity=words.quantity,
        points=tuple(_points(curve.points, words.quantity)),
        pattern=None if curve.variant else curve.pattern,
        directions=2 if words.summed else 1,
        ranks=2,
        settings={
            "network": curve.network or OWN_CHOICE,
            **({"window": str(*windows)} if len(windows) == 1 and windows != {1} else {}),
            **({"memory": memory} if memory else {}),
        },
        hosts=(curve.origin_node, curve.target_node),
        source=source,
    )


def _points(points: Sequence[CurvePoint], quantity: Quantity) -> Iterator[SuitePoint]:
    for one in points:
        if quantity == "time":
            besides: dict[Besides, float] = {
                "minimum": one.minimum_s, "maximum": one.maximum_s, "p99": one.p99_s,
                "mean": one.mean_s,
            }  # fmt: skip
            yield SuitePoint(one.message_bytes, one.time, 0, besides)
        elif one.bandwidth is not None:
            mean = one.bandwidth.value * one.time.value / one.mean_s
            yield SuitePoint(one.message_bytes, one.bandwidth, 0, {"mean": mean})


class _CrowdKey(NamedTuple):
    network: str | None
    pattern: Pattern
    ranks: int
    pairs: int
    load: str


def crowd_curves(run: Run) -> Iterator[SuiteCurve]:
    """One curve per network, pattern, number of ranks and of pairs, and load.

    Times are those of one operation, the slowest rank's; of streams the payload of one pair in
    one direction.
    """
    found: dict[_CrowdKey, dict[int, list[Observed]]] = {}
    for launch in (one for one in run.launches if one.purpose == "measure"):
        for one in usable_of(launch.number, launch.measurements):
            case = one.measurement
            if case is not None and (key := _key(launch.network, case)) is not None:
                found.setdefault(key, {}).setdefault(case.message_bytes, []).append(one)
    for key, sizes in found.items():
        yield _crowd_curve(key, sizes, run.identity)


def _key(network: str | None, case: Measurement) -> _CrowdKey | None:
    if case.together is None or case.pattern not in (*COLLECTIVE_PATTERNS, *CROWD_PATTERNS):
        return None
    return _CrowdKey(network, case.pattern, case.together.ranks, case.together.pairs, case.load)


def _crowd_curve(key: _CrowdKey, sizes: dict[int, list[Observed]], source: str) -> SuiteCurve:
    words = words_of(key.pattern)
    load = {} if key.load == "none" else {"load": key.load}
    told = f", {key.load.replace('_', ' ')}" if load else ""
    timed = words.quantity == "time"
    estimate = time_estimate if timed else bandwidth_estimate

    def point(size: int, seen: Sequence[Observed]) -> SuitePoint:
        measured = [one.measurement for one in seen if one.measurement]
        besides: dict[Besides, float] = {"mean": _mean_s(measured)} if timed else {}
        known = None if key.pattern in _WITHOUT_SIZE else size
        return SuitePoint(known, estimate(seen), 0, besides)

    return _own(
        version="",
        benchmark=key.pattern,
        title=f"{words.sentence}, {key.ranks} ranks{told}",
        what=words.sentence,
        quantity=words.quantity,
        points=tuple(point(*one) for one in sorted(sizes.items())),
        pattern=key.pattern,
        pairs=key.pairs or 1,
        ranks=key.ranks,
        settings={"network": key.network or OWN_CHOICE, **load},
        source=source,
    )
