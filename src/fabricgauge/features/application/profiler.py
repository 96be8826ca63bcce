"""Build the profiling library, once for each MPI and each state of its sources."""

import hashlib
import shlex
import shutil
from pathlib import Path

from fabricgauge.model.engine import Mpi
from fabricgauge.nodes.engines.build import DEFINITIONS, link_line
from fabricgauge.nodes.engines.cache import cached_files
from fabricgauge.nodes.engines.find import embedded_mpi
from fabricgauge.nodes.engines.sources import FLAGS, identity_of, run_all, source_folder

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
    """Return the library for programs of that MPI: cached if nothing has changed, else new.

    Raises:
        CannotRun: this installation has no sources, or the compiler could not build them.
    """
    if mpi.kind == "intelmpi" and not (mpi.mpicxx.exists() and shutil.which(_compiler(mpi)[0])):
        mpi = embedded_mpi()  # for a run-time without compiler; both have MPICH's ABI
    folder = source_folder() / "profile"
    units, headers = sorted(folder.glob("*.cpp")), sorted(folder.glob("*.hpp"))
    content = hashlib.sha256(b"".join(file.read_bytes() for file in (*units, *headers))).hexdigest()
    compiler = [*_compiler(mpi), *FLAGS, *DEFINITIONS, *LIBRARY_FLAGS]
    identity = identity_of([str(mpi.mpicxx), mpi.kind, mpi.version, content, *compiler])

    def compile_library(folder: Path) -> None:
        run_all([[*compiler, *map(str, units), "-o", str(folder / LIBRARY)]], mpi.env)

    (library,) = cached_files(f"profile-{identity}", [LIBRARY], compile_library)
    return library


def _compiler(mpi: Mpi) -> list[str]:
    """Return the wrapper's compiler with its words, without the words that link."""
    return [word for word in shlex.split(link_line(mpi, mpi.env)) if not word.startswith(_LINKING)]
