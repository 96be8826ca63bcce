"""A finished or broken-off run as the later stages see it."""

from typing import Literal

import msgspec

from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding
from fabricgauge.model.hosts import unify_hosts
from fabricgauge.model.measurement import Header, Measurement, NodeCounters, Placement, ProcessorUse
from fabricgauge.model.plan import Plan, Purpose
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.model.together import Round

#: How the line begins by which a rank of another suite's program says where it runs.
RANK_PREFIX = "fabricgauge-rank "

#: ``Ended.status`` of a launch that others made and whose log was read.
IMPORTED = "imported"
#: The same of a launch that was broken off: by an interrupt, or because its records could not be
#: stored.
INTERRUPTED, UNSTORED = "interrupted", "unstored"


#: What is lost: a node's answer, a link, an interface's address; or a setting is another.
ChangeKind = Literal["node", "link", "address", "setting"]


class NetworkChange(msgspec.Struct, frozen=True):
    """What a network lost since discovery, in a sentence that names node and interface."""

    kind: ChangeKind
    sentence: str


class Ended(msgspec.Struct, frozen=True):
    """How a launch ended. ``message`` is for a person when it did not end well.

    ``changes`` are what a broken launch's network was found to have lost since discovery:
    one sentence each, naming node and interface. ``change_kinds`` are their kinds; older runs have
    none. ``culprits`` are the nodes and pairs that were found to break it.
    """

    status: str
    exit_code: int | None
    message: str
    argv: tuple[str, ...]
    wall_s: float
    changes: tuple[str, ...] = ()
    culprits: tuple[Finding, ...] = ()
    change_kinds: tuple[ChangeKind, ...] = ()


class CountersAround(msgspec.Struct, frozen=True, tag_field="record", tag="around"):
    """Interface counters of each node right before and after a program that reads none.

    ``payload_bytes`` is, by rank, the least that the program must have sent in between:
    what its own output accounts for. ``processors`` are those of the nodes over
    ``wall_s``: the ranks' own part of them is not known, and ``run_delay_s`` is that of any
    process on the node. ``polls`` is whether the program keeps a processor busy when idle.
    """

    counters: tuple[NodeCounters, ...]
    payload_bytes: tuple[int, ...]
    processors: tuple[ProcessorUse, ...] = ()
    wall_s: float = 0.0
    polls: bool = True


class Launch(msgspec.Struct, frozen=True):
    """One start of the engine, or of another suite's program, with everything it said.

    Another suite's output gives ``curves``, and ``unparsed`` lines that nothing could be
    made of; ``around`` are the counters that were read before and after it, ``program`` is
    the plan's word for what was started. ``rounds`` are those of all-pairs cases, in the order
    in which they were made. ``purpose`` is the plan's.
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

    @property
    def figures(self) -> bool:
        """Whether another suite's output told at least one figure."""
        return any(curve.points for curve in self.curves)

    @property
    def completed(self) -> tuple[Measurement, ...]:
        """The measurements that came to their proper end."""
        return tuple(one for one in self.measurements if one.status == "ok")

    @property
    def counted(self) -> tuple[tuple[NodeCounters, tuple[int, ...]], ...]:
        """Interface counters with the payload that all ranks sent meanwhile.

        Those of the engine's cases that came to their proper end, or those around the whole
        launch of another suite's program.
        """
        each = tuple(
            (one, measurement.payload_sent_bytes)
            for measurement in self.completed
            for one in measurement.counters
        )
        if self.around is None:
            return each
        return (*each, *((one, self.around.payload_bytes) for one in self.around.counters))

    @property
    def all_counters(self) -> tuple[NodeCounters, ...]:
        """Every node's counters, also those of cases that broke: errors are errors."""
        each = tuple(one for measurement in self.measurements for one in measurement.counters)
        return each if self.around is None else (*each, *self.around.counters)

    @property
    def imported(self) -> bool:
        """Whether others measured it: nothing is known but what their log says."""
        return self.ended.status == IMPORTED

    def hosts_of(self, curve: SuiteCurve) -> tuple[str, ...]:
        """Hosts of an imported curve's ranks, as its log or its importer names them."""
        named = curve.hosts if len(curve.hosts) > 1 else curve.evidence.rank_hosts
        return unify_hosts(named or (self.nodes if self.imported else ()))


#: A fact of a run's environment is called so, with a network's name behind it.
CARRIED_BY = "carried by, over "


class Run(msgspec.Struct, frozen=True):
    """Everything that judging and reporting need to know of one run.

    ``environment`` is what was in force on the head: versions, command line, settings.
    ``preflight`` is what was found wrong with nodes and networks before anything was measured.
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
        """Whether all of it was read from others' logs."""
        return bool(self.launches) and all(launch.imported for launch in self.launches)

    def carried_by(self, network: str) -> str:
        """What the launches of a network said that they used; empty where nobody said it."""
        return self.environment.get(f"{CARRIED_BY}{network}", "")
