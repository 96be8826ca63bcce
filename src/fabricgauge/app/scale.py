"""An application at several numbers of nodes: launched in turns, its path proved each time."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge.app.measure_tool import around, pinned_interfaces
from fabricgauge.app.networks import targets
from fabricgauge.app.profile import (
    FOLDER,
    FOLDER_VARIABLE,
    is_launcher,
    mpi_under,
    read_profiles,
)
from fabricgauge.app.target import Target, about, discovered
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.compare.scaling import NODES, with_points
from fabricgauge.discover.counters import read_counters
from fabricgauge.engines.profiler import profile_library
from fabricgauge.judge.interface import Context
from fabricgauge.judge.rules import path, placement
from fabricgauge.model.absence import Skipped
from fabricgauge.model.application import ApplicationProfile
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.model.scaled import SCALED, Scaled, ScaleLaunch, ScaleRun
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.varied import Design, Factor
from fabricgauge.model.verdict import Verdict
from fabricgauge.parse.tasks import placement as placed
from fabricgauge.plan.design import AS_IT_IS, ENVIRONMENT, design
from fabricgauge.run.mpi_impls.interface import is_pinned
from fabricgauge.run.mpi_impls.table import start_command
from fabricgauge.run.tools.running import SuiteLaunch, run_suite, with_placement
from fabricgauge.store.run_directory import RunDirectory

#: What can be varied of a program that is built already.
VARIED = ("bind", f"{ENVIRONMENT}NAME")


class Application(msgspec.Struct, frozen=True):
    """What is launched: the program, its MPI, the library that records it, and on what nodes.

    ``silent_s`` bounds the time without a line of output.
    """

    argv: tuple[str, ...]
    mpi: Mpi
    library: Path
    nodes: tuple[str, ...]
    ppn: int
    silent_s: float


def application(target: Target, argv: Sequence[str], silent_s: float) -> Application:
    """Raises:
    UsageError: the command begins with a launcher.
    CannotRun: the program is linked with no MPI that is known.
    """
    if is_launcher(argv[0]):
        raise UsageError(f"scale starts the ranks itself: leave {argv[0]} and its options out")
    mpi = mpi_under(argv, target.request.mpi)
    target.progress.stage(f"{argv[0]} under {mpi.kind} {mpi.version}; the library is built once")
    nodes = target.access.nodes
    return Application(tuple(argv), mpi, profile_library(mpi), nodes, target.request.ppn, silent_s)


def node_counts(text: str) -> tuple[int, ...]:
    """``1,2,4`` as numbers.

    Raises:
        UsageError: something in it is no number of nodes.
    """
    words = [one.strip() for one in text.split(",")]
    if not all(one.isdecimal() and 0 < int(one) <= 1 << 20 for one in words):
        raise UsageError(f"{text!r} are no numbers of nodes; write e.g. 1,2,4")
    return tuple(map(int, words))


def designed(
    factors: Sequence[Factor], counts: Sequence[int], there: int, blocks: int, seed: int
) -> Design:
    """What is varied with every number of nodes, in an order drawn block by block.

    Raises:
        UsageError: something cannot be varied here, or there are fewer nodes.
    """
    for one in factors:
        if one.name != "bind" and not one.name.startswith(ENVIRONMENT):
            raise UsageError(f"scale cannot vary {one.name}; there is {' and '.join(VARIED)}")
    ordered = sorted(set(counts or _doubling(there)))
    if ordered[-1] > there:
        raise UsageError(f"--at {ordered[-1]}: there are {there} nodes")
    return design((*factors, Factor(NODES, tuple(map(str, ordered)))), blocks, seed)


def _doubling(there: int) -> list[int]:
    """1, 2, 4 and so on, and all of them."""
    return [1 << step for step in range(there.bit_length()) if 1 << step < there] + [there]


def scaled(
    made: Design, target: Target, directory: RunDirectory, what: Application
) -> tuple[Scaled, bool]:
    """Launch everything block by block; what it came to, and whether it was interrupted."""
    fabric = discovered(target, directory, "discover")
    directory.write("run.json", about(target))
    directory.write("design.json", made)
    launches: list[ScaleLaunch] = []
    interrupted, network = False, _network(target, fabric)
    try:
        for block, order in enumerate(made.order):
            for arm in order:
                target.progress.stage(f"block {block + 1} of {made.blocks}: {_said(made, arm)}")
                one = _launched(made, arm, block, target, directory, what, fabric, network)
                directory.append("launches.jsonl", one)
                launches.append(one)
                if one.status != "ok":
                    target.progress.trouble(one.message)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        own = network.network or "MPI's own choice"
        complete = len(launches) == sum(map(len, made.order))
        run = ScaleRun(
            what.argv, own, what.ppn, made, tuple(launches), _notes(fabric), complete
        )  # fmt: skip
        directory.write(SCALED, run)
    return with_points(run), interrupted


def stored(directory: RunDirectory) -> Scaled:
    """What a run's directory tells of an earlier scaling.

    Raises:
        StoreError: it cannot be read.
    """
    return with_points(directory.read(SCALED, ScaleRun))


def _said(made: Design, arm: int) -> str:
    return ", ".join(
        f"{one.name}={level}" for one, level in zip(made.factors, made.arms[arm], strict=True)
    )


def _notes(fabric: Fabric) -> tuple[str, ...]:
    virtual = "measured in a lab: the nodes share this machine's processors, so that more nodes are"
    virtual += " not more of them; the figures describe this machine"
    return (virtual,) if fabric.virtual else ()


def _network(target: Target, fabric: Fabric) -> PlannedLaunch:
    """A launch without nodes, pinned to the network that is meant.

    Raises:
        CannotRun: none joins the nodes.
    """
    plain = PlannedLaunch(0, None, None, (), ())
    if len(target.access.nodes) < 2:
        return plain
    chosen, _ = targets(target.request, fabric, target.access.nodes)[0]
    return plain.pinned_to(chosen)


def _launched(
    made: Design, arm: int, block: int, target: Target, directory: RunDirectory,
    what: Application, fabric: Fabric, network: PlannedLaunch,
) -> ScaleLaunch:  # fmt: skip
    """One start, with counters and placement around it; one that breaks has a reason."""
    number = 1 + block * len(made.arms) + arm
    used = what.nodes[: int(made.arms[arm][-1])]
    ranks = tuple(node for node in used for _ in range(what.ppn))
    launch = msgspec.structs.replace(network, number=number, nodes=ranks, program=what.argv[0])
    if len(used) == 1:
        launch = msgspec.structs.replace(launch, network=None, subnet=None, ports=())
    raw = directory.raw(f"launch-{number:03}")
    kept = directory.raw(f"launch-{number:03}/{FOLDER}").absolute()
    try:
        before = read_counters(target.access, used)
        command = _command(made, arm, launch, target, what, fabric, kept)
        ended, lines = run_suite(
            command, raw, silent_s=what.silent_s, marker=f"{directory.identity}/{raw.name}"
        )
        after = read_counters(target.access, used)
        found = next(iter(read_profiles(kept)), None)
    except CannotRun as error:
        why = Skipped(str(error))
        return ScaleLaunch(block, arm, ranks, "broken", str(error), why, why)
    told = [one for line in lines if (one := placed(line)) is not None]
    left = {one.rank: one.left_node_bytes for one in found.ranks} if found else {}
    payload = tuple(left.get(rank, 0) for rank in range(len(ranks)))
    own = Launch(
        number, launch.network, ranks, None, tuple(told), (), ended,
        curves=_curve(what, found), around=around(launch, told, before, after, payload),
        program=launch.program,
    )  # fmt: skip
    verdicts = _verdicts(own, launch, target, fabric, directory) if len(used) > 1 else ()
    return _result(block, arm, ranks, ended, found, verdicts)


def _result(
    block: int, arm: int, ranks: tuple[str, ...], ended: Ended, found: ApplicationProfile | None,
    verdicts: tuple[Verdict, ...],
) -> ScaleLaunch:  # fmt: skip
    aborted = [one.rank for one in found.ranks if one.ending == "aborted"] if found else []
    said = ended.message or "nothing was recorded: no rank came to MPI_Finalize"
    why = Skipped(f"rank {aborted[0]} called MPI_Abort; {said}" if aborted else said)
    fine = ended.status == "ok" and found is not None and found.complete
    return ScaleLaunch(
        block, arm, ranks, "ok" if fine else "broken", "" if fine else why.reason,
        found.wall_s if fine and found else why, found.mpi_share if fine and found else why,
        sum(one.left_node_bytes for one in found.ranks) if found else 0, verdicts,
    )  # fmt: skip


def _command(
    made: Design, arm: int, launch: PlannedLaunch, target: Target, what: Application,
    fabric: Fabric, kept: Path,
) -> SuiteLaunch:  # fmt: skip
    said = dict(zip((one.name for one in made.factors), made.arms[arm], strict=True))
    variables = [
        f"{name.removeprefix(ENVIRONMENT)}={level}"
        for name, level in said.items()
        if name.startswith(ENVIRONMENT) and level != AS_IT_IS
    ]
    record = (f"LD_PRELOAD={what.library}", f"{FOLDER_VARIABLE}={kept}")
    interfaces = pinned_interfaces(fabric, launch) if is_pinned(launch) else {}
    program = with_placement(("env", *record, *variables, *what.argv), interfaces)
    access = msgspec.structs.replace(target.access, bind=said.get("bind", ""))
    return SuiteLaunch(start_command(what.mpi, launch, access, program))


def _curve(what: Application, found: ApplicationProfile | None) -> tuple[SuiteCurve, ...]:
    """The time of a run as the figure of a suite, so that the rules know that there is one."""
    if found is None:
        return ()
    time = Estimate(found.wall_s, found.wall_s, found.wall_s, 0.0, 1, 1)
    return (
        SuiteCurve(
            "application", "", what.argv[0], what.argv[0], "whole run", "time", "single", "s", 0, 0,
            (SuitePoint(None, time, 0),), ranks=found.size,
        ),
    )  # fmt: skip


def _verdicts(
    own: Launch, launch: PlannedLaunch, target: Target, fabric: Fabric, directory: RunDirectory
) -> tuple[Verdict, ...]:
    """Where it ran and what carried it, by the rules of any run."""
    plan = Plan("scale", Stopping(0.0, 0.0), False, (launch,), tool="application")
    run = Run(directory.identity, "", (), {}, fabric, plan, (own,), complete=True)
    context = Context(run, ceilings(fabric.networks), target.thresholds)
    return (*placement.judge(context), *path.judge(context))
