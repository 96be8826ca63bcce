"""A check that our own engine measures."""

from collections.abc import Iterator

import msgspec

from fabricgauge.app.measure import RunContext, measure, planned_command
from fabricgauge.app.pairs import fabric_result
from fabricgauge.app.progress import Progress
from fabricgauge.app.target import FIRST, Target, about, discovered
from fabricgauge.app.targets import targets, unjoined
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.judge.below_pass import below_pass
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.engine import Engine
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import Run
from fabricgauge.plan.fabric_plan import remaining_rounds
from fabricgauge.plan.plan import Wanted, host_reference, plan, remaining
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load, write_beginning


def left_of(run: Run) -> tuple[PlannedLaunch, ...]:
    """The planned launches, or parts of them, that have no result yet."""
    measured = tuple((la.number, m) for la in run.launches for m in la.measurements)
    rounds = ((la.number, one) for la in run.launches for one in la.rounds)
    return remaining_rounds(remaining(run.plan, measured), rounds)


class EngineJob:
    """The engine's launches of one run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    @property
    def directory(self) -> RunDirectory:
        return self._context.directory

    @property
    def context(self) -> RunContext:
        return self._context

    @property
    def plan(self) -> Plan:
        return self._context.plan

    def left(self) -> tuple[PlannedLaunch, ...]:
        return left_of(load(self.directory))

    def measure(self, thresholds: Thresholds, progress: Progress) -> None:
        measure(self._context, self.left(), progress)
        self._explain_low_figures(thresholds, progress)

    def commands(self) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
        for launch in self.plan.launches:
            yield launch, (planned_command(self._context, launch),)

    def _explain_low_figures(self, thresholds: Thresholds, progress: Progress) -> None:
        """Where a network stays below its ceiling, measure what its host does without one."""
        run = load(self.directory)
        if run.fabric.simulated:
            return  # its hosts cost nothing
        fabric = fabric_result(run)
        for name in below_pass(run, ceilings(run.fabric.networks), thresholds, fabric):
            progress.stage(f"{name} is below its ceiling: measuring what the host does without it")
            number = 1 + max(launch.number for launch in run.plan.launches)
            launch = host_reference(number, run.plan.launches[0].nodes[0], name, run.plan)
            if launch.network not in {made.network for made in run.launches}:
                measure(self._context, (launch,), progress)
                return  # one node's word serves all its networks


def prepare(
    wanted: Wanted, target: Target, engine: Engine, directory: RunDirectory, progress: Progress
) -> EngineJob:
    """Discover and plan; the run directory then holds all that a resumption needs."""
    found = discovered(target, directory, progress, FIRST)
    chosen = targets(target, found, wanted.place)
    fabric = msgspec.structs.replace(found, unjoined=unjoined(target, found, wanted.place))
    made = plan(wanted, chosen)
    write_beginning(directory, about(target), fabric, made)
    return EngineJob(RunContext(directory, target.access, engine, fabric, made, attempt=1))
