"""Trace calls of MPI launch by launch: one for each operation and way, with all sizes in it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from fabricgauge.check.networks import choose_targets
from fabricgauge.check.programs import named_mpi
from fabricgauge.check.target import Target, describe_run, discover_nodes
from fabricgauge.features.path.programs import (
    ZYDIS_LIBRARY,
    PathPrograms,
    path_programs,
    programs_on_nodes,
)
from fabricgauge.features.path.sde import reference_paths, sde_files, sde_paths
from fabricgauge.features.path.values import VERSION, CallPath, CallPaths, TracedCall
from fabricgauge.logs.references.interface import REFERENCE_PREFIX, is_reference, reference
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Ended
from fabricgauge.model.words.networks import LOOPBACK_SUBNET, is_loopback, loopback_of
from fabricgauge.nodes.engines.find import embedded_mpi
from fabricgauge.nodes.launch.launch import Running
from fabricgauge.nodes.launch.mpi_impls import command
from fabricgauge.nodes.launch.transports import OFI, VERBS, needs_ports, split_launch
from fabricgauge.store.files.reading import read_text
from fabricgauge.store.run_directory import RunDirectory, find

_LINE = msgspec.json.Decoder(TracedCall)


FILE = "paths.json"

#: Calls of the layers below MPI, by their name for ``--transport``.
BELOW_MPI = {OFI: ("fi_tsend", "fi_tinject", "fi_trecv"), VERBS: ("ibv_post_send", "ibv_poll_cq")}
#: Operations of two ranks, and of more.
PAIR_OPERATIONS = (
    "send", "recv", "recv-late", "isend", "irecv", "put", "get", *BELOW_MPI[OFI], *BELOW_MPI[VERBS]
)  # fmt: skip
JOINT_OPERATIONS = ("bcast", "allreduce", "barrier")
#: A barrier sends nothing; the size of its row is 0.
SIZELESS = ("barrier",)

#: Ways within one node: MPI's own choice, and TCP alone.
NODE, LOOPBACK = "node", "loopback"

#: Calls that warm up caches and branch predictors. Open MPI's shared memory reaches its final path
#: after 2 calls, MPICH's over UCX after about 10.
WARM_UP_CALLS = 50
#: Time for the launcher to reach nodes and to end, besides the tracer's own limit.
START_S = 30.0


class Operation(msgspec.Struct, frozen=True):
    """A call, and its number of ranks."""

    name: str
    ranks: int = 2


def parse_operation(word: str) -> Operation:
    """Parse ``send``, ``barrier:4``.

    Raises:
        UsageError: no such operation, or it cannot have that number of ranks.
    """
    name, _, ranks = word.strip().partition(":")
    if name not in (*PAIR_OPERATIONS, *JOINT_OPERATIONS):
        calls = ", ".join((*PAIR_OPERATIONS, *JOINT_OPERATIONS))
        raise UsageError(f"{name!r} cannot be traced; available calls: {calls}")
    if not ranks:
        return Operation(name)
    if name in PAIR_OPERATIONS:
        raise UsageError(f"{name} is a call between two ranks; remove :{ranks}")
    if not ranks.isdecimal() or not 2 <= int(ranks) <= 64:
        raise UsageError(f"{word!r}: ranks are a number from 2 to 64, e.g. {name}:4")
    return Operation(name, int(ranks))


def carrier_of(called: Operation, transport: str) -> str:
    """Return the call's carrier: empty for MPI, else the requested transport if it has the call."""
    carrier = next((name for name, calls in BELOW_MPI.items() if called.name in calls), "")
    return transport if carrier and transport.partition(":")[0] == carrier else carrier


class Study(msgspec.Struct, frozen=True):
    """The calls to trace: ``calls`` warm calls of each operation at each size.

    A launch is ended after ``limit_s``.
    """

    operations: tuple[Operation, ...]
    sizes: tuple[int, ...]
    calls: int
    limit_s: float


def trace(study: Study, target: Target, directory: RunDirectory) -> tuple[CallPaths, bool]:
    """Trace all paths, and store each as soon as its launch ends; return if it was interrupted.

    Raises:
        CannotRun: no MPI or decoder, another processor, or no network joins the nodes.
        UsageError: no such MPI or network.
    """
    carrier = target.request.transport
    if carrier and carrier not in {carrier_of(called, carrier) for called in study.operations}:
        raise UsageError(f"--transport {carrier} has no effect: no call of --calls uses it")
    mpi_name = target.request.mpi
    notify = partial(target.progress.stage, "building the tracer for this MPI, once")
    programs = path_programs(named_mpi(mpi_name) if mpi_name else embedded_mpi(), notify)
    about_run = describe_run(target)
    built = {"tracer": "built on the head", "MPI compiler wrapper": str(programs.mpi.mpicxx)}
    if programs.ready_made:
        built = {"tracer": "ready-made"}
    paths = CallPaths(
        VERSION, directory.identity, about_run.started_utc,
        f"{programs.mpi.kind} {programs.mpi.version}", target.access.nodes,
        {**about_run.environment, **built}, (),
        target.access.virtual,
    )  # fmt: skip
    directory.write("run.json", about_run)
    with programs_on_nodes(programs, target) as placed:
        for number, (launch, called, words) in enumerate(_launches(study, target, directory), 1):
            named = f"{called.name} on {called.ranks} ranks, {way_name(launch)}"
            target.progress.stage(f"launch {number}: {named}")
            try:
                traced = _trace_launch(study, called, launch, words, placed, target, directory)
            except KeyboardInterrupt:
                return paths, True
            paths = msgspec.structs.replace(paths, paths=(*paths.paths, *traced))
            directory.write(FILE, paths)
    return paths, False


def read_paths(directory: RunDirectory) -> CallPaths:
    """Return the paths of a directory.

    Raises:
        StoreError: it has none, or those of another format.
    """
    return directory.read(FILE, CallPaths, VERSION)


def stored_paths(root: Path, name: str) -> CallPaths:
    """Return the paths of a stored run: a directory, its identity or a prefix of it, or ``latest``.

    A published listing of a call's instructions is a path too, and so is a file of Intel SDE or a
    directory of its files.

    Raises:
        StoreError: there is none.
    """
    if not Path(name).exists() and is_reference(name):
        return reference_paths(reference(name.removeprefix(REFERENCE_PREFIX)))
    if files := sde_files(Path(name)):
        return sde_paths(name, map(read_text, files))
    if Path(name).is_file():
        raise StoreError(
            f"{name} is no file of Intel SDE; name one, or the directory with {FILE} in it"
        )
    if not Path(name).exists() and not root.is_dir():
        raise StoreError(
            f"{name} is no directory, no file of Intel SDE and no published listing of"
            f" instructions; {root} has no traced paths"
        )
    return read_paths(find(root, name))


def way_name(launch: PlannedLaunch) -> str:
    if launch.network is None:
        return NODE
    return LOOPBACK if is_loopback(launch.network) else launch.network


def _launches(
    study: Study, target: Target, directory: RunDirectory
) -> Iterator[tuple[PlannedLaunch, Operation, tuple[str, ...]]]:
    """Yield launches within the first node, over its loopback on request, and over each network.

    Each comes with the options of its calls' carrier; empty for MPI.
    """
    nodes, requested = target.access.nodes, target.request.network
    within = [
        name for name in (NODE, LOOPBACK) if name in requested or (name == NODE and not requested)
    ]
    networks = tuple(name for name in requested if name not in (NODE, LOOPBACK))
    fabric = Fabric((), (), ())
    if len(nodes) > 1 and (networks or not requested):
        fabric = discover_nodes(target, directory, "discover")
    elif networks:
        raise UsageError(
            f"--network {networks[0]} needs two nodes, and there is only one; name two with -w"
        )
    number, words = 0, tuple[str, ...]()
    for called in study.operations:
        carrier = carrier_of(called, target.request.transport)
        alone = PlannedLaunch(0, None, None, nodes[:1] * called.ranks, ())
        # Half of the ranks on each of two nodes: the lower rank numbers on the first.
        ends, count = nodes[:2], called.ranks
        halves = tuple(ends[rank * len(ends) // count] for rank in range(count))
        spread = msgspec.structs.replace(alone, nodes=halves)
        # Verbs have no path of their own within a node.
        names_within = () if needs_ports(carrier) else within
        loopback = msgspec.structs.replace(alone, network=loopback_of(nodes[0]))
        launches = [alone if name == NODE else loopback for name in names_within]
        if fabric.nodes:
            request = msgspec.structs.replace(target.request, network=networks, transport=carrier)
            chosen = choose_targets(request, fabric, nodes[:2])
            launches += [spread.pinned_to(network) for network, _ in chosen]
        for launch in launches:
            number += 1
            numbered, words = msgspec.structs.replace(launch, number=number), ()
            if carrier:  # as MPI starts it, with the options for the carrier's own address
                pinned, options = split_launch(carrier, fabric, numbered)
                subnet = LOOPBACK_SUBNET if way_name(launch) == LOOPBACK else pinned.subnet
                words = (*options, *(("--pin", subnet) if subnet else ()))
                network = launch.network if launch.ports else pinned.network
                numbered = msgspec.structs.replace(pinned, network=network)
            yield numbered, called, words


def _trace_launch(
    study: Study,
    called: Operation,
    launch: PlannedLaunch,
    words: tuple[str, ...],
    programs: PathPrograms,
    target: Target,
    directory: RunDirectory,
) -> tuple[CallPath, ...]:
    sizes = (0,) if called.name in SIZELESS else study.sizes
    options = (
        "--limit", str(max(1, round(study.limit_s))), "--", str(programs.calls), called.name,
        ",".join(map(str, sizes)), str(WARM_UP_CALLS), str(study.calls), *words,
    )  # fmt: skip
    # The tracer takes the engine's place; it knows the same words of pinning.
    engine = Engine(
        programs.tracer, programs.mpi, "", (), "", library_path=programs.library_path
    )  # fmt: skip
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
    ended = running.ended()
    if ZYDIS_LIBRARY in ended.message:  # the dynamic linker's message names no package
        lacks = f"a node lacks {ZYDIS_LIBRARY}, the tracer's decoder; install Debian's libzydis4.0"
        ended = msgspec.structs.replace(ended, message=lacks)
    if ended.status != "ok":
        target.progress.trouble(ended.message)
    blank = CallPath(called.name, 0, called.ranks, way_name(launch))
    return tuple(
        _add_problem(
            call_path(calls, msgspec.structs.replace(blank, message_bytes=size)),
            study.calls, ended,
        )
        for size in sizes
    )  # fmt: skip


def _add_problem(path: CallPath, calls_wanted: int, ended: Ended) -> CallPath:
    if path.usual is not None and not path.usual.instructions:
        problem = "the call ran outside the watched functions"
    elif path.usual is not None and path.usual.cut:
        problem = "the call is longer than the record: the numbers cover only its beginning"
    elif path.traced < calls_wanted:
        problem = ended.message or "the program ended before all calls were made"
        problem = f"{path.traced} of {calls_wanted} calls were traced: {problem}"
    else:
        return path
    return msgspec.structs.replace(path, problem=problem)


def traced_call(line: str) -> TracedCall | None:
    """Return the call that a line reports; None for any other line."""
    try:
        return _LINE.decode(line)
    except msgspec.MsgspecError:
        return None


def call_path(calls: Sequence[TracedCall], about: CallPath) -> CallPath:
    """Return ``about`` with a summary of the calls of its message size.

    The usual number of instructions is the most frequent one, of several the smallest; the usual
    call is the latest that has it, since its caches are as warm as they get. A call that was cut
    counts only where all were.
    """
    calls = [call for call in calls if call.message_bytes == about.message_bytes]
    timed_calls = [call for call in calls if call.number]
    warm = [call for call in timed_calls if not call.cut] or timed_calls
    counts = sorted(Counter(call.instructions for call in warm).items())
    usual = max(counts, key=lambda pair: (pair[1], -pair[0]), default=(0, 0))[0]
    return msgspec.structs.replace(
        about,
        calls=tuple(counts),
        usual=next((call for call in reversed(warm) if call.instructions == usual), None),
        cold=next((call for call in calls if not call.number), None),
    )
