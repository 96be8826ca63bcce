"""A run's own curves in the form that other suites' results have."""

from collections.abc import Sequence

import msgspec

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import Besides, Quantity, SuiteCurve, SuitePoint
from fabricgauge.stats.crowd_curves import SUITE, UNIT_RULE, crowd_curves
from fabricgauge.stats.curves import curves

UNPINNED = "MPI's own choice"

#: Launches of this name ran on one node alone: a reference of the judging, no network.
LOOPBACK = "loopback:"

WHAT: dict[Pattern, str] = {
    "latency": "half round trip",
    "put_latency": "one put with its flush",
    "bandwidth": "one-way stream",
    "bidirectional_bandwidth": "streams in both directions, summed",
    "put_bandwidth": "one-way stream of puts",
    "ping_ping": "one message each way at once",
    "get_latency": "one get with its completion",
    "get_bandwidth": "one-way stream of gets",
    "accumulate_latency": "one accumulate",
    "fetch_and_op_latency": "one fetch-and-op",
    "compare_and_swap_latency": "one compare-and-swap",
    "persistent_latency": "half round trip, persistent requests",
    "persistent_bandwidth": "one-way stream, persistent requests",
    "threads_latency": "half round trip of one of several threads",
    "threads_bandwidth": "one-way stream of several threads",
}


def suite_curves(run: Run) -> tuple[SuiteCurve, ...]:
    """Every curve of a run: of pairs, of many ranks, then what other suites measured in it.

    Latency patterns give times, the others payload bandwidth; intervals are those of
    the engine's estimates. Curves of one node's loopback are left out.
    """
    version = next((one.header.engine for one in run.launches if one.header), "")
    own = (of_engine(one, version, run.identity) for one in curves(run) if _is_network(one))
    together = crowd_curves(run, UNPINNED)
    foreign = (_placed(launch, one) for launch in run.launches for one in launch.curves)
    return (*(one for one in own if one.points), *together, *foreign)


def _placed(launch: Launch, curve: SuiteCurve) -> SuiteCurve:
    """A curve with the nodes that it went between, where we started its program ourselves."""
    if launch.imported or max(curve.origin, curve.target) >= len(launch.nodes):
        return curve
    ends = (launch.nodes[curve.origin], launch.nodes[curve.target])
    return msgspec.structs.replace(curve, hosts=ends)


def of_engine(curve: Curve, version: str = "", source: str = "") -> SuiteCurve:
    """One curve of the engine; ``source`` is the identity of the run that it is from."""
    quantity: Quantity = "time" if curve.pattern in LATENCY_PATTERNS else "bandwidth"
    there = "↔" if curve.pattern in ("bidirectional_bandwidth", "ping_ping") else "→"
    what = f"{WHAT[curve.pattern]}{f' ({curve.variant})' if curve.variant else ''}"
    return SuiteCurve(
        suite=SUITE,
        version=version,
        benchmark=curve.word,
        title=f"{what}, {curve.origin_node} {there} {curve.target_node}",
        what=what,
        quantity=quantity,
        statistic="median",
        unit_rule=UNIT_RULE,
        first_line=0,
        last_line=0,
        points=_points(curve.points, quantity),
        pattern=None if curve.variant else curve.pattern,
        directions=2 if curve.pattern == "bidirectional_bandwidth" else 1,
        ranks=2,
        settings=_settings(curve),
        hosts=(curve.origin_node, curve.target_node),
        source=source,
    )


def _is_network(curve: Curve) -> bool:
    return curve.network is None or not curve.network.startswith(LOOPBACK)


def _points(points: Sequence[CurvePoint], quantity: Quantity) -> tuple[SuitePoint, ...]:
    if quantity == "time":
        return tuple(_time_point(point) for point in points)
    carried = ((point.message_bytes, point.bandwidth) for point in points)
    return tuple(SuitePoint(size, rate, 0) for size, rate in carried if rate is not None)


def _time_point(point: CurvePoint) -> SuitePoint:
    besides: dict[Besides, float] = {
        "minimum": point.minimum_s,
        "maximum": point.maximum_s,
        "p99": point.p99_s,
    }
    return SuitePoint(point.message_bytes, point.time, 0, besides)


def _settings(curve: Curve) -> dict[str, str]:
    windows = {point.window for point in curve.points}
    window = {"window": str(*windows)} if len(windows) == 1 and windows != {1} else {}
    return {"network": curve.network or UNPINNED, **window}
