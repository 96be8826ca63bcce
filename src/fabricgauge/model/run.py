"""A finished or broken-off run as input of the later stages, and as a list of runs shows it."""

from typing import Literal

import msgspec

from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.host_access import unify_hosts
from fabricgauge.model.measurement import (
    Header,
    Measurement,
    NodeCounters,
    Placement,
    ProcessorUse,
    Round,
)
from fabricgauge.model.pairs import PairPass
from fabricgauge.model.plan import Plan, Purpose
from fabricgauge.model.suite import SuiteCurve, TableFamily, UnparsedLine

#: The start of the line by which a rank of another suite's program reports its node.
RANK_PREFIX = "fabricgauge-rank "

#: ``Ended.status`` of an imported launch: only its log was read.
IMPORTED = "imported"
#: ``Ended.status`` of a launch that was broken off: by an interrupt, or because its records could
#: not be stored.
INTERRUPTED, UNSTORED = "interrupted", "unstored"


#: The kind of a change: a lost node, link or address, or a changed setting.
ChangeKind = Literal["node", "link", "address", "setting"]


class NetworkChange(msgspec.Struct, frozen=True):
    """A change of a network since discovery, in a sentence that names node and interface."""

    kind: ChangeKind
    sentence: str


class Ended(msgspec.Struct, frozen=True):
    """The end of a launch. ``message`` explains a failure to a person.

    ``changes`` are the changes of a broken launch's network since discovery: one sentence each that
    names node and interface. ``change_kinds`` are their kinds; older runs have none. ``culprits``
    are the nodes and pairs that break it. ``repeated`` says how the launcher ended the first time,
    if it was started again.
    """

    status: str
    exit_code: int | None
    message: str
    argv: tuple[str, ...]
    wall_s: float
    changes: tuple[str, ...] = ()
    culprits: tuple[Finding, ...] = ()
    change_kinds: tuple[ChangeKind, ...] = ()
    repeated: str = ""


class CountersAround(msgspec.Struct, frozen=True, tag_field="record", tag="around"):
    """Interface counters of each node right before and after a program that reads none.

    ``payload_bytes`` are, by rank, the least bytes that the program must have sent in between,
    according to its output. ``processors`` is the use of the nodes' processors over ``wall_s``: the
    ranks' share is unknown, and ``run_delay_s`` is that of all processes on the node. ``polls`` is
    true if the program keeps a processor busy when idle.
    """

    counters: tuple[NodeCounters, ...]
    payload_bytes: tuple[int, ...]
    processors: tuple[ProcessorUse, ...] = ()
    wall_s: float = 0.0
    polls: bool = True


class Launch(msgspec.Struct, frozen=True):
    """One start of the engine, or of another suite's program, with its whole output.

    Another suite's output gives ``curves``, ``families`` of further tables, and ``unparsed`` lines.
    ``around`` are the counters that
    were read before and after it, ``program`` is the plan's word for the started program.
    ``rounds`` are those of all-pairs cases, in the order of measurement. Of a stored launch they
    have no pairs: ``passes`` have those; ``passes_of`` serves both. ``purpose`` is the plan's.
    ``attempt`` numbers the programs that worked on the run. ``mixed`` are sentences on records that
    cannot be of this launch: another run's, or those of a second launch.
    """

    number: int
    network: str | None
    nodes: tuple[str, ...]
    header: Header | None
    placements: tuple[Placement, ...]
    measurements: tuple[Measurement, ...]
    ended: Ended
    not_understood: tuple[str, ...] = ()
    curves: tuple[SuiteCurve, ...] = ()
    unparsed: tuple[UnparsedLine, ...] = ()
    around: CountersAround | None = None
    program: str = ""
    rounds: tuple[Round, ...] = ()
    purpose: Purpose = "measure"
    passes: tuple[PairPass, ...] = ()
    attempt: int = 1
    mixed: tuple[str, ...] = ()
    families: tuple[TableFamily, ...] = ()

    @property
    def figures(self) -> bool:
        """True if another suite's output has at least one figure."""
        return any(curve.points for curve in self.curves)

    @property
    def has_many_pairs(self) -> bool:
        """True if it measured pairs of many ranks: in rounds, or as a log's matrix."""
        return bool(self.rounds) or any(curve.evidence.rank_pairs for curve in self.curves)

    @property
    def completed(self) -> tuple[Measurement, ...]:
        return tuple(case for case in self.measurements if case.status == "ok")

    @property
    def counted(self) -> tuple[tuple[NodeCounters, tuple[int, ...]], ...]:
        """Interface counters with the payload that all ranks sent in the same time.

        They are those of the engine's properly ended cases, or those around the whole launch of
        another suite's program.
        """
        pairs = [
            (counters, case.payload_sent_bytes)
            for case in self.completed
            for counters in case.counters
        ]
        if self.around is not None:
            payload_bytes = self.around.payload_bytes
            pairs += [(counters, payload_bytes) for counters in self.around.counters]
        return tuple(pairs)

    @property
    def all_counters(self) -> tuple[NodeCounters, ...]:
        """All nodes' counters, with those of broken cases: their errors count too."""
        case_counters = [counters for case in self.measurements for counters in case.counters]
        return (*case_counters, *(self.around.counters if self.around else ()))

    @property
    def imported(self) -> bool:
        """True if only a log of the launch was read."""
        return self.ended.status == IMPORTED

    def hosts_of(self, curve: SuiteCurve) -> tuple[str, ...]:
        """Return the hosts of an imported curve's ranks, by its log or by the import's options."""
        log_hosts = curve.hosts if len(curve.hosts) > 1 else curve.evidence.rank_hosts
        return unify_hosts(log_hosts or (self.nodes if self.imported else ()))


#: The start of a key in a run's environment; a network's name follows.
CARRIED_BY = "carried by, over "


class Run(msgspec.Struct, frozen=True):
    """All data on one run for judgement and reports.

    ``environment`` are versions, command line and settings on the head. ``preflight`` are the
    faults of nodes and networks that were found before the measurement.
    """

    identity: str
    started_utc: str
    command: tuple[str, ...]
    environment: dict[str, str]
    fabric: Fabric
    plan: Plan
    launches: tuple[Launch, ...]
    complete: bool
    notes: tuple[str, ...] = ()
    preflight: tuple[Finding, ...] = ()

    @property
    def imported(self) -> bool:
        """True if the whole run was read from logs."""
        return bool(self.launches) and all(launch.imported for launch in self.launches)

    def carried_by(self, network: str) -> str:
        """Return the transport that a network's launches reported; empty if unknown."""
        return self.environment.get(f"{CARRIED_BY}{network}", "")


class StoredRun(msgspec.Struct, frozen=True):
    """A run's kind (its verb), start, nodes and verdict; ``path`` is its directory.

    ``verdict`` is that of the day of the measurement, empty for what is not judged. ``problem`` is
    the reason why the run cannot be read, empty if it can.
    """

    path: str
    kind: str
    started_utc: str
    nodes: tuple[str, ...]
    verdict: str
    complete: bool
    problem: str = ""


class StoredRuns(msgspec.Struct, frozen=True):
    """The newest runs first; ``older`` counts the runs that are left out."""

    roots: tuple[str, ...]
    runs: tuple[StoredRun, ...]
    older: int = 0
