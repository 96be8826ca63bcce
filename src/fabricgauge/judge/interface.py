"""Interface of the judge: a run with its ceilings comes in, verdicts go out.

A rule gets the run as a ``Context``, or each of its networks as a ``Subject``, and yields verdicts.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from typing import Protocol

import msgspec
from msgspec.structs import replace

from fabricgauge.judge.ceiling.technologies import TECHNOLOGIES, Floor, add_ceilings
from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.judge.stats.series import Point, Series, series_of
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import NO_PAIRS, FabricResult, PairAnalysis
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.request import INSIDE_NODES
from fabricgauge.model.run import CountersAround, Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Threshold, Verdict, VerdictSubject, identity
from fabricgauge.model.words import sentences
from fabricgauge.model.words.networks import OWN_CHOICE, is_loopback, loopback_of

#: Name of the network of others' logs, if neither they nor the user name it.
NOT_STATED = "a network that was not stated"

_UNSTATED = (
    "the logs do not name the network that was measured; state it with --network, e.g."
    ' --network "25GbE mtu=9000"'
)
#: Why rules on latency and streams of pairs have nothing to judge; collectives have other rules.
NO_SERIES = "no latency and no stream between two nodes was measured"
UNPLACED = "ranks of one node exchange messages through memory, and the log does not name the nodes"
STATE_NODES = (
    "state the node of each rank, in rank order: fabricgauge import FILE --hosts c1,c1,c2,c2"
)


class Context(msgspec.Struct, frozen=True, dict=True):
    """All input of a rule; ``ceilings`` are by network name.

    ``fabric`` is the analysis of the matrices of all pairs, if pairs of many nodes were measured.
    ``known`` is the run's evidence, if it has been gathered already.
    """

    run: Run
    ceilings: dict[str, Ceiling | Skipped]
    thresholds: Thresholds = DEFAULTS
    fabric: FabricResult = NO_PAIRS
    known: RunEvidence | None = None

    @cached_property
    def evidence(self) -> RunEvidence:
        return gather_evidence(self.run) if self.known is None else self.known

    @cached_property
    def subjects(self) -> "tuple[Subject, ...]":
        """Return one subject per planned or measured network, in the plan's order."""
        launches: tuple[PlannedLaunch | Launch, ...]
        launches = (*self.run.plan.launches, *self.run.launches)
        names = dict.fromkeys(
            launch.network for launch in launches if not is_loopback(launch.network)
        )
        return tuple(_subject(self, name) for name in names)


class Subject(msgspec.Struct, frozen=True, dict=True):
    """A network (or MPI's own choice) with its plan and its measurements.

    ``evidence`` comes from the records of its launches, ``loopbacks`` are reference launches on
    single nodes of the subject. ``pairs`` are the analyses of the matrices of all its pairs. With
    them, ``series`` are those of the pairs without a named part. ``again`` are the series of pairs
    that were measured again.
    """

    context: Context
    name: str
    network: Network | Skipped
    ceiling: Ceiling | Skipped
    planned: tuple[PlannedLaunch, ...]
    launches: tuple[Launch, ...]
    loopbacks: tuple[Launch, ...]
    evidence: NetworkEvidence
    pairs: tuple[PairAnalysis, ...] = ()

    @property
    def run(self) -> Run:
        return self.context.run

    def limit(self, name: str) -> float:
        return self.context.thresholds.value(name)

    def cases(self, *patterns: Pattern) -> Iterator[tuple[Launch, Measurement]]:
        """Yield the cases that ended well; only those of ``patterns``, if there are any."""
        for launch in self.launches:
            for case in launch.completed:
                if not patterns or case.pattern in patterns:
                    yield launch, case

    def round_robins(self, series: Series, message_bytes: int) -> tuple[Measurement, ...]:
        """Return the cases behind a median over many pairs, in which every rank took part."""
        return tuple(
            case
            for launch in (self.launches if series.of_pairs else ())
            for case in launch.measurements
            if case.pattern == f"all_pairs_{series.pattern}" and case.message_bytes == message_bytes
        )

    def around(self, point: Point) -> tuple[tuple[Launch, CountersAround], ...]:
        """Return another suite's launches behind a figure, with the counters around each."""
        numbers = {
            observation.launch for observation in point.observed if observation.measurement is None
        }
        return tuple(
            (launch, launch.around)
            for launch in self.launches
            if launch.number in numbers and launch.around is not None
        )

    def threshold(self, name: str, relation: str = "at least") -> Threshold:
        """Return the limit as a verdict quotes it; ``relation`` is e.g. "at most"."""
        limit = self.context.thresholds.limits[name]
        return Threshold(limit.value, limit.unit, relation, f"{name}, {limit.origin}")

    @property
    def about(self) -> VerdictSubject:
        return VerdictSubject("network", self.name)

    @property
    def imported(self) -> bool:
        """Check whether all of it comes from imported logs, which are then the only evidence."""
        return bool(self.launches) and all(launch.imported for launch in self.launches)

    @property
    def claimed(self) -> bool:
        """Check whether the figures claim to be a network's; without a stated network they do not.

        The first ranks of a larger job do not either: they are usually on one node.
        """
        if not self.imported:
            return True
        return not isinstance(self.network, Skipped) and not self.unknown_part

    @property
    def is_inside_node(self) -> bool:
        """True for copies that programs of a single node made, which no network carries."""
        return bool(self.curves) and all(curve.suite in INSIDE_NODES for curve in self.curves)

    @property
    def unknown_part(self) -> str:
        """Return ``2 of 64`` if that many processes took part in each curve, on unknown nodes."""
        parts = {
            curve.name_unplaced_ranks(launch.hosts_of(curve))
            for launch in self.launches
            for curve in launch.curves
        }
        return min(parts) if parts and "" not in parts else ""

    @property
    def by_suite(self) -> bool:
        """Check whether another suite's programs measured it."""
        return any(launch.curves for launch in self.launches)

    @property
    def by_collectives(self) -> bool:
        """Check whether a suite's collectives measured the pairs; they have their own limits."""
        return self.by_suite and not any(curve.evidence.rank_pairs for curve in self.curves)

    @cached_property
    def beside_others(self) -> frozenset[int]:
        """Return the numbers of a suite's launches that overlapped, by their counters' times."""
        spans = [
            (min(times), max(times), launch.number)
            for launch in self.launches
            if launch.around
            and (times := [t for c in launch.around.counters for t in c.read_utc_s])
        ]
        return frozenset(
            number
            for begin, end, number in spans
            if any(
                second != number and first < end and begin < last for first, last, second in spans
            )
        )

    @cached_property
    def sharing(self) -> int:
        """Return the number of streams of a round robin on a node's link: all its ranks measure."""
        return max(
            (
                min(max(Counter(launch.nodes).values()), case.concurrent or len(launch.nodes))
                for launch in self.planned
                for case in launch.cases
                if case.pattern == "all_pairs_bandwidth"
            ),
            default=1,
        )

    @property
    def rails(self) -> int:
        """Return the number of links that a node has in the network; 1 if unknown."""
        return 1 if isinstance(self.network, Skipped) else self.network.rails

    @property
    def has_rdma_ports(self) -> bool:
        return not isinstance(self.network, Skipped) and self.network.has_rdma_ports

    @property
    def technology(self) -> str:
        """Return the network's technology; empty if unknown."""
        return "" if isinstance(self.network, Skipped) else self.network.technology

    @property
    def medium(self) -> Floor | None:
        """Return the medium that a message has to cross in the network; None if unknown."""
        technology = TECHNOLOGIES.get(self.technology)
        return technology and technology.floor

    def crossed_medium(self, foreign: SuiteCurve | None) -> Floor:
        """Return the medium that a message crossed; TCP only if TCP carried the payload.

        Other suites show no connections: there the log's own transport counts, or else the
        network's usual one. The transport of one log does not count for the others.
        """
        medium = self.medium or "rdma"  # the quickest adapter if none is known
        if foreign is None:
            if self.evidence.over_tcp:
                return "tcp"
            return "rdma" if medium == "tcp" else medium
        if foreign.transport == "tcp":
            return "tcp"
        return "rdma" if (medium, foreign.transport) == ("tcp", "rdma") else medium

    @cached_property
    def shared_nodes(self) -> str:
        """Return a sentence if some unplaced ranks are quicker than the network, else empty.

        If all of them are, it is not their places: the network is another than stated.
        """
        if isinstance(self.ceiling, Skipped) or not self._has_unplaced_ranks:
            return ""
        least_s = self.limit(f"floor.{self.crossed_medium(None)}")
        most = self.ceiling.payload_bytes_per_s * (1 + self.limit("above-ceiling.tolerance"))
        quick = 0
        for matrix in (analysis.matrix for analysis in self.pairs):
            values = matrix.values
            is_quick = values < least_s if matrix.quantity == "latency" else values > most
            count = int(is_quick.sum())
            quick = max(quick, count if count < (values > 0).sum() else 0)
        if not quick:
            return ""
        return f"ranks share a node: {quick:,} directed pairs are quicker than the network"

    @property
    def _has_unplaced_ranks(self) -> bool:
        return self.imported and any(
            curve.evidence.rank_pairs.ranks
            not in (len(launch.hosts_of(curve)), len(curve.evidence.rank_nodes))
            for launch in self.launches
            for curve in launch.curves
            if curve.evidence.rank_pairs
        )

    @property
    def curves(self) -> tuple[SuiteCurve, ...]:
        """Return all curves of other suites' output, also those that cannot be judged."""
        return tuple(curve for launch in self.launches for curve in launch.curves)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        measured = series_of([launch for launch in self.launches if launch.purpose == "measure"])
        if self.by_collectives or not self.pairs:
            return measured
        from fabricgauge.judge.localise.typical import typical_series

        return (*typical_series(self.pairs), *measured)

    @cached_property
    def again(self) -> tuple[Series, ...]:
        return series_of([launch for launch in self.launches if launch.purpose == "again"])

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Return the planned cases without a result; "not applicable" is a result as well.

        A launch of another suite is one case: it is done once it ended well with figures.
        """
        missing: list[str] = []
        for planned in self.planned:
            launches = [launch for launch in self.launches if launch.number == planned.number]
            cases = (case for launch in launches for case in launch.measurements)
            finished = {case.case for case in cases if case.status in ("ok", "skipped")}
            if any(launch.figures and launch.ended.status == "ok" for launch in launches):
                finished.add(planned.program)
            missing += [
                f"launch {planned.number} {name}"
                for name in case_names(planned)
                if name not in finished
            ]
        return tuple(missing)

    @property
    def burst_bytes(self) -> int:
        """Return the burst of a token bucket; 0 without a bucket."""
        return 0 if isinstance(self.ceiling, Skipped) else self.ceiling.burst_bytes

    @property
    def burst_cap_bytes_per_s(self) -> float:
        """Return the ceiling if a token bucket's burst may show more, else infinity."""
        if isinstance(self.ceiling, Skipped) or not self.burst_bytes:
            return math.inf
        return self.ceiling.payload_bytes_per_s

    def of(self, *patterns: Pattern) -> tuple[Series, ...]:
        """Return the series of these patterns without a variant, such as a fence or threads."""
        return tuple(
            series for series in self.series if series.pattern in patterns and not series.variant
        )


def describe_rest(run: Run, network: str) -> str:
    """Return a clause on the rest of a network whose faulty nodes could not be measured."""
    network_launches = (launch for launch in run.launches if (launch.network or "") == network)
    finished = [launch for launch in network_launches if launch.completed or launch.figures]
    if not finished:
        return "nothing else could be measured"
    # Two nodes that broke off in mid-run leave no rest.
    has_rest = len({node for launch in finished for node in launch.nodes}) > 2
    return "the rest was measured without it" if has_rest else "nothing more could be measured"


def case_names(planned: PlannedLaunch) -> tuple[str, ...]:
    return (planned.program,) if planned.program else tuple(case.name for case in planned.cases)


def _subject(context: Context, name: str | None) -> Subject:
    run = context.run
    launches = tuple(launch for launch in run.launches if launch.network == name)
    planned = tuple(launch for launch in run.plan.launches if launch.network == name)
    all_launches: tuple[PlannedLaunch | Launch, ...] = (*planned, *launches)
    nodes = {node for launch in all_launches for node in launch.nodes}
    imported = any(launch.imported for launch in launches)
    network: Network | Skipped
    ceiling: Ceiling | Skipped
    evidence = context.evidence.find_network(name)
    if name is not None:
        matching = (network for network in run.fabric.networks if network.name == name)
        network = next(matching, Skipped(f"discovery found no network {name}"))
        ceiling = context.ceilings.get(name, Skipped(f"no ceiling was computed for {name}"))
    else:
        network = Skipped("MPI was not pinned to a network")
        ceiling = Skipped(_UNSTATED if imported else f"{network.reason}, so no ceiling applies")
        if not imported:
            total = add_ceilings(run.fabric, evidence, context.ceilings, context.thresholds)
            ceiling = total or ceiling
    return Subject(
        context=context,
        name=(NOT_STATED if imported else OWN_CHOICE) if name is None else name,
        network=network,
        ceiling=ceiling,
        planned=planned,
        launches=launches,
        loopbacks=tuple(
            launch
            for launch in run.launches
            if launch.network == loopback_of(name or "")
            or (is_loopback(launch.network) and nodes.issuperset(launch.nodes))
        ),
        evidence=evidence,
        pairs=tuple(
            analysis
            for analysis in context.fabric.analyses
            if analysis.matrix.network == (name or "")
        ),
    )


def worst(outcomes: Iterable[Outcome], *, empty: Outcome) -> Outcome:
    """Return the outcome that takes precedence (see ``Outcome``); ``empty`` without outcomes."""
    return min(outcomes, key=lambda outcome: outcome.rank, default=empty)


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict that takes precedence, of equal ones that with the largest figure."""

    def precedence(verdict: Verdict) -> tuple[int, float]:
        return verdict.outcome.rank, -verdict.figure.value if verdict.figure else 0.0

    return min(verdicts, key=precedence, default=None)


def by_network(network_outcomes: Iterable[tuple[str, Outcome]]) -> set[Outcome]:
    """Return the worst outcome of each network, or only FAIL if one network fails.

    On one network INVALID outranks FAIL: figures of another path prove no fault. Among
    networks FAIL comes first: a proved fault of one network does not depend on the others.
    """
    outcomes_by_network: dict[str, list[Outcome]] = {}
    for network, outcome in network_outcomes:
        outcomes_by_network.setdefault(network, []).append(outcome)
    outcomes = {worst(same, empty=Outcome.INCONCLUSIVE) for same in outcomes_by_network.values()}
    return {Outcome.FAIL} if Outcome.FAIL in outcomes else outcomes


#: A rule's result for a subject: one verdict, several, or the reason why there is none.
Verdicts = Verdict | Skipped | Iterable[Verdict]
Judge = Callable[[Context], tuple[Verdict, ...]]


def judge_run(rule: str) -> Callable[[Callable[[Context], Verdicts]], Judge]:
    """Return a judge from a function that yields a rule's results on a whole run."""
    return lambda find: (
        lambda context: tuple(_verdicts(rule, partial(find, context), VerdictSubject()))
    )


def judge_networks(rule: str) -> Callable[[Callable[[Subject], Verdicts]], Judge]:
    """Return a judge from a function that yields a rule's results on one network."""
    return lambda find: (
        lambda context: tuple(
            judged
            for subject in context.subjects
            for judged in _verdicts(rule, partial(find, subject), subject.about)
        )
    )


def _verdicts(
    rule: str, find: Callable[[], Verdicts], default: VerdictSubject
) -> Iterator[Verdict]:
    """Yield a rule's verdicts; an error ends those of this subject alone."""
    try:
        results = find()
        if isinstance(results, Skipped):
            results = Verdict(Outcome.SKIPPED, results.reason)
        for result in (results,) if isinstance(results, Verdict) else results:
            yield complete(rule, result, default)
    except Exception as error:
        yield report_error(rule, error, default)


def report_error(rule: str, error: Exception, about: VerdictSubject) -> Verdict:
    reason = f"the rule could not be applied ({type(error).__name__}: {error})"
    cause_and_remedy = "an error in fabricgauge", "report it with the run directory"
    verdict = Verdict(Outcome.INCONCLUSIVE, reason, None, None, (), *cause_and_remedy)
    return complete(rule, verdict, about)


def complete(rule: str, verdict: Verdict, default: VerdictSubject) -> Verdict:
    """Return a rule's verdict with its rule, subject and id; ``default`` is the judged subject."""
    about = default if verdict.about == VerdictSubject() else verdict.about
    words, identifier = _name_subject(rule, about)
    return replace(
        verdict, rule=rule, subject=words, network=about.network, id=identifier, about=about
    )


@lru_cache(maxsize=1024)
def _name_subject(rule: str, about: VerdictSubject) -> tuple[str, str]:
    """Return the subject in words, and the verdict's id; each table of a log has the same ones."""
    return sentences.name_subject(about), identity(rule, about.thing)


def doubt_faults(subject: Subject, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts; no fault is sure if a slow pair may be inside a node."""
    reason = subject.shared_nodes
    for verdict in verdicts:
        if reason and verdict.outcome in (Outcome.FAIL, Outcome.WARN):
            yield replace(verdict, outcome=Outcome.INCONCLUSIVE, cause=reason, remedy=STATE_NODES)
        else:
            yield verdict


class Rule(Protocol):
    """A module with these names is a rule; ``ID`` names its page in the docs.

    ``judge`` returns one verdict for each subject (network, node, direction) that the rule judges.
    A rule that knows consequences of its verdicts, or their causes, also has
    ``find_consequences(context, verdicts)``: ids of verdicts, each with the id of its cause.
    """

    ID: str
    judge: Judge
