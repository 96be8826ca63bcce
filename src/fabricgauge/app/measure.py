"""Starts the engine launch by launch and stores each record before the next one is read."""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from fabricgauge.app.notes import explained
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.errors import StoreError
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.measurement import Record as EngineRecord
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.model.together import Round
from fabricgauge.parse.engine import NotUnderstood, parse_line
from fabricgauge.plan.cases import threaded
from fabricgauge.run.launch import case_lines, start
from fabricgauge.run.mpi_impls.table import command
from fabricgauge.sim.simulate import prepared

#: How long a case may stay silent past its budget before its launch is given up.
GRACE_S = 10.0
#: Time for mpiexec to reach the nodes and for MPI to start.
START_S = 30.0
#: The same for each rank: thousands of them take longer. An allowance, not a measured figure.
START_PER_RANK_S = 0.05
#: A simulator's figures vary by its noise alone; each sample costs this machine's time.
SIMULATED_SAMPLES = 9


def measure(context: RunContext, launches: tuple[PlannedLaunch, ...], progress: Progress) -> None:
    """Make the launches in order; one that breaks does not end the others.

    Once a network is found broken, its further launches are not started: each would
    only wait for its time limit. They stay in the plan and ``--resume`` makes them.
    """
    progress.planned(context.plan, launches)
    broken: set[str | None] = set()
    for launch in launches:
        if launch.network in broken:
            continue
        progress.launch(launch)
        ended = _one(context, launch, progress)
        if ended.status != "ok":
            progress.trouble(ended.message)
            broken.add(launch.network)


def engine_options(plan: Plan) -> tuple[str, ...]:
    """The engine's command line for a launch, pinning left to the MPI's own module."""
    options = (
        "--half-width", str(plan.stopping.relative_half_width),
        "--confidence", str(plan.stopping.confidence),
        "--grace", str(GRACE_S),
    )  # fmt: skip
    return (*options, "--check-data") if plan.check_data else options


def planned_command(context: RunContext, launch: PlannedLaunch) -> LaunchCommand:
    """The command that makes a launch; nothing is started."""
    options = launch_options(context.plan, launch)
    simulation = context.target.simulation
    if simulation is not None:
        folder = context.directory.raw(context.name(launch))
        few = (*options, "--iterations", str(SIMULATED_SAMPLES))
        cluster = simulation.in_launch(launch.number)
        return prepared(cluster, context.engine, launch.nodes, folder, few)
    return command(context.engine, context.engine.mpi, launch, context.target.access, options)


def launch_options(plan: Plan, launch: PlannedLaunch) -> tuple[str, ...]:
    """The engine's command line for one launch."""
    return (*engine_options(plan), *_threads(launch))


def _threads(launch: PlannedLaunch) -> tuple[str, ...]:
    """What several threads need; it would make the figures of all else in the launch slower."""
    return ("--thread-multiple",) if all(map(threaded, launch.cases)) else ()


def _one(context: RunContext, launch: PlannedLaunch, progress: Progress) -> Ended:
    name = context.name(launch)
    running = start(
        planned_command(context, launch),
        case_lines(launch.cases),
        context.directory.raw(name),
        silent_s=longest_silence_s(launch),
        marker=f"{context.directory.identity}/{name}",
    )
    strange: list[str] = []
    gave_up = ""
    try:
        for line in running:
            record = _keep(context, launch, line, strange.append, progress)
            if isinstance(record, Measurement) and record.status == "timeout":
                gave_up = f"{record.case}: {record.reason}"
                break  # the engine has ended; its launcher may not notice for long
    except BaseException as error:
        with suppress(StoreError):  # a full disk may be what brought us here
            context.close(launch, broken_by(error, running.ended()), strange)
        raise
    finally:
        running.close()
    ended = given_up(running.ended(), gave_up)
    if context.target.simulation is None:
        ended = explained(context.target.access, context.fabric, launch.network, ended)
    context.close(launch, ended, strange)
    return ended


def longest_silence_s(launch: PlannedLaunch) -> float:
    """How long a launch may go without a record: its start and its longest case or round."""
    ranks = len(launch.nodes)
    longest_s = max(case.round_s(ranks) for case in launch.cases)
    return START_S + START_PER_RANK_S * ranks + GRACE_S + longest_s


def given_up(ended: Ended, case: str) -> Ended:
    """The end of a launch of which one case had no end; ``case`` says which, or nothing."""
    return msgspec.structs.replace(ended, status="timeout", message=case) if case else ended


def broken_by(error: BaseException, ended: Ended) -> Ended:
    """The end of a launch that this program itself broke off."""
    if isinstance(error, KeyboardInterrupt):
        return msgspec.structs.replace(ended, status="interrupted", message="interrupted")
    return msgspec.structs.replace(ended, status="broken", message=str(error))


def _keep(
    context: RunContext,
    launch: PlannedLaunch,
    line: str,
    strange: Callable[[str], None],
    progress: Progress,
) -> EngineRecord | None:
    """Store one line's record and return it; None where the line holds none."""
    record = parse_line(line)
    if isinstance(record, NotUnderstood):
        if record.text:
            strange(f"{record.text} ({record.reason})")
        return None
    context.keep(launch, (record,))
    if isinstance(record, Measurement):
        progress.case(record)
    if isinstance(record, Round):
        progress.round(record)
    return record
