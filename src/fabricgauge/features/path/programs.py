"""Build the two programs of ``path`` once for each MPI: the tracer and the traced program."""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from fabricgauge.check.programs import engine_on_nodes
from fabricgauge.check.target import Target
from fabricgauge.features.path.values import CALLS
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes.engines.build import (
    DEFINITIONS,
    FLAGS,
    LIBRARIES,
    cached_files,
    compile_core,
    identify_programs,
    run_all,
    source_folder,
)
from fabricgauge.nodes.engines.find import find_library, library_path
from fabricgauge.nodes.engines.ready_made import checked_path, find_program, ready_programs
from fabricgauge.nodes.launch.carrying import required_on_nodes

TRACER = "fabricgauge-path"
MACHINE = "x86_64"
#: The decoder's header in a distribution (Debian: libzydis-dev).
ZYDIS_HEADER = Path("/usr/include/Zydis/Zydis.h")
#: Library that the tracer loads on each node.
ZYDIS_LIBRARY = "libZydis.so"


class PathPrograms(msgspec.Struct, frozen=True):
    """``tracer`` runs as a rank and starts ``calls``, which is built for ``mpi``.

    ``ready_made`` ones have the decoder inside. Ranks look for the MPI's library in
    ``library_path`` first.
    """

    tracer: Path
    calls: Path
    mpi: Mpi
    ready_made: bool = False
    library_path: tuple[str, ...] = ()


def path_programs(mpi: Mpi, notify: Callable[[], None] = lambda: None) -> PathPrograms:
    """Return the ready-made programs, or the cached ones if nothing has changed, else new ones.

    ``notify`` is called before new ones are built.

    Raises:
        CannotRun: this processor is not supported, or a compiler could not build the sources.
        ToolMissing: the decoder of instructions or a compiler is not installed.
    """
    if platform.machine() != MACHINE:
        raise CannotRun(f"path traces x86-64 only; this machine is {platform.machine()}")
    if ready := _ready_programs(mpi):
        return ready
    identity, version = identify_programs(mpi, "path", "calls")

    def make(folder: Path) -> None:
        notify()
        _build(mpi, version, folder)

    tracer, calls = cached_files(f"path-{identity}", (TRACER, CALLS), make)
    return PathPrograms(tracer, calls, mpi)


@contextmanager
def programs_on_nodes(programs: PathPrograms, target: Target) -> Iterator[PathPrograms]:
    """Yield the programs, and the embedded MPI, at paths that all nodes have.

    Raises:
        CannotRun: a node cannot hold them, or has another MPI.
    """
    library = ""
    with suppress(CannotRun):  # the launch decides
        library = str(find_library(programs.mpi).path)
    tracer = Engine(programs.tracer, programs.mpi, "", (), "", library=library,
                    library_path=programs.library_path)  # fmt: skip
    with engine_on_nodes(msgspec.structs.replace(target, engine=tracer)) as placed:
        for node in placed.left_out:
            raise CannotRun(f"{node.reason}; leave it out with -x {node.name}")
        engine = placed.engine or tracer
        is_here = target.access.launcher == "local"
        hosts = target.access.hosts
        with (
            nullcontext(programs.calls) if is_here else required_on_nodes(programs.calls, hosts)
        ) as calls:
            yield msgspec.structs.replace(
                programs, tracer=engine.path, calls=calls, mpi=engine.mpi,
                library_path=engine.library_path,
            )  # fmt: skip


def _ready_programs(mpi: Mpi) -> PathPrograms | None:
    if not ready_programs():
        return None
    with suppress(CannotRun):  # an unknown ABI: compile for it
        library = find_library(mpi)
        tracer, calls = find_program("tracer"), find_program("calls", library.soname)
        if tracer and calls:
            paths = library_path(mpi, library)
            return PathPrograms(checked_path(tracer), checked_path(calls), mpi, True, paths)
    return None


def _build(mpi: Mpi, version: str, folder: Path) -> None:
    if not ZYDIS_HEADER.exists():
        raise ToolMissing(
            f"the tracer needs the decoder Zydis, but {ZYDIS_HEADER} does not exist; install"
            " Debian's libzydis-dev (on other nodes libzydis4.0)"
        )
    sources = source_folder()
    compiler, core = compile_core(mpi, mpi.env, version)
    words = [f"-I{sources / 'include'}", f"-I{sources / 'path'}", *map(str, core), *LIBRARIES]
    tracer, calls = (map(str, sorted((sources / name).glob("*.cpp"))) for name in ("path", "calls"))
    mpi_compiler = [str(mpi.mpicxx), *FLAGS, *DEFINITIONS]
    commands = [
        [*compiler, *tracer, *words, "-lZydis", "-o", str(folder / TRACER)],
        [*mpi_compiler, *calls, *words, "-o", str(folder / CALLS)],
    ]
    run_all(commands, mpi.env)
