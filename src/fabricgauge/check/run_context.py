"""A run while it is made: its target, its directory, and all its records in memory."""

from collections.abc import Sequence
from itertools import count

import msgspec

from fabricgauge.check.conclude import analyse_pairs, judge_context, make_context, write_reports
from fabricgauge.check.notes import note_libraries, note_transports
from fabricgauge.check.plan.outlook import FINAL, find_remaining
from fabricgauge.check.target import Target
from fabricgauge.doctor.reachability import ConnectionFault
from fabricgauge.judge.interface import Context
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import FabricResult
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import Ended, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory


class RunContext:
    """Hold what all launches of a run share, and the run itself.

    The run directory gets every record first, for safety. It is read once, when a run is taken up
    again; everything else comes from ``run``. ``attempt`` numbers the programs that worked on it.
    ``culprits`` broke launches, by network. ``broken`` are networks on which a launch just broke
    and others can be made. ``given_up`` are launches whose rest other launches measure instead.
    ``searches`` numbers the launches that search for culprits.
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
        self._records: dict[int, run_files.LaunchRecords] = {}
        self._analysed: tuple[int, FabricResult] = (0, FabricResult())
        self._context: Context | None = None

    @property
    def plan(self) -> Plan:
        return self.run.plan

    @property
    def fabric(self) -> Fabric:
        return self.run.fabric

    @property
    def engine(self) -> Engine:
        """Return our engine.

        Raises:
            CannotRun: another suite measures this run.
        """
        if self.target.engine is None:
            raise CannotRun("another suite measures this run; there is no engine")
        return self.target.engine

    def name(self, launch: PlannedLaunch) -> str:
        """Return the folder of the launch's raw files."""
        return f"launch-{launch.number:02}-{self.attempt}"

    def keep(self, launch: PlannedLaunch, records: Sequence[run_files.Record]) -> None:
        """Store records of a launch; they are on disk within 0.2 s, or when it is closed."""
        run_files.append_records(self.directory, launch.number, self.attempt, records)
        self._collected(launch).extend(records)

    def close(self, launch: PlannedLaunch, ended: Ended, unparsed: Sequence[str] = ()) -> None:
        started = run_files.LaunchLine(
            launch.number, self.attempt, launch.network, launch.nodes, ended, tuple(unparsed)
        )
        stored = self._collected(launch).build(launch.number, started)
        del self._records[launch.number]
        launches = sorted(
            (*self.run.launches, stored), key=lambda stored_launch: stored_launch.number
        )
        self.run = msgspec.structs.replace(self.run, launches=tuple(launches))
        run_files.append_launch(self.directory, started)

    def _collected(self, launch: PlannedLaunch) -> run_files.LaunchRecords:
        return self._records.setdefault(launch.number, run_files.LaunchRecords(launch))

    def add_to_plan(self, launch: PlannedLaunch) -> None:
        """Add a launch to the plan, so that a run which breaks off in it can be resumed."""
        plan = msgspec.structs.replace(self.plan, launches=(*self.plan.launches, launch))
        self.directory.write("plan.json", plan)
        self.run = msgspec.structs.replace(self.run, plan=plan)

    def measured(self, launch: PlannedLaunch) -> set[str]:
        """Return the cases of a launch under way that have a result."""
        now = self._collected(launch).measurements
        return {measurement.case for measurement in now if measurement.status in FINAL}

    def unmade_launches(self) -> tuple[PlannedLaunch, ...]:
        """Return the planned launches, or their parts, that have no result yet."""
        return find_remaining(self.run.plan, self.run.launches)

    def fabric_result(self) -> FabricResult:
        """Return the analysis of all pairs, made again when a launch adds rounds or a recheck.

        Without a round there is nothing to analyse, whatever was measured again.
        """
        launches = self.run.launches
        bearing = sum(1 for launch in launches if launch.rounds or launch.purpose == "again")
        if self._analysed[0] != bearing and any(launch.rounds for launch in launches):
            self._analysed = bearing, analyse_pairs(self.run.launches, self.fabric.topology)
        return self._analysed[1]

    def context_now(self) -> Context:
        """Return the context of the rules for the records so far, made once for the same records.

        Only new records renew its ceilings, evidence and analysis; a plan that grows keeps them.
        """
        run, context = self.run, self._context
        if context is None or context.run.launches is not run.launches:
            context = make_context(run, self.target.thresholds, self.fabric_result())
        elif context.run is not run:
            context = msgspec.structs.replace(context, run=run)
        self._context = context
        return context

    def conclude(self, complete: bool, against: tuple[SuiteCurve, ...] = ()) -> Judged:
        """Judge the run and write its reports; a ``complete`` run gets its final name."""
        self.progress.stage("judging")
        facts = dict[str, str]()
        try:
            facts |= note_transports(self.directory, self.run)
            facts |= note_libraries(self.directory, self.run)
        except StoreError as error:
            self.progress.trouble(str(error))
        environment = {**self.run.environment, **facts}
        run = msgspec.structs.replace(self.run, environment=environment, complete=complete)
        judged = judge_context(msgspec.structs.replace(self.context_now(), run=run), against)
        write_reports(self.directory, judged, self.target.thresholds, self.progress)
        return judged
