"""Find the programs that measure: our engine for one MPI, or another suite's.

The engine, and the MPI that came with this program, are brought to nodes that lack them.
"""

import platform
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import Unreached
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.words.sentences import listed
from fabricgauge.nodes.engines.find import (
    describe_launcher,
    describe_mpi,
    embedded_mpi,
    find_library,
    find_mpis,
    find_runtimes,
    mpi_of,
)
from fabricgauge.nodes.engines.ready_made import ready_engine, ready_programs, sha256_of
from fabricgauge.nodes.launch.carrying import (
    MpiOfHead,
    Parcel,
    Placed,
    ask_nodes,
    drop,
    find_mpi_faults,
    place,
    read_versions,
    usual_bases,
)

if TYPE_CHECKING:
    from fabricgauge.check.target import Target
    from fabricgauge.logs.tools.table import Effort, Tool


class Suite(msgspec.Struct, frozen=True):
    """The suite that is to measure: its programs, the MPI that starts them, and how much."""

    tool: "Tool"
    programs: dict[str, Path]
    mpi: Mpi | None
    effort: "Effort"

    def described(self) -> dict[str, str]:
        """Return facts for the run's environment."""
        facts = {
            name: str(self.programs.get(name, "not found: its part is skipped"))
            for name in program_names(self.tool, self.effort)
        }
        if self.mpi is not None:
            facts["MPI"] = f"{self.mpi.kind} {self.mpi.version} ({self.mpi.mpiexec})"
        return {"suite": self.tool.name, **facts}


def program_names(tool: "Tool", effort: "Effort") -> tuple[str, ...]:
    """Return the names of the programs that the suite's starts need."""
    return tuple(dict.fromkeys(start.client[0] for start in tool.starts(effort)))


def engine_for(mpi: str | None, progress: Progress, compiler: str = "") -> Engine:
    """Return the engine for an MPI's kind or path; empty is the embedded MPI.

    A ready-made engine is used if this installation has one for the MPI. ``compiler`` is a C++
    compiler to build one with instead.

    Raises:
        UsageError: no MPI of that kind was found; the message lists the MPIs that were.
        CannotRun: no ready-made engine fits the MPI, or it could not be built.
    """
    used_mpi = named_mpi(mpi) if mpi else default_mpi()
    if not compiler and (ready := ready_engine(used_mpi)):
        return ready
    from fabricgauge.nodes.engines.build import build

    notify = partial(progress.stage, "building the engine for this MPI, once")
    return with_library(build(used_mpi, compiler=compiler, notify=notify))


def with_library(engine: Engine) -> Engine:
    """Return the engine with its digest and the MPI's library, if it was found."""
    engine = msgspec.structs.replace(engine, sha256=sha256_of(engine.path))
    try:
        library = find_library(engine.mpi)
    except CannotRun:  # a build knows where its library is
        return engine
    return msgspec.structs.replace(engine, library=str(library.path))


def default_mpi() -> Mpi:
    """Return the embedded MPI; without it, the first MPI for which no compiler is needed.

    Raises:
        CannotRun: there is none.
    """
    try:
        return embedded_mpi()
    except CannotRun:
        runtimes = find_runtimes() if ready_programs() else ()
        if not runtimes:
            raise
        return runtimes[0]


def named_mpi(mpi: str) -> Mpi:
    """Return the MPI of that kind, or of the path of its compiler wrapper or launcher.

    Raises:
        UsageError: no such MPI was found; the message lists the MPIs that were.
    """
    if "/" in mpi:
        is_launcher = Path(mpi).name.startswith(("mpiexec", "mpirun"))
        return describe_launcher(Path(mpi)) if is_launcher else describe_mpi(Path(mpi))
    places: list[str] = []
    for find, program in ((find_mpis, "mpicxx"), (find_runtimes, "mpiexec")):
        for candidate in find():
            if candidate.kind == mpi:
                return candidate
            places.append(f"{candidate.kind} ({getattr(candidate, program)})")
    raise UsageError(f"no MPI {mpi!r} was found; available: {', '.join(places) or 'none'}")


def suite_for(request: MeasurementRequest, progress: Progress) -> Suite:
    """Return the suite that ``--tool`` names, with its programs and the MPI they need.

    Raises:
        UsageError: no such suite, key or value, or no MPI of the requested kind.
        ToolMissing: none of its programs is installed.
        CannotRun: no MPI can start them.
    """
    from fabricgauge.logs.tools.find import find_programs
    from fabricgauge.logs.tools.table import EFFORTS, TOOLS, read_tool
    from fabricgauge.nodes.launch.transports import VERBS, known_transport, transport_values

    progress.stage(f"finding {request.tool}")
    words = read_tool(request.tool)
    name = words.suite
    tool = TOOLS.get(name)
    if tool is None:
        suites = f"{', '.join(TOOLS)}; inside nodes nvbandwidth and rocm-bandwidth-test"
        raise UsageError(f"unknown suite {name!r}; available: {suites}")
    verbs = transport_values(known_transport(f"{VERBS}:{words.keys}")) if words.keys else {}
    if unknown := [key for key in verbs if key not in tool.keys]:
        keys = f"it has {', '.join(tool.keys)}" if tool.keys else "it has no keys"
        raise UsageError(f"--tool {name} has no key {', '.join(unknown)}; {keys}")
    effort = msgspec.structs.replace(EFFORTS[request.profile], verbs=verbs, tests=words.tests)
    if request.parallel:
        effort = msgspec.structs.replace(effort, streams=request.parallel)
    tool_paths = (Path(request.tool_path).resolve(),) if request.tool_path else ()
    tool_programs = find_programs(tool, tool_paths, program_names(tool, effort))
    mpi = None
    if tool.kind == "mpi":
        program = next(iter(tool_programs.values()))
        mpi = named_mpi(request.mpi) if request.mpi else mpi_of(program, find_mpis())
    return Suite(tool, tool_programs, mpi, effort)


#: Programs beside ``mpiexec`` that an MPI's launcher starts on each node: Hydra's proxy; the
#: daemons of Open MPI 4 (ORTE) and 5 (PRRTE).
HELPERS = {
    "mpich": ("hydra_pmi_proxy",),
    "intelmpi": ("hydra_bstrap_proxy", "hydra_pmi_proxy"),
    "openmpi": ("orted", "prted"),
}

#: Launchers whose ranks need no helper of the MPI, and those whose hosts are this machine.
_WITHOUT_HELPER, _HERE = ("srun",), ("local", "simulated")

#: The files of the MPI that came with this program, below its prefix (PyPI's mpich 5.0).
MPI_FILES = (
    "bin/mpiexec.hydra", "bin/hydra_pmi_proxy", "lib/libmpi.so.12", "lib/mpich/**/*.so*",
)  # fmt: skip
#: The file that stands for the unpacked MPI.
MPI_MARK = "mpi"


@contextmanager
def engine_on_nodes(target: "Target") -> Iterator["Target"]:
    """Yield the target with an engine that all its nodes have; remove copies at the end.

    Nodes that cannot hold it, or that have another MPI, are ``left_out`` with their reasons.
    """
    engine = target.engine
    if engine is None or target.simulation or target.access.launcher in _HERE:
        yield target
        return
    hosts, keep = target.access.hosts, target.request.keep_programs
    bases = usual_bases(str(Path.home()))
    parcel = Parcel(engine.path, engine.path.name, engine.sha256 or sha256_of(engine.path))
    mpi = mpi_of_head(engine, target.access.launcher)
    answers = ask_nodes(hosts, parcel, bases, mpi)
    with ExitStack() as at_end:
        nodes = [answers[host.node] for host in hosts]
        lacking = any(
            node.answered and not (node.has_library and node.has_helper) for node in nodes
        )
        carried_mpi = None
        home = engine.mpi.mpiexec.parent.parent
        if lacking and engine.mpi.embedded and all(any(home.glob(files)) for files in MPI_FILES):
            target.progress.stage(f"carrying the MPI to {_nodes_in_words(hosts)}")
            carried_mpi = at_end.enter_context(_mpi_on_nodes(target.access, bases, keep))
        moved = [] if carried_mpi is None else [host.node for host in hosts]
        faults = find_mpi_faults(answers, mpi, platform.machine(), moved)
        if carried_mpi is not None:
            faults |= carried_mpi.failures
            engine = _with_carried_mpi(engine, carried_mpi)
        fitting = [host for host in hosts if host.node not in faults]
        if any(str(parcel.file) not in answers[host.node].files for host in fitting):
            target.progress.stage(f"carrying the engine to {_nodes_in_words(fitting)}")
        placed = place(fitting, parcel, bases, answers, keep=keep)
        if not keep:
            at_end.callback(drop, hosts, placed, parcel)
        faults |= placed.failures
        for node, reason in faults.items():
            target.progress.trouble(f"{node} is left out: {reason}")
        yield msgspec.structs.replace(
            target,
            engine=msgspec.structs.replace(engine, path=Path(placed.path)),
            left_out=tuple(
                Unreached(node, f"{node} cannot measure: {reason}", answers=True)
                for node, reason in faults.items()
            ),
            carried=placed.carried,
        )


def mpi_of_head(engine: Engine, launcher: str) -> MpiOfHead:
    """Return what a node's MPI must be like; empty if the MPI's library was not found."""
    helpers = () if launcher in _WITHOUT_HELPER else HELPERS.get(engine.mpi.kind, ())
    paths = (engine.mpi.mpiexec.parent / name for name in helpers)
    helper = next((str(path) for path in paths if path.exists()), "")
    if not engine.library:
        return MpiOfHead(helper=helper)
    library = Path(engine.library)
    return MpiOfHead(engine.library, sha256_of(library), read_versions(library), helper)


@contextmanager
def _mpi_on_nodes(access: HostAccess, bases: Sequence[str], keep: bool) -> Iterator[Placed]:
    """Carry the embedded MPI to all nodes and to the machine that starts it; yield where it is."""
    home = embedded_mpi().mpiexec.parent.parent
    hosts = (*access.hosts, Host("", access.head_prefix))
    with tempfile.TemporaryDirectory(prefix="fabricgauge-mpi-") as folder:
        archive = Path(folder) / "mpi.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
            for pattern in MPI_FILES:
                for file in sorted(home.glob(pattern)):
                    packed.add(file, str(file.relative_to(home)))
        parcel = Parcel(archive, MPI_MARK, sha256_of(archive), archive=True)
        asked = ask_nodes(hosts, parcel, bases)
        placed = place(hosts, parcel, bases, asked, keep=keep)
        try:
            yield placed
        finally:
            if not keep:
                drop(hosts, placed, parcel)


def _with_carried_mpi(engine: Engine, placed: Placed) -> Engine:
    home = Path(placed.path).parent
    mpi = msgspec.structs.replace(engine.mpi, mpiexec=home / "bin" / "mpiexec.hydra")
    library = home / "lib" / "libmpi.so.12"
    folders = (str(library.parent), *engine.library_path)
    return msgspec.structs.replace(
        engine, mpi=mpi, library=str(library), library_path=tuple(dict.fromkeys(folders))
    )


def _nodes_in_words(hosts: Sequence[Host]) -> str:
    names = [host.node for host in hosts]
    return listed(names) if len(names) <= 8 else f"{len(names):,} nodes"
