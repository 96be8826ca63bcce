"""A check that another suite's programs measure, with our evidence around them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.app.measure_tool import ToolContext, measure_with_tool, work_of
from fabricgauge.app.progress import Progress
from fabricgauge.app.resume import Rest
from fabricgauge.app.target import FIRST, Target, about, discovered
from fabricgauge.app.targets import targets, unjoined
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.engine import Mpi
from fabricgauge.model.fabric import Network
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.plan.plan import Wanted
from fabricgauge.plan.tool_plan import tool_plan
from fabricgauge.run.tools.interface import Effort, Tool
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load, write_beginning

#: How long a program may say nothing: some print only at their end.
SILENT_S = 60.0


class Suite(msgspec.Struct, frozen=True):
    """The suite that is to measure: its programs, the MPI that starts them, how much."""

    tool: Tool
    programs: dict[str, Path]
    mpi: Mpi | None
    effort: Effort


class ToolJob:
    """The starts of a suite's programs in one run."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    @property
    def directory(self) -> RunDirectory:
        return self._context.directory

    @property
    def plan(self) -> Plan:
        return self._context.plan

    def left(self) -> tuple[PlannedLaunch, ...]:
        done = {
            one.number
            for one in load(self.directory).launches
            if one.figures and one.ended.status == "ok"
        }
        return tuple(one for one in self.plan.launches if one.number not in done)

    def measure(self, thresholds: Thresholds, progress: Progress) -> None:
        measure_with_tool(self._context, self.left(), progress)

    def commands(self) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
        for launch in self.plan.launches:
            work = work_of(self._context, launch)
            yield launch, (work.client,) if work.server is None else (work.server, work.client)


def prepare(
    wanted: Wanted, target: Target, suite: Suite, directory: RunDirectory, progress: Progress
) -> ToolJob:
    """Discover and plan; the run directory then holds all that a resumption needs."""
    found = discovered(target, directory, progress, FIRST)
    chosen = targets(target, found, wanted.place)
    fabric = msgspec.structs.replace(
        found,
        unjoined=unjoined(target, found, wanted.place),
        networks=tuple(_as_used(network, suite.tool) for network in found.networks),
    )
    for name in sorted(set(suite.tool.programs) - set(suite.programs)):
        progress.trouble(f"{name} of {suite.tool.name} was not found: its part is left out")
    there = [one for one in suite.tool.starts(suite.effort) if one.client[0] in suite.programs]
    made = tool_plan(
        suite.tool.name, tuple(one.name for one in there), wanted.profile,
        tuple(network for network, _ in chosen), wanted.place,
    )  # fmt: skip
    write_beginning(directory, about(target), fabric, made)
    return job(target, suite, directory, Rest(fabric, made, attempt=1))


def _as_used(network: Network, tool: Tool) -> Network:
    """An Ethernet as the suite uses it: RDMA over it has other headers than TCP."""
    if network.technology != "ethernet" or tool.technology == "ethernet":
        return network
    said = f"{network.rate_origin}; {tool.name} is taken to use it as {tool.technology}"
    return msgspec.structs.replace(network, technology=tool.technology, rate_origin=said)


def job(target: Target, suite: Suite, directory: RunDirectory, rest: Rest) -> ToolJob:
    """The job for a plan that was made now, or for what is left of an earlier one."""
    return ToolJob(
        ToolContext(
            directory=directory, access=target.access, tool=suite.tool,
            starts={one.name: one for one in suite.tool.starts(suite.effort)},
            programs=suite.programs, mpi=suite.mpi, fabric=rest.fabric, plan=rest.plan,
            attempt=rest.attempt, silent_s=SILENT_S + 10 * suite.effort.stream_s,
        )
    )  # fmt: skip
