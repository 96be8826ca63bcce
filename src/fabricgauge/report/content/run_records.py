"""Every figure of a judged run as a row: points of curves, cases of many ranks, nodes of matrices.

Times in s, rates in bytes/s; docs/reference/report.md describes the columns.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from fabricgauge.model.curve import Curve, CurvePoint
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import NodeRank, PairAnalysis
from fabricgauge.model.suite import Quantity, SuitePoint
from fabricgauge.report.content import suites
from fabricgauge.report.content.conclusion import is_simulated, limit_bytes_s
from fabricgauge.report.content.fabric_cases import Joint, joint
from fabricgauge.report.content.suites import Told
from fabricgauge.report.content.sweep import P99_SAMPLES, pair_curves
from fabricgauge.report.interface import Cell, Records, Setting
from fabricgauge.words.patterns import words_of

COLUMNS = (
    "run", "outcome", "suite", "benchmark", "source", "network", "pattern", "origin", "target",
    "message_bytes", "window", "directions", "time_s", "time_low_s", "time_high_s",
    "bandwidth_bytes_per_s", "bandwidth_low_bytes_per_s", "bandwidth_high_bytes_per_s",
    "share_of_ceiling", "confidence", "launches", "samples", "p99_s", "minimum_s", "maximum_s",
    "bus_bandwidth_bytes_per_s", "message_rate_per_s", "overlap_share", "simulated",
    "ranks", "pairs", "load", "clock", "clock_error_s", "late_starts", "p90_s", "p999_s",
    "load_bytes_per_s", "node", "group", "sending_effect", "receiving_effect", "jitter_share",
    "worst_partner",
)  # fmt: skip

_OTHERS: dict[Quantity, str] = {
    "bus_bandwidth": "bus_bandwidth_bytes_per_s",
    "message_rate": "message_rate_per_s",
    "overlap": "overlap_share",
}


def records(judged: Judged, _setting: Setting) -> Records:
    """Our own curves, cases and nodes, then the curves of other suites."""
    run: Mapping[str, Cell] = {
        "run": judged.run.identity, "outcome": judged.overall.value,
        "simulated": int(is_simulated(judged)),
    }  # fmt: skip
    cells = chain(_own(judged), _of_many(judged), _of_suites(judged))
    rows = ({**run, **one} for one in cells)
    return Records(COLUMNS, ([row.get(column) for column in COLUMNS] for row in rows))


def _own(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    for curve in pair_curves(judged):
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        for point in curve.points:
            yield {**_of_curve(curve), **_of_point(point, limit)}


def _of_curve(curve: Curve) -> Mapping[str, Cell]:
    return {
        "suite": "fabricgauge",
        "network": curve.network,
        "pattern": curve.word,
        "origin": curve.origin_node,
        "target": curve.target_node,
        "directions": 2 if words_of(curve.pattern).summed else 1,
    }


def _of_point(point: CurvePoint, limit: float | None) -> Mapping[str, Cell]:
    bandwidth = point.bandwidth
    return {
        "message_bytes": point.message_bytes,
        "window": point.window,
        **_interval("time", "s", point.time),
        **(_interval("bandwidth", "bytes_per_s", bandwidth) if bandwidth else {}),
        "share_of_ceiling": bandwidth.value / limit if bandwidth and limit else None,
        **_counts(point.time),
        "p99_s": point.p99_s if point.time.samples >= P99_SAMPLES else None,
        "minimum_s": point.minimum_s,
        "maximum_s": point.maximum_s,
    }


def _of_suites(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    for told in suites.told(judged):
        limit = suites.ceiling_of(judged, told)
        for point in told.curve.points:
            yield {**_of_told(told), **_of_suite_point(told, point, limit)}


def _of_told(told: Told) -> Mapping[str, Cell]:
    curve = told.curve
    origin, target = curve.hosts if len(curve.hosts) == 2 else (None, None)
    return {
        "suite": f"{curve.suite} {curve.version}".strip(),
        "benchmark": curve.benchmark,
        "source": f"{curve.source}:{curve.first_line}" if curve.source else None,
        "network": told.launch.network,
        "pattern": curve.pattern,
        "origin": origin,
        "target": target,
        "directions": curve.directions,
    }


def _of_suite_point(told: Told, point: SuitePoint, limit: float | None) -> Mapping[str, Cell]:
    figure, quantity = point.estimate, told.curve.quantity
    cells: dict[str, Cell] = {"message_bytes": point.message_bytes, **_counts(figure)}
    if quantity in _OTHERS:
        cells[_OTHERS[quantity]] = figure.value
    elif quantity == "time":
        of = point.besides
        cells |= {**_interval("time", "s", figure), "p99_s": of.get("p99")}
        cells |= {"minimum_s": of.get("minimum"), "maximum_s": of.get("maximum")}
    else:
        cells |= _interval("bandwidth", "bytes_per_s", figure)
        cells["share_of_ceiling"] = figure.value / limit if limit else None
    return cells


def _interval(name: str, unit: str, estimate: Estimate) -> Mapping[str, Cell]:
    """The value, and its interval where there were samples enough for one."""
    given = estimate.confidence > 0
    return {
        f"{name}_{unit}": estimate.value,
        f"{name}_low_{unit}": estimate.low if given else None,
        f"{name}_high_{unit}": estimate.high if given else None,
    }


def _counts(estimate: Estimate) -> Mapping[str, Cell]:
    return {
        "confidence": estimate.confidence or None,
        "launches": estimate.launches,
        "samples": estimate.samples or None,
    }


def _of_many(judged: Judged) -> Iterator[Mapping[str, Cell]]:
    """Cases first, then the nodes of each matrix, worst first."""
    for case in joint(judged.run):
        yield _of_case(case)
    for analysis in judged.fabric.analyses:
        for one in analysis.ranking:
            yield {**_of_matrix(analysis), **_of_node(analysis, one)}


def _of_case(case: Joint) -> Mapping[str, Cell]:
    given = case.confidence > 0
    return {
        "suite": "fabricgauge", "network": case.network, "pattern": case.pattern,
        "message_bytes": case.message_bytes, "window": case.window, "ranks": case.ranks,
        "pairs": case.pairs or None, "load": case.load if case.load != "none" else None,
        "time_s": case.median_s, "time_low_s": case.low_s if given else None,
        "time_high_s": case.high_s if given else None, "confidence": case.confidence or None,
        "launches": case.launches, "samples": case.samples, "p90_s": case.p90_s,
        "p99_s": case.p99_s, "p999_s": case.p999_s, "minimum_s": case.minimum_s,
        "maximum_s": case.maximum_s, "bandwidth_bytes_per_s": case.bytes_per_s or None,
        "message_rate_per_s": case.messages_per_s or None, "overlap_share": case.overlap,
        "clock": case.clock, "late_starts": case.late_starts,
        "clock_error_s": case.clock_error_s if case.clock == "synchronised" else None,
        "load_bytes_per_s": case.load_bytes_per_s or None,
    }  # fmt: skip


def _of_matrix(analysis: PairAnalysis) -> Mapping[str, Cell]:
    matrix = analysis.matrix
    return {
        "suite": "fabricgauge", "network": matrix.network,
        "pattern": f"all_pairs_{matrix.quantity}", "message_bytes": matrix.message_bytes,
    }  # fmt: skip


def _of_node(analysis: PairAnalysis, one: NodeRank) -> Mapping[str, Cell]:
    is_time = analysis.matrix.quantity == "latency"
    return {
        "node": one.node, "group": one.group or None, "sending_effect": one.sending,
        "receiving_effect": one.receiving, "jitter_share": one.jitter,
        "worst_partner": one.worst_partner,
        "time_s" if is_time else "bandwidth_bytes_per_s": one.typical,
    }  # fmt: skip
