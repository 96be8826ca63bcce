"""Build the profiling library, once for each MPI and each state of its sources."""

import hashlib
import shlex
import shutil
from contextlib import suppress
from pathlib import Path

from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.build import (
    DEFINITIONS,
    FLAGS,
    cached_files,
    identity_of,
    link_line,
    run_all,
    source_folder,
)
from fabricgauge.nodes.engines.find import embedded_mpi
from fabricgauge.nodes.engines.library import STANDARD_ABI, find_library
from fabricgauge.nodes.engines.ready_made import checked_path, find_program, ready_programs

LIBRARY = "libfabricgauge-profile.so"

#: The library is loaded into programs without MPI or with another C++ library, so it needs neither.
#: It exists from a program's start, so that its thread-local memory needs no function call.
LIBRARY_FLAGS = (
    "-fPIC", "-shared", "-ftls-model=initial-exec", "-static-libstdc++", "-static-libgcc",
    "-Wl,--exclude-libs,ALL",
)  # fmt: skip
#: Words of an MPI's wrapper that link with that MPI.
_LINKING = ("-l", "-L", "-Wl")


def profile_library(mpi: Mpi) -> Path:
    """Return the library for programs of that MPI: ready-made, or cached, or new.

    Raises:
        CannotRun: this installation has no sources, or the compiler could not build them.
    """
    if ready := _ready_library(mpi):
        return ready
    if mpi.kind == "intelmpi" and not (mpi.mpicxx.exists() and shutil.which(_compiler(mpi)[0])):
        mpi = embedded_mpi()  # for a run-time without compiler; both have MPICH's ABI
    folder = source_folder() / "profile"
    units, headers = sorted(folder.glob("*.cpp")), sorted(folder.glob("*.hpp"))
    content = hashlib.sha256(b"".join(file.read_bytes() for file in (*units, *headers))).hexdigest()
    abi = ["-DMPI_ABI"] if mpi.standard_abi else []
    compiler = [*_compiler(mpi), *abi, *FLAGS, *DEFINITIONS, *LIBRARY_FLAGS]
    identity = identity_of([str(mpi.mpicxx), mpi.kind, mpi.version, content, *compiler])

    def compile_library(folder: Path) -> None:
        run_all([[*compiler, *map(str, units), "-o", str(folder / LIBRARY)]], mpi.env)

    (library,) = cached_files(f"profile-{identity}", [LIBRARY], compile_library)
    return library


def _ready_library(mpi: Mpi) -> Path | None:
    with suppress(CannotRun):  # an unknown ABI: compile for it
        if not ready_programs():
            return None
        soname = STANDARD_ABI if mpi.standard_abi else find_library(mpi).soname
        program = find_program("profile", soname)
        return checked_path(program) if program else None
    return None


def _compiler(mpi: Mpi) -> list[str]:
    """Return the wrapper's compiler with its words, without the words that link."""
    return [word for word in shlex.split(link_line(mpi, mpi.env)) if not word.startswith(_LINKING)]
