"""Report to CI systems, collectors and monitors: a test case per verdict, key gauges, one line.

As with the exit status, FAIL is a failure; INVALID and INCONCLUSIVE are errors, since nothing was
decided; WARN passes with its text; ``--fail-on`` makes failures of them. A run that decided nothing
has no failed case. A bad run without a bad verdict gets a test case of its own: a CI system must
not read its suite as a pass.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from typing import get_args

import msgspec

from fabricgauge.model.answer import Form, PerformanceFigure, format_answer
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Curve
from fabricgauge.model.finding import Diagnosis, Severity
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.pairs import PairAnalysis, Part
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.verdict import Outcome, Strictness, Verdict, exit_status
from fabricgauge.model.words.networks import is_loopback, named
from fabricgauge.report.content import preflight
from fabricgauge.report.content.conclusion import headline, is_simulated, limit_bytes_s, worst_first
from fabricgauge.report.content.curves import pair_curves
from fabricgauge.report.content.verdicts import has_several_tables, reasons
from fabricgauge.report.interface import Element, Gauge, Setting, TestCase, TestSuite

#: Most nodes with series of their own; more would slow a collector down.
MOST_NODES = 1024

#: The exit status of a run that decided nothing.
UNDECIDED = 3
#: JUnit's element of an outcome, by its exit status.
ELEMENTS: dict[int, Element] = {0: "", 1: "failure", UNDECIDED: "error"}

Labels = dict[str, str]
Series = Iterator[tuple[Labels, float]]


def suite(judged: Judged, setting: Setting) -> TestSuite:
    """Return one test case per verdict, with the run's identity as properties.

    Several tables of others' logs have one case each instead.
    """
    run = judged.run
    properties = {
        "run": run.identity, "overall": judged.overall.value, "headline": headline(judged),
        "started_utc": run.started_utc, "judged_utc": judged.judged_utc,
        "rules_version": judged.rules_version, "command": " ".join(run.command),
        "virtual": str(run.fabric.virtual).lower(),
        "simulated": str(is_simulated(judged)).lower(),
        "nodes": " ".join(node.name for node in run.fabric.nodes),
        "fabricgauge": run.environment.get("fabricgauge", ""),
        "MPI": run.environment.get("MPI", ""),
    }  # fmt: skip
    cases = list(_cases(judged, setting))
    element, kind = _element(judged.overall, judged, setting), judged.overall.value
    is_hidden = bool(element) and all(case.element != element for case in cases)
    if is_hidden or judged.overall is Outcome.SKIPPED:
        sentence = headline(judged)
        whole = TestCase("fabricgauge", "overall", element=element, kind=kind, message=sentence)
        cases.insert(0, whole)
    wall_s = sum(launch.ended.wall_s for launch in run.launches)
    return TestSuite(run.identity, wall_s, run.started_utc, properties, tuple(cases))


def _element(outcome: Outcome, judged: Judged, setting: Setting) -> Element:
    """Return JUnit's outcome by the run's exit status: no failure if it is 3."""
    status = exit_status(outcome, setting.fail_on)
    if exit_status(judged.overall, setting.fail_on) == UNDECIDED:
        status = UNDECIDED if exit_status(outcome) else 0
    return ELEMENTS[status]


def _cases(judged: Judged, setting: Setting) -> Iterator[TestCase]:
    """Yield a case for each verdict, or for each of several tables, worst first."""
    if has_several_tables(judged):
        for table in worst_first(judged.tables):
            place = table.network or "not stated"
            yield _case(table, place, table.where, f"{table.rule}: ", judged, setting)
        return
    for verdict in judged.verdicts:
        place = (verdict.network and named(verdict.network)) or "run"
        case = _case(verdict, place, f"{verdict.rule}: {verdict.subject}", "", judged, setting)
        yield msgspec.structs.replace(case, id=verdict.id)


def _case(
    verdict: Verdict | TableVerdict, place: str, name: str, prefix: str, judged: Judged,
    setting: Setting,
) -> TestCase:  # fmt: skip
    skipped = verdict.outcome is Outcome.SKIPPED
    element = "skipped" if skipped else _element(verdict.outcome, judged, setting)
    details = (f"{label.lower()}: {line}" for label, texts in reasons(verdict) for line in texts)
    lines = (f"{verdict.outcome.value}: {prefix}{verdict.summary}", *details)
    kind = verdict.outcome.value if element and not skipped else ""
    return TestCase(f"fabricgauge.{place}", name, lines, element, kind, verdict.summary)


def _identity(judged: Judged) -> Series:
    run = judged.run
    labels = {
        "run": run.identity, "profile": run.plan.profile, "rules_version": judged.rules_version,
        "version": run.environment.get("fabricgauge", ""), "mpi": run.environment.get("MPI", ""),
        "virtual": str(run.fabric.virtual).lower(),
        "simulated": str(is_simulated(judged)).lower(),
    }  # fmt: skip
    yield labels, 1


def _time(utc: str) -> Series:
    with suppress(ValueError):
        moment = datetime.strptime(utc, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        yield {}, moment.timestamp()


def _verdict_counts(judged: Judged) -> Series:
    verdicts = judged.verdicts
    counts = Counter((verdict.network, verdict.rule, verdict.outcome) for verdict in verdicts)
    for network, rule in dict.fromkeys((verdict.network, verdict.rule) for verdict in verdicts):
        for outcome in Outcome:
            labels = {"network": network, "rule": rule, "outcome": outcome.value}
            yield labels, counts[network, rule, outcome]


def _each_verdict(judged: Judged) -> Series:
    for verdict in judged.verdicts:
        labels = {"id": verdict.id, "network": verdict.network, "rule": verdict.rule}
        yield {**labels, "outcome": verdict.outcome.value}, 1


def _network_curves(judged: Judged) -> Iterator[tuple[Curve, Labels]]:
    for curve in pair_curves(judged):
        if not is_loopback(curve.network):
            yield curve, {
                "network": named(curve.network), "pattern": curve.word,
                "origin": curve.origin_node, "target": curve.target_node,
            }  # fmt: skip


def _best(judged: Judged, share: bool = False) -> Series:
    """Yield the best rate of each curve with a rate, or its share of the ceiling."""
    for curve, labels in _network_curves(judged):
        rates = [point.bandwidth.value for point in curve.points if point.bandwidth]
        limit = limit_bytes_s(judged, curve.network, curve.pattern) if share else 1.0
        if rates and limit:
            yield labels, max(rates) / limit


def _latencies(judged: Judged) -> Series:
    for curve, labels in _network_curves(judged):
        if curve.pattern in LATENCY_PATTERNS and curve.points:
            yield labels, min(point.time.value for point in curve.points)


def _fault_counts(judged: Judged) -> Series:
    """Yield the number of faults per kind of part: also 0, so that a series never vanishes.

    Suspects do not count: they must not wake anybody.
    """
    from fabricgauge.report.content.at_fault import find_kinds, finding_kind

    verdict_kinds = find_kinds(judged)
    for analysis in judged.fabric.analyses:
        counts = Counter(
            finding.part
            for finding in analysis.findings
            if finding_kind(analysis, finding, verdict_kinds) == "FAULT"
        )
        for part in get_args(Part):
            yield {**_matrix_labels(analysis), "part": part}, float(counts[part])


def _typical(judged: Judged, quantity: str) -> Series:
    for analysis in judged.fabric.analyses:
        if analysis.matrix.quantity == quantity:
            yield _matrix_labels(analysis), float(analysis.typical)


def _node_effects(judged: Judged) -> Series:
    """Yield each node's effect; none for fabrics of more nodes than a collector should read."""
    for analysis in judged.fabric.analyses:
        for node in analysis.ranking if len(analysis.ranking) <= MOST_NODES else ():
            labels = {**_matrix_labels(analysis), "node": node.node}
            yield {**labels, "direction": "sending"}, float(node.sending)
            yield {**labels, "direction": "receiving"}, float(node.receiving)


def _matrix_labels(analysis: PairAnalysis) -> Labels:
    matrix = analysis.matrix
    return {
        "network": matrix.network, "quantity": matrix.quantity,
        "message_bytes": str(matrix.message_bytes),
    }  # fmt: skip


def gauges(judged: Judged, _setting: Setting) -> Iterator[Gauge]:
    is_it = (({"outcome": outcome.value}, float(outcome is judged.overall)) for outcome in Outcome)
    ceilings = (
        ({"network": name}, ceiling.payload_bytes_per_s)
        for name, ceiling in judged.ceilings.items()
        if isinstance(ceiling, Ceiling)
    )
    rows: tuple[tuple[str, str, Series], ...] = (
        ("run_info", "The run of these figures.", _identity(judged)),
        ("run_timestamp_seconds", "When the run was started, since 1970-01-01 UTC.",
         _time(judged.run.started_utc)),
        ("judged_timestamp_seconds", "When the run was judged, since 1970-01-01 UTC.",
         _time(judged.judged_utc)),
        ("outcome", "1 for the outcome of the run, 0 for all others.", is_it),
        ("verdicts", "Verdicts of a rule on a network, by outcome.", _verdict_counts(judged)),
        ("verdict", "1 for each verdict; its id is the same in every run.", _each_verdict(judged)),
        ("ceiling_bytes_per_second", "Highest payload rate of a network per direction.",
         ceilings),
        ("bandwidth_bytes_per_second",
         "Best median bandwidth; both directions add up in bidirectional_bandwidth.",
         _best(judged)),
        ("bandwidth_ceiling_ratio", "Best median bandwidth as a share of its ceiling.",
         _best(judged, share=True)),
        ("latency_seconds", "Smallest median time: half a round trip, or one put with its flush.",
         _latencies(judged)),
        ("named_at_fault", "Parts that the matrices of all pairs name at fault.",
         _fault_counts(judged)),
        ("pairs_latency_seconds", "Half round trip of the typical pair of nodes.",
         _typical(judged, "latency")),
        ("pairs_bandwidth_bytes_per_second",
         "Bandwidth per direction of the typical pair of nodes.", _typical(judged, "bandwidth")),
        ("node_effect_ratio",
         "A node's standing against the typical node: -0.75 is a quarter of its figure.",
         _node_effects(judged)),
    )  # fmt: skip
    return (Gauge(*row) for row in rows)


#: Most figures of a run: a monitor stores each as a series of its own.
MOST_FIGURES = 20

#: Gauges that are figures, with their unit for a monitor and the factor to it.
_FIGURES = {
    "bandwidth_ceiling_ratio": ("%", 100.0),
    "latency_seconds": ("s", 1.0),
}


def apply_strictness(outcome: Outcome, fail_on: Collection[Strictness]) -> Outcome:
    """Return FAIL for an outcome that ``--fail-on`` counts as a failure."""
    strict = {"warn": (Outcome.WARN,), "inconclusive": (Outcome.INVALID, Outcome.INCONCLUSIVE)}
    return Outcome.FAIL if any(outcome in strict[name] for name in fail_on) else outcome


def answer_run(judged: Judged, form: Form, outcome: Outcome) -> str:
    return format_answer(form, outcome, headline(judged), _list_figures(judged))


def _list_figures(judged: Judged) -> Iterator[PerformanceFigure]:
    """Yield figures of networks; an INVALID one would be stored as if it were theirs."""
    invalid = {verdict.network for verdict in judged.verdicts if verdict.outcome is Outcome.INVALID}
    count = 0
    for gauge in gauges(judged, Setting()):
        if gauge.name not in _FIGURES:
            continue
        unit, factor = _FIGURES[gauge.name]
        for labels, value in gauge.series:
            if invalid & {"", labels["network"]}:
                continue
            count += 1
            if count > MOST_FIGURES:
                return
            ends = f"{labels['origin']}-{labels['target']}"
            label = f"{labels['network']} {labels['pattern']} {ends}"
            yield PerformanceFigure(label, factor * value, unit)


def find_outcome(diagnosis: Diagnosis) -> Outcome:
    """Return the outcome of a preflight: FAIL and WARN by its findings."""
    if not diagnosis.nodes or all(checked.skipped for checked in diagnosis.checked):
        return Outcome.INCONCLUSIVE
    severities = {finding.severity for finding in diagnosis.findings}
    if Severity.FAIL in severities:
        return Outcome.FAIL
    return Outcome.WARN if Severity.WARN in severities else Outcome.PASS


def answer_preflight(diagnosis: Diagnosis, form: Form) -> str:
    """Return the line about a preflight, with the number of findings by severity."""
    numbers = Counter(finding.severity for finding in diagnosis.findings)
    counts = [PerformanceFigure(f"{key.value} findings", numbers[key]) for key in Severity]
    return format_answer(form, find_outcome(diagnosis), preflight.conclusion(diagnosis), counts)
