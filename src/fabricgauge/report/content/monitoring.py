"""What CI systems and collectors are told of a run: a test case per verdict, key gauges.

As with the exit status, FAIL is a failure, INVALID and INCONCLUSIVE are errors, since nothing was
decided, WARN passes with its words; ``--fail-on`` makes failures of them. In a run that decided
nothing no case is a failure. A run that ends badly without a verdict that says so has a test case
of its own: a CI system must not read its suite as a pass.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import get_args

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import LATENCY_PATTERNS
from fabricgauge.model.pairs import PairAnalysis, Part
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.content.conclusion import headline, is_simulated, limit_bytes_s
from fabricgauge.report.content.fabric_words import kind, unsure
from fabricgauge.report.content.sweep import pair_curves
from fabricgauge.report.content.tables import several, test_cases
from fabricgauge.report.interface import Gauge, Setting, TestCase, TestSuite, element
from fabricgauge.words.figures import of_unit
from fabricgauge.words.networks import is_loopback, named

#: A collector that reads more series than this from one file is slowed down by it.
MOST_NODES = 1024

Labels = dict[str, str]
Series = Iterator[tuple[Labels, float]]


def suite(judged: Judged, setting: Setting) -> TestSuite:
    """One test case per verdict, with the run's identity as properties.

    Of several tables of others' logs it is one per table.
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
    each = [_case(one, judged, setting) for one in judged.verdicts]
    cases = list(test_cases(judged, setting)) if several(judged) else each
    whole = element(judged.overall, judged.overall, setting.fail_on)
    if judged.overall is Outcome.SKIPPED or (whole and all(one.element != whole for one in cases)):
        kind, said = judged.overall.value, headline(judged)
        cases.insert(0, TestCase("fabricgauge", "overall", element=whole, kind=kind, message=said))
    wall_s = sum(launch.ended.wall_s for launch in run.launches)
    return TestSuite(run.identity, wall_s, run.started_utc, properties, tuple(cases))


def _case(verdict: Verdict, judged: Judged, setting: Setting) -> TestCase:
    place = f"fabricgauge.{(verdict.network and named(verdict.network)) or 'run'}"
    skipped = verdict.outcome is Outcome.SKIPPED
    found = "skipped" if skipped else element(verdict.outcome, judged.overall, setting.fail_on)
    return TestCase(
        place, f"{verdict.rule}: {verdict.subject}", tuple(_sentences(verdict)), found,
        verdict.outcome.value if found and not skipped else "", verdict.summary, verdict.id,
    )  # fmt: skip


def _sentences(verdict: Verdict) -> list[str]:
    lines = [f"{verdict.outcome.value}: {verdict.summary}"]
    if verdict.figure:
        figure = verdict.figure
        lines.append(f"figure: {of_unit(figure.value, figure.unit)}, {figure.what}")
    if verdict.threshold:
        limit = verdict.threshold
        value = of_unit(limit.value, limit.unit)
        lines.append(f"threshold: {limit.relation} {value} ({limit.origin})")
    lines += [f"evidence: {sentence}" for sentence in verdict.evidence]
    lines += [f"likely cause: {verdict.cause}"] if verdict.cause else []
    return lines + ([f"next step: {verdict.remedy}"] if verdict.remedy else [])


def gauges(judged: Judged, _setting: Setting) -> Iterator[Gauge]:
    """The key figures of a run."""
    for name, said, series in _GAUGES:
        yield Gauge(name, said, series(judged))


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
    try:
        moment = datetime.strptime(utc, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return
    yield {}, moment.timestamp()


def _overall(judged: Judged) -> Series:
    for outcome in Outcome:
        yield {"outcome": outcome.value}, float(outcome is judged.overall)


def _verdicts(judged: Judged) -> Series:
    counts = Counter((one.network, one.rule, one.outcome) for one in judged.verdicts)
    for network, rule in dict.fromkeys((one.network, one.rule) for one in judged.verdicts):
        for outcome in Outcome:
            labels = {"network": network, "rule": rule, "outcome": outcome.value}
            yield labels, counts[network, rule, outcome]


def _each_verdict(judged: Judged) -> Series:
    for one in judged.verdicts:
        labels = {"id": one.id, "network": one.network, "rule": one.rule}
        yield {**labels, "outcome": one.outcome.value}, 1


def _ceilings(judged: Judged) -> Series:
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Ceiling):
            yield {"network": name}, ceiling.payload_bytes_per_s


def _of_networks(judged: Judged) -> Iterator[Curve]:
    return (curve for curve in pair_curves(judged) if not is_loopback(curve.network))


def _labels(curve: Curve) -> Labels:
    return {
        "network": named(curve.network), "pattern": curve.word,
        "origin": curve.origin_node, "target": curve.target_node,
    }  # fmt: skip


def _best(curve: Curve) -> float | None:
    return max((one.bandwidth.value for one in curve.points if one.bandwidth), default=None)


def _bandwidths(judged: Judged) -> Series:
    for curve in _of_networks(judged):
        best = _best(curve)
        if best is not None:
            yield _labels(curve), best


def _shares(judged: Judged) -> Series:
    for curve in _of_networks(judged):
        best = _best(curve)
        limit = limit_bytes_s(judged, curve.network, curve.pattern)
        if best is not None and limit:
            yield _labels(curve), best / limit


def _latencies(judged: Judged) -> Series:
    for curve in _of_networks(judged):
        if curve.pattern in LATENCY_PATTERNS and curve.points:
            yield _labels(curve), min(point.time.value for point in curve.points)


def _named(judged: Judged) -> Series:
    """How many of each part are named at fault: also 0, so that a series never vanishes.

    Those that a verdict only suspects are not counted: nobody is to be woken for them.
    """
    doubted = unsure(judged)
    for one in judged.fabric.analyses:
        counts = Counter(
            found.part for found in one.findings if kind(one, found, doubted) == "FAULT"
        )
        for part in get_args(Part):
            yield {**_of_matrix(one), "part": part}, float(counts[part])


def _typical(judged: Judged, quantity: str) -> Series:
    for one in judged.fabric.analyses:
        if one.matrix.quantity == quantity:
            yield _of_matrix(one), float(one.typical)


def _node_effects(judged: Judged) -> Series:
    """Each node's standing; none for fabrics of more nodes than a collector should read."""
    for one in judged.fabric.analyses:
        if len(one.ranking) <= MOST_NODES:
            for node in one.ranking:
                labels = {**_of_matrix(one), "node": node.node}
                yield {**labels, "direction": "sending"}, float(node.sending)
                yield {**labels, "direction": "receiving"}, float(node.receiving)


def _of_matrix(one: PairAnalysis) -> dict[str, str]:
    matrix = one.matrix
    return {
        "network": matrix.network, "quantity": matrix.quantity,
        "message_bytes": str(matrix.message_bytes),
    }  # fmt: skip


_GAUGES: tuple[tuple[str, str, Callable[[Judged], Series]], ...] = (
    ("run_info", "The run that the figures are of.", _identity),
    (
        "run_timestamp_seconds",
        "When the run was started, since 1970-01-01 UTC.",
        lambda judged: _time(judged.run.started_utc),
    ),
    (
        "judged_timestamp_seconds",
        "When the run was judged, since 1970-01-01 UTC.",
        lambda judged: _time(judged.judged_utc),
    ),
    ("outcome", "1 for the outcome of the run, 0 for all others.", _overall),
    ("verdicts", "How many verdicts a rule gave on a network, by outcome.", _verdicts),
    ("verdict", "1 for each verdict; its id is the same in every run.", _each_verdict),
    (
        "ceiling_bytes_per_second",
        "The most payload that a network can carry per direction.",
        _ceilings,
    ),
    (
        "bandwidth_bytes_per_second",
        "Best median bandwidth; both directions add up in bidirectional_bandwidth.",
        _bandwidths,
    ),
    ("bandwidth_ceiling_ratio", "Best median bandwidth as a share of its ceiling.", _shares),
    (
        "latency_seconds",
        "Smallest median time: half a round trip, or one put with its flush.",
        _latencies,
    ),
    (
        "named_at_fault",
        "How many of a part are named at fault by all pairs.",
        _named,
    ),
    (
        "pairs_latency_seconds",
        "Half round trip of the typical pair of nodes.",
        lambda judged: _typical(judged, "latency"),
    ),
    (
        "pairs_bandwidth_bytes_per_second",
        "Bandwidth per direction of the typical pair of nodes.",
        lambda judged: _typical(judged, "bandwidth"),
    ),
    (
        "node_effect_ratio",
        "A node's standing against the typical node: -0.75 is a quarter of its figure.",
        _node_effects,
    ),
)
