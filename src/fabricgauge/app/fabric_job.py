"""A check of many nodes: all pairs, what all ranks do together, then whoever is suspected again."""

import msgspec

from fabricgauge.app.engine_job import EngineJob
from fabricgauge.app.measure import RunContext, measure
from fabricgauge.app.pairs import fabric_result, rechecks
from fabricgauge.app.progress import Progress
from fabricgauge.app.target import FIRST, Target, about, discovered
from fabricgauge.app.targets import targets, unjoined
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine
from fabricgauge.plan.fabric_plan import FabricWanted, fabric_plan
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load, write_beginning, write_plan
from fabricgauge.words.networks import named


class FabricJob(EngineJob):
    """The engine's launches on many nodes, and those that measure suspects again."""

    def measure(self, thresholds: Thresholds, progress: Progress) -> None:
        measure(self._context, self.left(), progress)
        self._measure_suspects(progress)
        self._explain_low_figures(thresholds, progress)

    def _measure_suspects(self, progress: Progress) -> None:
        """Alone and with good partners, before anybody is named.

        The launch joins the plan, so that a run which breaks off here can be resumed.
        """
        run = load(self.directory)
        if self.left() or any(launch.purpose == "again" for launch in run.plan.launches):
            return
        for one in rechecks(run, fabric_result(run)):
            where = named(one.network)
            if isinstance(one.launch, Skipped):
                progress.stage(f"{where}: nobody is measured again: {one.launch.reason}")
                continue
            progress.stage(f"{where}: measuring suspects again, one pair at a time")
            plan = msgspec.structs.replace(self.plan, launches=(*self.plan.launches, one.launch))
            write_plan(self.directory, plan)
            self._context = msgspec.structs.replace(self._context, plan=plan)
            measure(self._context, (one.launch,), progress)


def prepare(
    wanted: FabricWanted,
    target: Target,
    engine: Engine,
    directory: RunDirectory,
    progress: Progress,
) -> FabricJob:
    """Discover and plan; the run directory then holds all that a resumption needs."""
    found = discovered(target, directory, progress, FIRST)
    nodes = tuple(dict.fromkeys(wanted.nodes))
    chosen = targets(target, found, nodes)
    fabric = msgspec.structs.replace(
        found, unjoined=unjoined(target, found, nodes), topology=target.topology
    )
    made = fabric_plan(wanted, chosen)
    write_beginning(directory, about(target), fabric, made)
    return FabricJob(
        RunContext(
            directory, target.access, engine, fabric, made, attempt=1, simulation=target.simulation
        )
    )
