"""Give the rules a run with its evidence, and the launches of each network together."""

import math
from collections import Counter
from functools import cached_property

import msgspec

from fabricgauge.judge.ceiling.technologies import FLOORS, Floor
from fabricgauge.judge.ceiling.together import add_ceilings
from fabricgauge.judge.evidence.gathering import gather_evidence
from fabricgauge.judge.stats.series import Series, series_of
from fabricgauge.judge.thresholds import DEFAULTS, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import NetworkEvidence, RunEvidence
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import NO_PAIRS, FabricResult, PairAnalysis
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Threshold, VerdictSubject
from fabricgauge.model.words.networks import OWN_CHOICE, is_loopback, loopback_of

#: Name of the network of others' logs, if neither they nor the user name it.
NOT_STATED = "a network that was not stated"

_UNSTATED = (
    "the logs do not name the network that was measured; state it with --network, e.g."
    ' --network "25GbE mtu=9000"'
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

    def round_robins(self, series: Series, message_bytes: int) -> tuple[Measurement, ...]:
        """Return the cases behind a median over many pairs, in which every rank took part."""
        return tuple(
            case
            for launch in (self.launches if series.of_pairs else ())
            for case in launch.measurements
            if case.pattern == f"all_pairs_{series.pattern}" and case.message_bytes == message_bytes
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
    def has_rdma_ports(self) -> bool:
        return not isinstance(self.network, Skipped) and self.network.has_rdma_ports

    @property
    def technology(self) -> str:
        """Return the network's technology; empty if unknown."""
        return "" if isinstance(self.network, Skipped) else self.network.technology

    @property
    def medium(self) -> Floor | None:
        """Return the medium that a message has to cross in the network; None if unknown."""
        return FLOORS.get(self.technology)

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
        return tuple(
            f"launch {planned.number} {name}"
            for planned in self.planned
            for finished in [_done(planned, launches_of(self, planned.number))]
            for name in case_names(planned)
            if name not in finished
        )

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


def launches_of(subject: Subject, number: int) -> tuple[Launch, ...]:
    return tuple(launch for launch in subject.launches if launch.number == number)


def _done(planned: PlannedLaunch, launches: tuple[Launch, ...]) -> set[str]:
    cases = (case for launch in launches for case in launch.measurements)
    finished = {case.case for case in cases if case.status in ("ok", "skipped")}
    ended = any(launch.figures and launch.ended.status == "ok" for launch in launches)
    return finished | {planned.program} if ended else finished


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
    unpinned = "MPI was not pinned to a network"
    network: Network | Skipped = Skipped(unpinned)
    ceiling: Ceiling | Skipped = Skipped(f"{unpinned}, so no ceiling applies")
    evidence = context.evidence.find_network(name)
    if imported and name is None:
        ceiling = Skipped(_UNSTATED)
    elif name is None:
        total = add_ceilings(run.fabric, evidence, context.ceilings, context.thresholds)
        ceiling = total or ceiling
    if name is not None:
        matching = (network for network in run.fabric.networks if network.name == name)
        network = next(matching, Skipped(f"discovery found no network {name}"))
        ceiling = context.ceilings.get(name, Skipped(f"no ceiling was computed for {name}"))
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
