"""Build the curves of a run, the engine's and other suites', and merge those of repeated runs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from fabricgauge.judge.stats.series import (
    Observation,
    Point,
    Series,
    bandwidth_estimate,
    find_usable,
    select_undisturbed,
    series_of,
    time_estimate,
)
from fabricgauge.model.estimate import Curve, CurvePoint, Estimate
from fabricgauge.model.groups import group_by
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    Buffers,
    Pattern,
    words_of,
)
from fabricgauge.model.plan import Purpose
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import RESULTS, Besides, Quantity, SuiteCurve, SuitePoint, TableFamily
from fabricgauge.model.words import sentences
from fabricgauge.model.words.networks import OWN_CHOICE, is_loopback

SUITE = "fabricgauge"
UNIT_RULE = "seconds and bytes, as the engine writes them"

#: Fields that all of a run's own curves share.
_engine_curve = partial(
    SuiteCurve, suite=SUITE, statistic="median", unit_rule=UNIT_RULE, first_line=0, last_line=0
)

_WITHOUT_SIZE = frozenset({"barrier", "ibarrier"})


def curves(run: Run) -> tuple[Curve, ...]:
    """Return one curve per network (or None), pattern, variant and direction, in launch order.

    These are the engine's own curves. Other suites' curves stay as their logs have them. Pairs that
    were measured again to confirm a suspicion do not count.
    """
    # The times of points that two nodes measured again.
    rechecks = {
        (network, series.about, point.message_bytes): point.time
        for network, series in _engine_series(run, "again")
        for point in series.points
    }
    return tuple(
        Curve(
            network=network,
            pattern=series.pattern,
            origin_node=series.origin,
            target_node=series.target,
            points=tuple(
                _point(series, point, rechecks.get((network, series.about, point.message_bytes)))
                for point in series.points
            ),
            variant=series.variant,
            buffers=series.buffers,
        )
        for network, series in _engine_series(run, "measure")
    )


def _engine_series(run: Run, purpose: Purpose) -> Iterator[tuple[str | None, Series]]:
    """Yield the series of the engine's launches for a purpose, each with its network."""
    for network in dict.fromkeys(launch.network for launch in run.launches):
        launches = [
            launch
            for launch in run.launches
            if launch.network == network and launch.purpose == purpose and not launch.curves
        ]
        yield from ((network, series) for series in series_of(launches))


def _point(series: Series, point: Point, recheck: Estimate | None) -> CurvePoint:
    times = _times(point.measurements)
    bandwidth: Estimate | None = point.bandwidth
    if series.is_latency or point.message_bytes == 0:
        bandwidth = None
    elif series.pattern == "bidirectional_bandwidth":
        rate = point.bandwidth
        twice = {"value": 2 * rate.value, "low": 2 * rate.low, "high": 2 * rate.high}
        bandwidth = replace(rate, **twice)
    if recheck is not None:  # a second measurement counts if it refutes the first
        are_supported = recheck.supported and point.time.supported
        are_apart = recheck.high < point.time.low or point.time.high < recheck.low
        recheck = recheck if are_supported and are_apart else None
    return CurvePoint(
        message_bytes=point.message_bytes,
        window=point.measurements[0].window,
        time=point.time,
        bandwidth=bandwidth,
        p99_s=percentile_s(point.measurements, 0.99),
        minimum_s=min(launch_times.minimum_s for launch_times in times),
        maximum_s=max(launch_times.maximum_s for launch_times in times),
        mean_s=_mean_s(point.measurements) or point.time.value,
        recheck=recheck,
    )


def _mean_s(measurements: Sequence[Measurement]) -> float:
    means = [launch_times.mean_s for launch_times in _times(measurements)]
    return float(np.average(means, weights=[measurement.samples for measurement in measurements]))


def _times(measurements: Sequence[Measurement]) -> list[Times]:
    return [measurement.times for measurement in measurements if measurement.times is not None]


def percentile_s(measurements: Sequence[Measurement], share: float) -> float:
    """Return a percentile over the samples of all launches, from their histograms.

    It is the lower bound of the bucket that holds it, so at most one bucket width (0.78 %) low.
    Without histograms it is the worst launch's own 99th percentile.
    """
    buckets = [bucket for measurement in measurements for bucket in measurement.histogram_ps]
    if not buckets:
        return max(launch_times.p99_s for launch_times in _times(measurements))
    lower, counts = np.array(sorted(buckets), dtype=float).T
    reached = np.cumsum(counts) >= share * counts.sum()
    return float(lower[int(np.argmax(reached))]) * 1e-12


def suite_curves(run: Run, *, settled: bool = False) -> tuple[SuiteCurve, ...]:
    """Return every curve of a run: pairs, many ranks, then other suites.

    Latency patterns give times, the others payload bandwidth; intervals are those of the engine's
    estimates. Curves of one node's loopback are left out. If ``settled``, a point that a second
    measurement refuted has the second figure, and an interval over both.
    """
    version = next((launch.header.engine for launch in run.launches if launch.header), "")
    engine_curves = (
        convert_engine_curve(curve, version, run.identity, run.plan.memory, settled=settled)
        for curve in curves(run)
        if not is_loopback(curve.network)
    )
    together = crowd_curves(run)
    foreign = (
        _with_hosts(launch, curve)
        for launch in run.launches
        for curve in merge_families(launch.curves, launch.families)
    )
    return (*(curve for curve in engine_curves if curve.points), *together, *foreign)


def merge_families(
    curves: Sequence[SuiteCurve], families: Sequence[TableFamily]
) -> tuple[SuiteCurve, ...]:
    """Return curves with one for each family of tables; a report's families have no figures.

    A table that a family would take but for its faults does not count beside hundreds of others.
    """
    known = [family for family in families if family.figures]
    if not known:
        return tuple(curves)
    from fabricgauge.model.families import merge_tables

    merged, others = merge_tables(curves, known)
    keys = {_merge_key(curve) for curve in merged}
    return (*merged, *(curve for curve in others if _merge_key(curve) not in keys))


def _settle(point: CurvePoint) -> CurvePoint:
    """Return the point with the second figure; the interval holds the first one as well."""
    recheck = point.recheck
    if recheck is None:
        return point
    low_s, high_s = min(recheck.low, point.time.low), max(recheck.high, point.time.high)
    time = replace(recheck, low=low_s, high=high_s)
    rate = point.bandwidth
    if rate is not None:
        payload = rate.value * point.time.value
        rate = replace(
            rate, value=payload / recheck.value, low=payload / high_s, high=payload / low_s
        )
    return replace(point, time=time, bandwidth=rate)


def _with_hosts(launch: Launch, curve: SuiteCurve) -> SuiteCurve:
    """Return a curve with its two nodes if we started its program ourselves."""
    ranks = (curve.origin, curve.target)
    if launch.imported or not all(0 <= rank < len(launch.nodes) for rank in ranks):
        return curve
    return replace(curve, hosts=tuple(launch.nodes[rank] for rank in ranks))


def convert_engine_curve(
    curve: Curve, version: str = "", source: str = "", memory: str = "", *, settled: bool = False
) -> SuiteCurve:
    """Return one engine curve in the form of other suites.

    ``source`` is the identity of its run. ``memory`` is where its buffers lay, a word of
    ``model.memory``. ``settled`` is as in ``suite_curves``.
    """
    points = map(_settle, curve.points) if settled else curve.points
    words = words_of(curve.pattern)
    summed = ", summed" if words.summed else ""
    description = f"{words.sentence}{summed}{f' ({curve.variant})' if curve.variant else ''}"
    ends = sentences.direction(curve.origin_node, curve.target_node, words.directions == 2)
    windows = {point.window for point in curve.points}
    window = str(*windows) if len(windows) == 1 and windows != {1} else ""
    return _engine_curve(
        version=version,
        benchmark=curve.word,
        title=f"{description}, {ends}",
        what=description,
        quantity=words.quantity,
        points=tuple(_points(points, words.quantity)),
        pattern=None if curve.variant else curve.pattern,
        directions=2 if words.summed else 1,
        ranks=2,
        settings=_list_settings(curve.network, curve.buffers, window=window, memory=memory),
        hosts=(curve.origin_node, curve.target_node),
        source=source,
    )


def _list_settings(network: str | None, buffers: Buffers, **others: str) -> dict[str, str]:
    """Return a curve's settings, without empty others and without the usual buffers."""
    named = {**others, "buffers": "" if buffers == "fewest" else buffers}
    known = {key: value for key, value in named.items() if value}
    return {"network": network or OWN_CHOICE, **known}


def _points(points: Iterable[CurvePoint], quantity: Quantity) -> Iterator[SuitePoint]:
    for point in points:
        if quantity == "time":
            besides: dict[Besides, float] = {
                "minimum": point.minimum_s, "maximum": point.maximum_s, "p99": point.p99_s,
                "mean": point.mean_s,
            }  # fmt: skip
            yield SuitePoint(point.message_bytes, point.time, 0, besides)
        elif point.bandwidth is not None:
            mean = point.bandwidth.value * point.time.value / point.mean_s
            yield SuitePoint(point.message_bytes, point.bandwidth, 0, {"mean": mean})


class _CrowdKey(NamedTuple):
    network: str | None
    pattern: Pattern
    ranks: int
    pairs: int
    load: str
    buffers: Buffers


def crowd_curves(run: Run) -> Iterator[SuiteCurve]:
    """Yield one curve per network, pattern, number of ranks and of pairs, and load.

    A time is that of one operation on the slowest rank. A rate is the payload of one pair in one
    direction.
    """
    cases: dict[_CrowdKey, dict[int, list[Observation]]] = {}
    for launch in run.launches:
        measurements = launch.measurements if launch.purpose == "measure" else ()
        for observation in find_usable(launch.number, measurements):
            case = observation.measurement
            if case is None or case.together is None:
                continue
            if case.pattern in (*COLLECTIVE_PATTERNS, *CROWD_PATTERNS):
                counts = case.together.ranks, case.together.pairs
                key = _CrowdKey(launch.network, case.pattern, *counts, case.load, case.buffers)
                cases.setdefault(key, {}).setdefault(case.message_bytes, []).append(observation)
    for key, sizes in cases.items():
        yield _crowd_curve(key, sizes, run.identity)


def _crowd_curve(key: _CrowdKey, sizes: dict[int, list[Observation]], source: str) -> SuiteCurve:
    words = words_of(key.pattern)
    load = "" if key.load == "none" else key.load
    load_words = f", {load.replace('_', ' ')}" if load else ""
    timed = words.quantity == "time"
    estimate = time_estimate if timed else bandwidth_estimate

    def point(size: int, observed: Sequence[Observation]) -> SuitePoint:
        observations = select_undisturbed(observed)
        cases = [observation.measurement for observation in observations if observation.measurement]
        besides: dict[Besides, float] = {"mean": _mean_s(cases)} if timed else {}
        message_bytes = None if key.pattern in _WITHOUT_SIZE else size
        return SuitePoint(message_bytes, estimate(observations), 0, besides)

    return _engine_curve(
        version="",
        benchmark=key.pattern,
        title=f"{words.sentence}, {key.ranks} ranks{load_words}",
        what=words.sentence,
        quantity=words.quantity,
        points=tuple(point(size, sizes[size]) for size in sorted(sizes)),
        pattern=key.pattern,
        pairs=key.pairs or 1,
        ranks=key.ranks,
        settings=_list_settings(key.network, key.buffers, load=load),
        source=source,
    )


def merge_repeats(curves: Iterable[SuiteCurve]) -> tuple[SuiteCurve, ...]:
    """Merge curves that agree in everything but their figures; sizes in ascending order.

    A size that a curve holds more than once is merged likewise.
    """
    return tuple(_merge_group(group) for group in group_by(curves, _merge_key).values())


def combine_estimates(estimates: Sequence[Estimate], apart: bool = True) -> Estimate:
    """Combine at least one estimate of the same figure; each is a launch if ``apart``.

    Estimates with intervals of their own give the hull of these, at the least of their confidences;
    bare figures give the range of the figures. The median over launches lies between the least and
    the largest of n figures with a probability of 1 - 2^(1-n), whatever their distribution: 50 %
    for two, 93.75 % for five. See Conover, Practical Nonparametric Statistics, section 3.2.
    """
    if len(estimates) == 1:
        return estimates[0]
    confidence = min(estimate.confidence for estimate in estimates)
    launches = [estimate.launches for estimate in estimates]
    return Estimate(
        value=median(estimate.value for estimate in estimates),
        low=min(estimate.low for estimate in estimates),
        high=max(estimate.high for estimate in estimates),
        confidence=confidence or 1.0 - 2.0 ** (1 - len(estimates)),
        launches=sum(launches) if apart else launches[0],
        samples=sum(estimate.samples for estimate in estimates),
    )


def _merge_key(curve: SuiteCurve) -> bytes:
    """Return what must agree; results printed beside the table are no settings."""
    settings = {key: setting for key, setting in curve.settings.items() if key not in RESULTS}
    empty = {"first_line": 0, "last_line": 0, "points": (), "failures": (), "cut_off": "",
             "source": "", "title": "", "settings": settings}  # fmt: skip
    return msgspec.json.encode(replace(curve, **empty), order="sorted")


def _merge_group(group: Sequence[SuiteCurve]) -> SuiteCurve:
    first = group[0]
    sizes: dict[int | None, list[SuitePoint]] = {}
    for curve in group:
        # A size that a curve holds more than once is no further launch.
        for size, repeats in group_by(curve.points, attrgetter("message_bytes")).items():
            sizes.setdefault(size, []).append(_merge_points(repeats, apart=False))
    points = tuple(
        _merge_points(sizes[size])
        for size in sorted(sizes, key=lambda size: (size is not None, size or 0))
    )
    if len(group) == 1:
        return replace(first, points=points)
    return replace(
        first,
        points=points,
        last_line=max(curve.last_line for curve in group),
        failures=tuple(failure for curve in group for failure in curve.failures),
        cut_off=next((curve.cut_off for curve in group if curve.cut_off), ""),
        source=", ".join(dict.fromkeys(curve.source for curve in group)),
    )


def _merge_points(points: Sequence[SuitePoint], apart: bool = True) -> SuitePoint:
    if len(points) == 1:
        return points[0]
    estimate = combine_estimates([point.estimate for point in points], apart)
    return SuitePoint(points[0].message_bytes, estimate, points[0].line)
