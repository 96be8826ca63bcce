"""Traces calls of MPI launch by launch: one for each operation and way, all sizes in it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.app.networks import targets
from fabricgauge.app.programs import named_mpi
from fabricgauge.app.target import Target, about, discovered
from fabricgauge.engines.find import embedded_mpi
from fabricgauge.engines.path_programs import ZYDIS_LIBRARY, PathPrograms, path_programs
from fabricgauge.model.call_path import FORMAT, VERSION, CallPath, CallPaths, TracedCall
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.parse.call_path import call_path, traced_call
from fabricgauge.run.launch import Running
from fabricgauge.run.mpi_impls.table import command
from fabricgauge.run.transports import OFI, VERBS, needs_ports, split_launch
from fabricgauge.store.run_directory import RunDirectory, find
from fabricgauge.words.networks import is_loopback, loopback_of

FILE = "paths.json"

#: Calls of what MPI stands on, by what ``--transport`` calls it.
BELOW_MPI = {OFI: ("fi_tsend", "fi_tinject", "fi_trecv"), VERBS: ("ibv_post_send", "ibv_poll_cq")}
#: Operations of two ranks, and those of more.
PAIR_OPERATIONS = (
    "send", "recv", "recv-late", "isend", "irecv", "put", "get", *BELOW_MPI[OFI], *BELOW_MPI[VERBS]
)  # fmt: skip
JOINT_OPERATIONS = ("bcast", "allreduce", "barrier")
#: A barrier sends nothing; the size of its row is 0.
SIZELESS = ("barrier",)

#: Ways within one node: what MPI takes by itself, and TCP alone.
NODE, LOOPBACK = "node", "loopback"

#: Calls that warm up caches and branch predictors. Open MPI's shared memory takes its final path
#: after 2 calls, MPICH's over UCX after some 10.
WARM_UP = 50
#: What the launcher may take to reach nodes and to end, beside the tracer's own limit.
START_S = 30.0


class Operation(msgspec.Struct, frozen=True):
    """What is called, and on how many ranks."""

    name: str
    ranks: int = 2


def operation(word: str) -> Operation:
    """``send``, ``barrier:4``.

    Raises:
        UsageError: no such operation, or it cannot have that number of ranks.
    """
    name, _, ranks = word.strip().partition(":")
    if name not in (*PAIR_OPERATIONS, *JOINT_OPERATIONS):
        known = ", ".join((*PAIR_OPERATIONS, *JOINT_OPERATIONS))
        raise UsageError(f"{name!r} is no call that can be traced; there is {known}")
    if not ranks:
        return Operation(name)
    if name in PAIR_OPERATIONS:
        raise UsageError(f"{name} is a call between two ranks; leave :{ranks} out")
    if not ranks.isdecimal() or not 2 <= int(ranks) <= 64:
        raise UsageError(f"{word!r}: ranks are a number from 2 to 64, e.g. {name}:4")
    return Operation(name, int(ranks))


def carrier_of(one: Operation, asked: str) -> str:
    """What carries the call: empty for MPI, else what was asked for if it has such a call."""
    carrier = next((name for name, calls in BELOW_MPI.items() if one.name in calls), "")
    return asked if carrier and asked.partition(":")[0] == carrier else carrier


class Study(msgspec.Struct, frozen=True):
    """What is to be traced: ``calls`` warm calls of each operation at each size.

    A launch is ended after ``limit_s``.
    """

    operations: tuple[Operation, ...]
    sizes: tuple[int, ...]
    calls: int
    limit_s: float


def trace(study: Study, target: Target, directory: RunDirectory) -> tuple[CallPaths, bool]:
    """All paths, each kept as soon as its launch has ended; and whether that was interrupted.

    Raises:
        CannotRun: no MPI or decoder, another processor, or no network joins the nodes.
        UsageError: no such MPI or network.
    """
    carrier = target.request.transport
    if carrier and carrier not in {carrier_of(one, carrier) for one in study.operations}:
        raise UsageError(f"--transport {carrier} has no effect: none of --calls goes over it")
    target.progress.stage("finding the tracer; where there is none yet it is built, once")
    asked = target.request.mpi
    programs = path_programs(named_mpi(asked) if asked else embedded_mpi())
    what = about(target)
    made = CallPaths(
        FORMAT, VERSION, directory.identity, what.started_utc,
        f"{programs.mpi.kind} {programs.mpi.version}", target.access.nodes,
        {**what.environment, "MPI compiler wrapper": str(programs.mpi.mpicxx)}, (),
        target.access.virtual,
    )  # fmt: skip
    directory.write("run.json", what)
    interrupted = False
    for number, (launch, one, words) in enumerate(_launches(study, target, directory), 1):
        named = f"{one.name} on {one.ranks} ranks, {way_of(launch)}"
        target.progress.stage(f"launch {number}: {named}")
        try:
            found = _traced(study, one, launch, words, programs, target, directory)
        except KeyboardInterrupt:
            interrupted = True
            break
        made = msgspec.structs.replace(made, paths=(*made.paths, *found))
        directory.write(FILE, made)
    return made, interrupted


def stored_paths(root: Path, name: str) -> CallPaths:
    """The paths of a stored run: a directory, its identity or the beginning of it, or ``latest``.

    Raises:
        StoreError: there is none.
    """
    if Path(name).is_file():
        raise StoreError(f"{name} is a file; name the directory that has {FILE} in it")
    found = find(root, name).read(FILE, CallPaths)
    major = VERSION.partition(".")[0]
    if found.format != FORMAT or found.version.partition(".")[0] != major:
        raise StoreError(f"{name} has {found.format} {found.version}; this program reads {VERSION}")
    return found


def way_of(launch: PlannedLaunch) -> str:
    if launch.network is None:
        return NODE
    return LOOPBACK if is_loopback(launch.network) else launch.network


def _launches(
    study: Study, target: Target, directory: RunDirectory
) -> Iterator[tuple[PlannedLaunch, Operation, tuple[str, ...]]]:
    """Within the first node, over its loopback where asked for, and over each network.

    With each launch go the words that say what carries its calls, none for MPI.
    """
    nodes, asked = target.access.nodes, target.request.network
    within = [name for name in (NODE, LOOPBACK) if name in asked or (name == NODE and not asked)]
    others = tuple(name for name in asked if name not in (NODE, LOOPBACK))
    fabric = Fabric((), (), ())
    if len(nodes) > 1 and (others or not asked):
        fabric = discovered(target, directory, "discover")
    elif others:
        raise UsageError(
            f"--network {others[0]} needs two nodes, and there is one; name two with -w"
        )
    number = 0
    for one in study.operations:
        carrier = carrier_of(one, target.request.transport)
        alone = PlannedLaunch(0, None, None, nodes[:1] * one.ranks, ())
        spread = msgspec.structs.replace(alone, nodes=_spread(nodes[:2], one.ranks))
        # Verbs have no way of their own within a node.
        here = () if needs_ports(carrier) else within
        loopback = msgspec.structs.replace(alone, network=loopback_of(nodes[0]))
        launches = [alone if name == NODE else loopback for name in here]
        if fabric.nodes:
            request = msgspec.structs.replace(target.request, network=others, transport=carrier)
            found = targets(request, fabric, nodes[:2])
            launches += [spread.pinned_to(network) for network, _ in found]
        for launch in launches:
            number += 1
            numbered = msgspec.structs.replace(launch, number=number)
            made, words = _beside(carrier, fabric, numbered) if carrier else (numbered, ())
            yield made, one, words


def _beside(
    carrier: str, fabric: Fabric, launch: PlannedLaunch
) -> tuple[PlannedLaunch, tuple[str, ...]]:
    """The launch as MPI makes it, and where what carries the calls finds its own address."""
    made, words = split_launch(carrier, fabric, launch)
    subnet = "127.0.0.0/8" if way_of(launch) == LOOPBACK else made.subnet
    named = msgspec.structs.replace(made, network=launch.network) if launch.ports else made
    return named, (*words, *(("--pin", subnet) if subnet else ()))


def _spread(nodes: tuple[str, ...], ranks: int) -> tuple[str, ...]:
    """Half of the ranks on each of two nodes: the first half of rank numbers on the first."""
    return tuple(nodes[rank * len(nodes) // ranks] for rank in range(ranks))


def _traced(
    study: Study,
    one: Operation,
    launch: PlannedLaunch,
    words: tuple[str, ...],
    programs: PathPrograms,
    target: Target,
    directory: RunDirectory,
) -> tuple[CallPath, ...]:
    """One launch: what each size gave, whatever became of it."""
    sizes = (0,) if one.name in SIZELESS else study.sizes
    options = (
        "--limit", str(max(1, round(study.limit_s))), "--", str(programs.calls), one.name,
        ",".join(map(str, sizes)), str(WARM_UP), str(study.calls), *words,
    )  # fmt: skip
    # The tracer takes the engine's place; it knows the same words of pinning.
    engine = Engine(programs.tracer, programs.mpi, "", (), "")
    name = f"launch-{launch.number:02}-1"
    running = Running(
        command(engine, launch, target.access, options), "", directory.raw(name),
        silent_s=START_S + study.limit_s, marker=f"{directory.identity}/{name}",
    )  # fmt: skip
    calls: list[TracedCall] = []
    try:
        calls += [call for line in running if (call := traced_call(line)) is not None]
    finally:
        running.close()
    ended = _explained(running.ended())
    if ended.status != "ok":
        target.progress.trouble(ended.message)
    blank = CallPath(one.name, 0, one.ranks, way_of(launch))
    return tuple(
        _with_problem(
            call_path(calls, msgspec.structs.replace(blank, message_bytes=size)),
            study.calls, ended,
        )
        for size in sizes
    )  # fmt: skip


def _explained(ended: Ended) -> Ended:
    """What a node lacks, instead of the dynamic linker's words."""
    if ZYDIS_LIBRARY not in ended.message:
        return ended
    lacks = f"a node lacks {ZYDIS_LIBRARY}, the tracer's decoder; install Debian's libzydis4.0"
    return msgspec.structs.replace(ended, message=lacks)


def _with_problem(path: CallPath, wanted: int, ended: Ended) -> CallPath:
    """Why a path has fewer calls than were asked for."""
    if path.usual is not None and not path.usual.instructions:
        problem = "the call ran outside of the functions that were watched"
    elif path.usual is not None and path.usual.cut:
        problem = "the call is longer than what is recorded: the numbers are of its beginning alone"
    elif path.traced < wanted:
        problem = ended.message or "the program ended before it had made all calls"
        problem = f"{path.traced} of {wanted} calls were traced: {problem}"
    else:
        return path
    return msgspec.structs.replace(path, problem=problem)
