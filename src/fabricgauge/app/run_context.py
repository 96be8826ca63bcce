"""A run while it is made: where, with what, and everything that it has said so far."""

from collections.abc import Sequence
from itertools import count

import msgspec

from fabricgauge.app.conclude import conclude, leave
from fabricgauge.app.notes import note_libraries, note_transports
from fabricgauge.app.target import Target
from fabricgauge.doctor.reachability import ConnectionFault
from fabricgauge.localise.detect import localise
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import FabricResult
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import Ended, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.plan.outlook import FINAL, remaining
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory


class RunContext:
    """What all launches of a run have in common, and the run itself in memory.

    The run directory gets every record first, for safety. It is read once, when a run is taken up
    again; everything that follows from the run is made of ``run``. ``attempt`` numbers the
    programs that worked on it. ``culprits`` broke launches, by network; ``broken`` are
    networks on which one just broke and others can be made; ``given_up`` are launches whose rest
    others measure instead. ``searches`` numbers the launches that look for culprits.
    """

    def __init__(
        self,
        target: Target,
        directory: RunDirectory,
        run: Run,
        attempt: int = 1,
        culprits: dict[str, list[ConnectionFault]] | None = None,
    ) -> None:
        self.target, self.directory, self.run, self.attempt = target, directory, run, attempt
        self.progress, self.culprits = target.progress, culprits or {}
        self.broken: set[str | None] = set()
        self.given_up: set[int] = set()
        self.searches = count(1)
        self._said: dict[int, list[run_files.Record]] = {}
        self._analysed: tuple[int, FabricResult] = (0, FabricResult())

    @property
    def plan(self) -> Plan:
        return self.run.plan

    @property
    def fabric(self) -> Fabric:
        return self.run.fabric

    @property
    def engine(self) -> Engine:
        """Our own; CannotRun where another suite measures this run."""
        if self.target.engine is None:
            raise CannotRun("another suite measures this run; there is no engine")
        return self.target.engine

    def name(self, launch: PlannedLaunch) -> str:
        """The folder of the launch's raw files."""
        return f"launch-{launch.number:02}-{self.attempt}"

    def keep(self, launch: PlannedLaunch, records: Sequence[run_files.Record]) -> None:
        """Store what a launch said; it is on disk when this returns."""
        run_files.append_records(self.directory, launch.number, self.attempt, records)
        self._said.setdefault(launch.number, []).extend(records)

    def close(self, launch: PlannedLaunch, ended: Ended, unparsed: Sequence[str] = ()) -> None:
        """A launch has ended: from now on it is one of the run's."""
        started = run_files.Started(
            launch.number, self.attempt, launch.network, launch.nodes, ended, tuple(unparsed)
        )
        made = run_files.launch_of(
            launch.number, self._said.pop(launch.number, []), launch, started
        )
        launches = sorted((*self.run.launches, made), key=lambda one: one.number)
        self.run = msgspec.structs.replace(self.run, launches=tuple(launches))
        run_files.append_launch(self.directory, started)

    def plan_further(self, launch: PlannedLaunch) -> None:
        """The launch joins the plan, so that a run which breaks off in it can be resumed."""
        plan = msgspec.structs.replace(self.plan, launches=(*self.plan.launches, launch))
        self.directory.write("plan.json", plan)
        self.run = msgspec.structs.replace(self.run, plan=plan)

    def measured(self, launch: PlannedLaunch) -> set[str]:
        """The cases of a launch under way that have a result."""
        now = [one for one in self._said.get(launch.number, []) if isinstance(one, Measurement)]
        return {one.case for one in now if one.status in FINAL}

    def left(self) -> tuple[PlannedLaunch, ...]:
        """The planned launches, or parts of them, that have no result yet."""
        return remaining(self.run.plan, self.run.launches)

    def fabric_result(self) -> FabricResult:
        """What all pairs say; they are analysed once more where further launches bear on it.

        Without a round there is nothing to analyse, whatever was measured again.
        """
        launches = self.run.launches
        bearing = sum(1 for one in launches if one.rounds or one.purpose == "again")
        if self._analysed[0] != bearing and any(one.rounds for one in launches):
            self._analysed = bearing, localise(self.run.launches, self.fabric.topology)
        return self._analysed[1]

    def concluded(self, complete: bool, against: tuple[SuiteCurve, ...] = ()) -> Judged:
        """Judge what was measured and leave the reports; a ``complete`` run gets its final name."""
        self.progress.stage("judging")
        facts = dict[str, str]()
        try:
            facts |= note_transports(self.directory, self.run)
            facts |= note_libraries(self.directory, self.run)
        except StoreError as error:
            self.progress.trouble(str(error))
        environment = {**self.run.environment, **facts}
        run = msgspec.structs.replace(self.run, environment=environment, complete=complete)
        judged = conclude(run, self.target.thresholds, against, self.fabric_result())
        leave(self.directory, judged, self.progress)
        return judged
