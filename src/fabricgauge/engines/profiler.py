"""The profiling library, built once for each MPI and each state of its sources."""

import hashlib
import shlex
import shutil
from pathlib import Path

from fabricgauge.engines.build import DEFINITIONS, link_line
from fabricgauge.engines.cache import kept_files
from fabricgauge.engines.find import embedded_mpi
from fabricgauge.engines.sources import FLAGS, identity_of, run_all, source_folder
from fabricgauge.model.engine import Mpi

LIBRARY = "libfabricgauge-profile.so"

#: It comes into programs that have no MPI and another C++ library, so that it needs neither. Its
#: memory of each thread is reached at once, since it is there from a program's start.
OWN_FLAGS = (
    "-fPIC", "-shared", "-ftls-model=initial-exec", "-static-libstdc++", "-static-libgcc",
    "-Wl,--exclude-libs,ALL",
)  # fmt: skip
#: Words of an MPI's wrapper that link with that MPI.
_LINKING = ("-l", "-L", "-Wl")


def profile_library(mpi: Mpi) -> Path:
    """The library for programs of that MPI: the kept one if nothing has changed, else a new one.

    Raises:
        CannotRun: this installation has no sources, or the compiler refused them.
    """
    if mpi.kind == "intelmpi" and not (mpi.mpicxx.exists() and shutil.which(_compiler(mpi)[0])):
        mpi = embedded_mpi()  # a run-time alone, or no icpx; both have MPICH's ABI
    folder = source_folder() / "profile"
    units, headers = sorted(folder.glob("*.cpp")), sorted(folder.glob("*.hpp"))
    content = hashlib.sha256(b"".join(one.read_bytes() for one in (*units, *headers))).hexdigest()
    calling = [*_compiler(mpi), *FLAGS, *DEFINITIONS, *OWN_FLAGS]
    identity = identity_of([str(mpi.mpicxx), mpi.kind, mpi.version, content, *calling])

    def compiled(folder: Path) -> None:
        run_all([[*calling, *map(str, units), "-o", str(folder / LIBRARY)]], mpi.env)

    (library,) = kept_files(f"profile-{identity}", [LIBRARY], compiled)
    return library


def _compiler(mpi: Mpi) -> list[str]:
    """The wrapper's compiler with its words, without those that link."""
    return [word for word in shlex.split(link_line(mpi, mpi.env)) if not word.startswith(_LINKING)]
