"""What CI systems and collectors are told of a run: a test case per verdict, key gauges.

As with the exit status, FAIL is a failure, INVALID and INCONCLUSIVE are errors, since nothing was
decided, WARN passes with its words; ``--fail-on`` makes failures of them. In a run that decided
nothing no case is a failure. A run that ends badly without a verdict that says so has a test case
of its own: a CI system must not read its suite as a pass.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import get_args

import msgspec

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.measurement import LATENCY_PATTERNS
from fabricgauge.model.pairs import PairAnalysis, Part
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.content.conclusion import headline, is_simulated, limit_bytes_s
from fabricgauge.report.content.curves import pair_curves
from fabricgauge.report.content.fabric_words import kind, unsure
from fabricgauge.report.content.tables import ordered, several
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
    cases = list(_tables(judged, setting) if several(judged) else _verdicts(judged, setting))
    whole = element(judged.overall, judged.overall, setting.fail_on)
    if judged.overall is Outcome.SKIPPED or (whole and all(one.element != whole for one in cases)):
        kind, said = judged.overall.value, headline(judged)
        cases.insert(0, TestCase("fabricgauge", "overall", element=whole, kind=kind, message=said))
    wall_s = sum(launch.ended.wall_s for launch in run.launches)
    return TestSuite(run.identity, wall_s, run.started_utc, properties, tuple(cases))


def _verdicts(judged: Judged, setting: Setting) -> Iterator[TestCase]:
    for one in judged.verdicts:
        place, name = (one.network and named(one.network)) or "run", f"{one.rule}: {one.subject}"
        made = _case(one, place, name, _sentences(one), judged, setting)
        yield msgspec.structs.replace(made, id=one.id)


def _tables(judged: Judged, setting: Setting) -> Iterator[TestCase]:
    """Worst first."""
    for one in ordered(judged):
        told = [f"{one.outcome.value}: {one.rule}: {one.summary}"]
        yield _case(one, one.network or "not stated", one.where, told, judged, setting)


def _case(
    one: Verdict | TableVerdict, place: str, name: str, told: list[str], judged: Judged,
    setting: Setting,
) -> TestCase:  # fmt: skip
    skipped = one.outcome is Outcome.SKIPPED
    found = "skipped" if skipped else element(one.outcome, judged.overall, setting.fail_on)
    told += [f"likely cause: {one.cause}"] if one.cause else []
    told += [f"next step: {one.remedy}"] if one.remedy else []
    kind = one.outcome.value if found and not skipped else ""
    return TestCase(f"fabricgauge.{place}", name, tuple(told), found, kind, one.summary)


def _sentences(verdict: Verdict) -> list[str]:
    lines = [f"{verdict.outcome.value}: {verdict.summary}"]
    if verdict.figure:
        figure = verdict.figure
        lines.append(f"figure: {of_unit(figure.value, figure.unit)}, {figure.what}")
    if verdict.threshold:
        limit = verdict.threshold
        value = of_unit(limit.value, limit.unit)
        lines.append(f"threshold: {limit.relation} {value} ({limit.origin})")
    return [*lines, *(f"evidence: {sentence}" for sentence in verdict.evidence)]


def gauges(judged: Judged, _setting: Setting) -> Iterator[Gauge]:
    """The key figures of a run."""
    run = judged.run
    yield Gauge("run_info", "The run that the figures are of.", [(_identity(judged), 1)])
    said = "When the run was started, since 1970-01-01 UTC."
    yield Gauge("run_timestamp_seconds", said, _time(run.started_utc))
    said = "When the run was judged, since 1970-01-01 UTC."
    yield Gauge("judged_timestamp_seconds", said, _time(judged.judged_utc))
    overall = [({"outcome": one.value}, float(one is judged.overall)) for one in Outcome]
    yield Gauge("outcome", "1 for the outcome of the run, 0 for all others.", overall)
    said = "How many verdicts a rule gave on a network, by outcome."
    yield Gauge("verdicts", said, _counted(judged.verdicts))
    said = "1 for each verdict; its id is the same in every run."
    yield Gauge("verdict", said, _each_verdict(judged.verdicts))
    said = "The most payload that a network can carry per direction."
    yield Gauge("ceiling_bytes_per_second", said, _ceilings(judged))
    best = list(_best(judged))
    said = "Best median bandwidth; both directions add up in bidirectional_bandwidth."
    rates = [(_labels(curve), rate) for curve, rate, _ in best]
    yield Gauge("bandwidth_bytes_per_second", said, rates)
    shares = [(_labels(curve), rate / limit) for curve, rate, limit in best if limit]
    said = "Best median bandwidth as a share of its ceiling."
    yield Gauge("bandwidth_ceiling_ratio", said, shares)
    said = "Smallest median time: half a round trip, or one put with its flush."
    yield Gauge("latency_seconds", said, _latencies(judged))
    said = "How many of a part are named at fault by all pairs."
    yield Gauge("named_at_fault", said, _named(judged))
    said = "Half round trip of the typical pair of nodes."
    yield Gauge("pairs_latency_seconds", said, _typical(judged, "latency"))
    said = "Bandwidth per direction of the typical pair of nodes."
    yield Gauge("pairs_bandwidth_bytes_per_second", said, _typical(judged, "bandwidth"))
    said = "A node's standing against the typical node: -0.75 is a quarter of its figure."
    yield Gauge("node_effect_ratio", said, _node_effects(judged))


def _identity(judged: Judged) -> Labels:
    run = judged.run
    return {
        "run": run.identity, "profile": run.plan.profile, "rules_version": judged.rules_version,
        "version": run.environment.get("fabricgauge", ""), "mpi": run.environment.get("MPI", ""),
        "virtual": str(run.fabric.virtual).lower(),
        "simulated": str(is_simulated(judged)).lower(),
    }  # fmt: skip


def _time(utc: str) -> Series:
    with suppress(ValueError):
        moment = datetime.strptime(utc, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        yield {}, moment.timestamp()


def _counted(verdicts: Sequence[Verdict]) -> Series:
    counts = Counter((one.network, one.rule, one.outcome) for one in verdicts)
    for network, rule in dict.fromkeys((one.network, one.rule) for one in verdicts):
        for outcome in Outcome:
            labels = {"network": network, "rule": rule, "outcome": outcome.value}
            yield labels, counts[network, rule, outcome]


def _each_verdict(verdicts: Sequence[Verdict]) -> Series:
    for one in verdicts:
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


def _best(judged: Judged) -> Iterator[tuple[Curve, float, float | None]]:
    """The curves of networks that have a rate, each with its best one, and the ceiling."""
    for curve in _of_networks(judged):
        rates = [one.bandwidth.value for one in curve.points if one.bandwidth]
        if rates:
            yield curve, max(rates), limit_bytes_s(judged, curve.network, curve.pattern)


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
