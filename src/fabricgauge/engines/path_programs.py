"""The two programs of ``path``: the tracer, and what makes the calls; built once for each MPI."""

import hashlib
import os
import platform
import shutil
from pathlib import Path

import msgspec

from fabricgauge.engines.build import DEFINITIONS, first_line
from fabricgauge.engines.cache import cache_folder, keep_folder, workshop
from fabricgauge.engines.connect_program import COMPILERS
from fabricgauge.engines.sources import FLAGS, identity_of, run_all, source_folder
from fabricgauge.files.ownership import not_own
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

TRACER, CALLS = "fabricgauge-path", "fabricgauge-path-calls"
MACHINE = "x86_64"
#: What the tracer takes of the engine.
_SHARED = ("json", "number", "pin")
#: Where a distribution puts the decoder's header (Debian: libzydis-dev).
ZYDIS_HEADER = Path("/usr/include/Zydis/Zydis.h")


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
    files = [*(sources / "path").glob("*.?pp"), *(sources / "src" / f"{s}.cpp" for s in _SHARED)]
    digest = hashlib.sha256(b"".join(one.read_bytes() for one in sorted(files))).hexdigest()
    version = first_line(mpi.mpicxx, "--version", mpi.env)
    named = [str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, version]
    place = cache_folder() / f"path-{identity_of([*named, *FLAGS, *DEFINITIONS, digest])}"
    made = PathPrograms(place / TRACER, place / CALLS, mpi)
    programs = (made.tracer, made.calls)
    if all(os.access(one, os.X_OK) and not not_own(one, or_roots=True) for one in programs):
        return made
    _build(mpi, sources, place)
    return made


def _build(mpi: Mpi, sources: Path, place: Path) -> None:
    compiler = next((found for one in COMPILERS if (found := shutil.which(one))), None)
    if compiler is None:
        raise ToolMissing(f"no C++ compiler ({', '.join(COMPILERS)}) is installed; install g++")
    if not ZYDIS_HEADER.exists():
        raise ToolMissing(
            f"the tracer needs the decoder Zydis, and {ZYDIS_HEADER} does not exist; install"
            " Debian's libzydis-dev (on other nodes libzydis4.0)"
        )
    folder = sources / "path"
    units = [one for one in sorted(folder.glob("*.cpp")) if one.stem != "calls"]
    units += [sources / "src" / f"{stem}.cpp" for stem in _SHARED]
    include = (f"-I{sources / 'include'}", f"-I{folder}")
    with workshop() as made:
        tracer = [compiler, *FLAGS, *include, *map(str, units), "-o", str(made / TRACER), "-lZydis"]
        calls = [str(mpi.mpicxx), *FLAGS, *DEFINITIONS, *include, str(folder / "calls.cpp")]
        run_all([tracer])
        run_all([[*calls, "-o", str(made / CALLS)]], mpi.env)
        keep_folder(made, place)
