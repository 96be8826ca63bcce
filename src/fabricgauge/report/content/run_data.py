"""Write a judged run for other programs: JSON, a row for each figure, and other suites' layouts."""

from collections.abc import Iterator, Mapping
from itertools import chain

import msgspec

from fabricgauge.model.estimate import Curve, Estimate
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import PairAnalysis, matrix_keys
from fabricgauge.model.pattern import words_of
from fabricgauge.model.suite import Quantity, SuitePoint
from fabricgauge.model.verdict import finding_subject, identity, number_repeats
from fabricgauge.model.words.figures import half_width
from fabricgauge.model.words.networks import is_loopback, named
from fabricgauge.report.content import suites
from fabricgauge.report.content.cases import concurrent_cases
from fabricgauge.report.content.conclusion import SIMULATED, headline, is_simulated, limit_bytes_s
from fabricgauge.report.content.curves import (
    P99_SAMPLES,
    direction,
    pair_curves,
    point_throughput,
)
from fabricgauge.report.interface import (
    Cell,
    ConcurrentCase,
    Layout,
    OneLine,
    Records,
    Setting,
    versioned,
)

#: The file of the run directory that holds the matrices.
MATRICES = "matrices.npz"


def data(judged: Judged, _setting: Setting) -> OneLine:
    """Return everything on one line: histograms would fill a line per number otherwise.

    docs/development/report-fields.md describes each field. All quantities are bytes, seconds, bit/s
    and bytes/s, as in the model.
    """
    # Every pair of every round would be most of the document; the matrices hold them.
    run, analyses = judged.run, judged.fabric.analyses
    bare = tuple(msgspec.structs.replace(launch, rounds=(), passes=()) for launch in run.launches)
    keys = matrix_keys([analysis.matrix for analysis in analyses])
    return OneLine(versioned(
        "report", "1.8", overall=judged.overall, headline=headline(judged),
        virtual=run.fabric.virtual,
        **_fields(judged, "judged_utc", "rules_version", "verdicts", "ceilings", "curves"),
        run=msgspec.structs.replace(run, launches=bare), against=judged.against,
        simulated=is_simulated(judged), matrices=list(map(_matrix, analyses, keys)),
        together=concurrent_cases(run), wire=judged.ledgers, tables=judged.tables,
        families=judged.families,
        emulated=run.fabric.emulated,
    ))  # fmt: skip


def _matrix(analysis: PairAnalysis, key: str) -> dict[str, object]:
    """Return one matrix without its cells: the place of the cells, and the findings.

    ``unit`` is that of every figure of the quantity. ``array`` is the name under which ``file``
    holds the values; ``between`` has null if nothing was measured. Each finding has an id that is
    the same in other runs and unique within the run.
    """
    matrix = analysis.matrix
    network = named(matrix.network or None)
    ids = number_repeats(
        identity("outliers", finding_subject(network, finding)) for finding in analysis.findings
    )
    findings = zip(analysis.findings, ids, strict=True)
    return {
        **_fields(matrix, "network", "quantity", "message_bytes"),
        "unit": "s" if matrix.quantity == "latency" else "bytes/s",
        "file": MATRICES, "array": f"{key}.values",
        **_fields(matrix, "nodes", "coverage"),
        **_fields(analysis, "typical", "noise", "grouped_by", "groups"),
        "between": analysis.between.tolist(),
        **_fields(analysis, "order", "ranking", "spectrum"),
        "findings": [{**msgspec.structs.asdict(finding), "id": name} for finding, name in findings],
        "suspects": analysis.suspects,
    }  # fmt: skip


def _fields(struct: msgspec.Struct, *names: str) -> dict[str, object]:
    return {name: getattr(struct, name) for name in names}


COLUMNS = (
    "run", "outcome", "suite", "benchmark", "source", "network", "pattern", "origin", "target",
    "message_bytes", "window", "directions", "time_s", "time_low_s", "time_high_s",
    "bandwidth_bytes_per_s", "bandwidth_low_bytes_per_s", "bandwidth_high_bytes_per_s",
    "share_of_ceiling", "confidence", "launches", "samples", "p99_s", "minimum_s", "maximum_s",
    "bus_bandwidth_bytes_per_s", "message_rate_per_s", "overlap_share", "simulated",
    "ranks", "pairs", "load", "clock", "clock_error_s", "late_starts", "p90_s", "p999_s",
    "load_bytes_per_s", "node", "group", "sending_effect", "receiving_effect", "jitter_share",
    "worst_partner", "throughput_bytes_per_s",
)  # fmt: skip

_OTHERS: dict[Quantity, str] = {
    "bus_bandwidth": "bus_bandwidth_bytes_per_s",
    "message_rate": "message_rate_per_s",
    "overlap": "overlap_share",
}


def records(judged: Judged, _setting: Setting) -> Records:
    """Return our own curves, cases and nodes, then the curves and families of other suites."""
    run: _Cells = {
        "run": judged.run.identity, "outcome": judged.overall.value,
        "simulated": int(is_simulated(judged)),
    }  # fmt: skip
    cells = chain(_curves(judged), _concurrent_rows(judged), _suites(judged), _families(judged))
    rows = ({**run, **cell} for cell in cells)
    return Records(COLUMNS, ([row.get(column) for column in COLUMNS] for row in rows))


_Cells = Mapping[str, Cell]


def _curves(judged: Judged) -> Iterator[_Cells]:
    for curve in pair_curves(judged):
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        of_curve: _Cells = {
            "suite": "fabricgauge", "network": curve.network, "pattern": curve.word,
            "origin": curve.origin_node, "target": curve.target_node,
            "directions": 2 if words_of(curve.pattern).summed else 1,
        }  # fmt: skip
        for point in curve.points:
            yield {
                **of_curve, **_interval("time", "s", point.time), **_rate(point.bandwidth, limit),
                **_counts(point.time), "message_bytes": point.message_bytes,
                "window": point.window, "minimum_s": point.minimum_s, "maximum_s": point.maximum_s,
                "p99_s": point.p99_s if point.time.samples >= P99_SAMPLES else None,
                "throughput_bytes_per_s": point_throughput(curve, point),
            }  # fmt: skip


def _suites(judged: Judged) -> Iterator[_Cells]:
    for logged in suites.logged_curves(judged):
        limit, curve = suites.ceiling_of(judged, logged), logged.curve
        origin, target = curve.hosts if len(curve.hosts) == 2 else (None, None)
        of_curve: _Cells = {
            "suite": f"{curve.suite} {curve.version}".strip(), "benchmark": curve.benchmark,
            "source": curve.place if curve.source else None,
            "network": logged.launch.network, "pattern": curve.pattern, "origin": origin,
            "target": target, "directions": curve.directions,
        }  # fmt: skip
        for point in curve.points:
            figure = _figure(curve.quantity, point, limit)
            counts = _counts(point.estimate)
            yield {**of_curve, "message_bytes": point.message_bytes, **counts, **figure}


def _families(judged: Judged) -> Iterator[_Cells]:
    """Yield the median of each family's tables at each size; ``launches`` counts the tables."""
    for family in judged.families:
        of_family: _Cells = {
            "suite": family.suite, "benchmark": family.benchmark, "network": family.network or None,
            "source": f"{family.source}:{family.first_line}-{family.last_line}",
            "launches": family.tables,
        }  # fmt: skip
        for curve in family.curves:
            for point in curve.points:
                estimate = Estimate(point.median, point.median, point.median, 0.0, 1, 0)
                figure = _figure(curve.quantity, SuitePoint(point.message_bytes, estimate, 0), None)
                yield {**of_family, "message_bytes": point.message_bytes, **figure}


def _figure(quantity: Quantity, point: SuitePoint, limit: float | None) -> _Cells:
    figure, besides = point.estimate, point.besides
    if quantity in _OTHERS:
        return {_OTHERS[quantity]: figure.value}
    if quantity == "time":
        tails = {f"{name}_s": besides.get(name) for name in ("p99", "minimum", "maximum")}
        return {**_interval("time", "s", figure), **tails}
    return _rate(figure, limit)


def _rate(rate: Estimate | None, limit: float | None) -> _Cells:
    if rate is None:
        return {}
    share = rate.value / limit if limit else None
    return {**_interval("bandwidth", "bytes_per_s", rate), "share_of_ceiling": share}


def _interval(name: str, unit: str, estimate: Estimate) -> _Cells:
    """Return the value, and its interval if the samples suffice for one."""
    ends = (estimate.low, estimate.high) if estimate.confidence > 0 else (None, None)
    names = (f"{name}_{unit}", f"{name}_low_{unit}", f"{name}_high_{unit}")
    return dict(zip(names, (estimate.value, *ends), strict=True))


def _counts(estimate: Estimate) -> _Cells:
    confidence, samples = estimate.confidence or None, estimate.samples or None
    return {"confidence": confidence, "launches": estimate.launches, "samples": samples}


def _concurrent_rows(judged: Judged) -> Iterator[_Cells]:
    """Yield cases first, then the nodes of each matrix, worst first."""
    yield from map(_case_cells, concurrent_cases(judged.run))
    for analysis in judged.fabric.analyses:
        matrix = analysis.matrix
        time_or_rate = "time_s" if matrix.quantity == "latency" else "bandwidth_bytes_per_s"
        for node in analysis.ranking:
            yield {
                "suite": "fabricgauge", "network": matrix.network,
                "pattern": f"all_pairs_{matrix.quantity}", "message_bytes": matrix.message_bytes,
                "node": node.node, "group": node.group or None, "sending_effect": node.sending,
                "receiving_effect": node.receiving, "jitter_share": node.jitter,
                "worst_partner": node.worst_partner, time_or_rate: node.typical,
            }  # fmt: skip


def _case_cells(case: ConcurrentCase) -> _Cells:
    """Return a case's cells; most columns are called as its fields. An unknown value is empty."""
    has_interval = case.confidence > 0
    return {
        **msgspec.structs.asdict(case), "suite": "fabricgauge", "pairs": case.pairs or None,
        "load": case.load if case.load != "none" else None, "confidence": case.confidence or None,
        "time_s": case.median_s, "time_low_s": case.low_s if has_interval else None,
        "time_high_s": case.high_s if has_interval else None,
        "bandwidth_bytes_per_s": case.bytes_per_s or None,
        "message_rate_per_s": case.messages_per_s or None, "overlap_share": case.overlap,
        "clock_error_s": case.clock_error_s if case.clock == "synchronised" else None,
        "load_bytes_per_s": case.load_bytes_per_s or None,
    }  # fmt: skip


def layout(judged: Judged, setting: Setting) -> Layout:
    """Return curves of networks, of all patterns or of the requested one.

    Tables that name no network have no place for a node's loopback, nor for what the suites define
    otherwise, such as epochs other than a flush.
    """
    remarks = (
        f"run {judged.run.identity}, started {judged.run.started_utc}",
        *((SIMULATED,) if is_simulated(judged) else ()),
        f"verdict {judged.overall.value}: {headline(judged)}",
    )
    curves = tuple(
        (_table_remark(curve), curve)
        for curve in judged.curves
        if curve.points and not is_loopback(curve.network)
        and setting.pattern in ("", curve.pattern) and not curve.variant
    )  # fmt: skip
    version = judged.run.environment.get("fabricgauge", "of an unknown version")
    return Layout(version, remarks, curves, tuple(_crowds(judged, setting.pattern)))


def _crowds(judged: Judged, pattern: str) -> Iterator[tuple[str, tuple[ConcurrentCase, ...]]]:
    """Yield the cases of each pattern, number of ranks and of pairs; loads are no suite's."""
    cases = [
        case
        for case in concurrent_cases(judged.run)
        if case.load == "none" and pattern in ("", case.pattern)
    ]
    groups = group_by(cases, lambda case: (case.network, case.pattern, case.ranks, case.pairs))
    for (network, _, ranks, _), group in groups.items():
        clocks = ", ".join({case.clock for case in group})
        yield f"{named(network)}, {ranks:,} ranks, clock {clocks}", group


def _table_remark(curve: Curve) -> str:
    """Return what a table of the suite lacks: network, nodes, window, width of the interval."""
    last, window = curve.points[-1], max(point.window for point in curve.points)
    streams = f", window {window}" if window > 1 else ""
    interval = f"; interval at the largest size {half_width(last.bandwidth or last.time)}"
    return f"{named(curve.network)}, {direction(curve)}{streams}{interval}"
