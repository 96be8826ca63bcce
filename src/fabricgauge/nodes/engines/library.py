"""Find the library of an MPI, which decides which programs it can run.

MPICH, Intel MPI, MVAPICH and HPE Cray share one ABI (MPICH ABI Compatibility Initiative), Open MPI
4 and 5 another, and the standard has a third (MPI 5.0, chapter 20).
"""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.elf import parse_elf

#: Names of the library by kind of MPI, in the order of the search. ``libmpich.so.12`` is Debian's
#: name for MPICH's ABI; ``libmpi_abi.so.1`` is that of the standard's.
STANDARD_ABI = "libmpi_abi.so.1"
SONAMES: dict[MpiKind, tuple[str, ...]] = {
    "mpich": ("libmpi.so.12", "libmpich.so.12", STANDARD_ABI),
    "intelmpi": ("libmpi.so.12", STANDARD_ABI),
    "openmpi": ("libmpi.so.40", STANDARD_ABI),
}

#: Folders that the loader searches by itself (ld.so(8)); Debian has one for each architecture.
_TRIPLET = f"{platform.machine()}-linux-gnu"
SYSTEM_FOLDERS = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    f"/lib/{_TRIPLET}",
    f"/usr/lib/{_TRIPLET}",
)

#: Folders below an MPI's prefix; ``lib/release`` is Intel MPI's up to 2021.12.
_FOLDERS = ("lib", "lib64", "lib/release", f"lib/{_TRIPLET}")

#: Largest library that is read: Intel MPI's has 70 MB.
_MOST_BYTES = 1 << 28


class MpiLibrary(msgspec.Struct, frozen=True):
    """The file, and the name by which programs are linked with it."""

    path: Path
    soname: str


def find_library(mpi: Mpi) -> MpiLibrary:
    """Return the library of an MPI: one whose ABI is known if there is one.

    Raises:
        CannotRun: there is none for this processor; the message names the folders.
    """
    wanted = SONAMES.get(mpi.kind, ())
    folders = tuple(_library_folders(mpi))
    names = [*wanted, *(f"libmpi.so.{number}" for number in range(60))]
    files = (folder / name for name in dict.fromkeys(names) for folder in folders)
    others = []
    for file in filter(Path.is_file, files):
        elf = parse_elf(file.read_bytes()) if file.stat().st_size < _MOST_BYTES else None
        if elf is None or elf.machine != platform.machine():
            continue
        if elf.soname in wanted:
            return MpiLibrary(file, elf.soname)
        others.append(MpiLibrary(file, elf.soname or file.name))
    if others:
        return others[0]
    raise CannotRun(
        f"the library of the MPI at {mpi.mpiexec} was found in none of"
        f" {', '.join(map(str, folders))} ({' or '.join(wanted)}); name the MPI by the path of its"
        " mpiexec: --mpi PATH"
    )


def _library_folders(mpi: Mpi) -> Iterator[Path]:
    homes = dict.fromkeys((mpi.mpiexec.parent.parent, mpi.mpiexec.resolve().parent.parent))
    for home in homes:
        for name in _FOLDERS:
            if (home / name).is_dir():
                yield home / name


def library_path(mpi: Mpi, library: MpiLibrary) -> tuple[str, ...]:
    """Return the folders in which ranks must look for the library; none for the system's."""
    folder = str(library.path.parent)
    present = mpi.env.get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    folders = () if folder in SYSTEM_FOLDERS else (folder,)
    return tuple(dict.fromkeys((*folders, *filter(None, present.split(":"))))) if folders else ()
