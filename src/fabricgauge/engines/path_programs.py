"""The two programs of ``path``: the tracer, and what makes the calls; built once for each MPI."""

import hashlib
import platform
from pathlib import Path

import msgspec

from fabricgauge.engines.build import DEFINITIONS, compiled_core, first_line
from fabricgauge.engines.cache import kept_files
from fabricgauge.engines.sources import (
    FLAGS,
    LIBRARIES,
    digest,
    identity_of,
    run_all,
    source_folder,
)
from fabricgauge.model.call_path import CALLS
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

TRACER = "fabricgauge-path"
MACHINE = "x86_64"
#: Where a distribution puts the decoder's header (Debian: libzydis-dev).
ZYDIS_HEADER = Path("/usr/include/Zydis/Zydis.h")
#: What the tracer loads on each node.
ZYDIS_LIBRARY = "libZydis.so"


class PathPrograms(msgspec.Struct, frozen=True):
    """``tracer`` takes a rank's place and starts ``calls``, which is built for ``mpi``."""

    tracer: Path
    calls: Path
    mpi: Mpi


def path_programs(mpi: Mpi) -> PathPrograms:
    """The kept programs if nothing has changed, else new ones.

    Raises:
        CannotRun: this processor is not supported, or a compiler refused the sources.
        ToolMissing: there is no decoder of instructions, or no compiler.
    """
    if platform.machine() != MACHINE:
        raise CannotRun(f"path traces x86-64 only; this machine is {platform.machine()}")
    sources = source_folder()
    files = sorted([*(sources / "path").glob("*.?pp"), *(sources / "calls").glob("*.?pp")])
    own = hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()
    version = first_line(mpi.mpicxx, "--version", mpi.env)
    named = [str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, version]
    identity = identity_of([*named, *FLAGS, *DEFINITIONS, own, digest(sources)])
    tracer, calls = kept_files(
        f"path-{identity}", (TRACER, CALLS), lambda folder: _build(mpi, version, folder)
    )
    return PathPrograms(tracer, calls, mpi)


def _build(mpi: Mpi, version: str, folder: Path) -> None:
    if not ZYDIS_HEADER.exists():
        raise ToolMissing(
            f"the tracer needs the decoder Zydis, and {ZYDIS_HEADER} does not exist; install"
            " Debian's libzydis-dev (on other nodes libzydis4.0)"
        )
    sources = source_folder()
    plain, core = compiled_core(mpi, mpi.env, version)
    linked = [f"-I{sources / 'include'}", f"-I{sources / 'path'}", *map(str, core), *LIBRARIES]
    tracer, calls = (map(str, sorted((sources / one).glob("*.cpp"))) for one in ("path", "calls"))
    calling = [str(mpi.mpicxx), *FLAGS, *DEFINITIONS]
    commands = [
        [*plain, *tracer, *linked, "-lZydis", "-o", str(folder / TRACER)],
        [*calling, *calls, *linked, "-o", str(folder / CALLS)],
    ]
    run_all(commands, mpi.env)
