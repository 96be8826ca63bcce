"""The measuring program and the MPI libraries that it can be built against."""

from pathlib import Path
from typing import Literal

import msgspec

#: ``simgrid`` is SimGrid's SMPI, whose ranks are simulated.
MpiKind = Literal["mpich", "openmpi", "intelmpi", "simgrid"]

#: The library next to a SimGrid engine. It loads a platform and plants faults into it.
SIMULATED_LIBRARY = "libfabricgauge-planted.so"


class Mpi(msgspec.Struct, frozen=True):
    """One MPI installation: its compiler wrapper and its launcher.

    ``embedded`` is true if it came with this program's Python environment. ``env`` are the
    variables that its set-up script would set for the programs that it starts. ``standard_abi``
    is true of a program that is linked with the ABI of MPI 5.0 instead of the MPI's own.
    """

    kind: MpiKind
    version: str
    mpicxx: Path
    mpiexec: Path
    embedded: bool = False
    env: dict[str, str] = {}
    standard_abi: bool = False


class Engine(msgspec.Struct, frozen=True):
    """One build of the measuring program.

    ``identity`` is the hash of all inputs of the build: compiler, MPI, flags and sources.
    ``compiler`` is the first line of the compiler's version text, ``sources`` the digest of the
    sources. A ``ready_made`` one came with this program, compiled for ``target``; ``sha256`` is its
    digest. ``library`` is the MPI's library on the head, and ranks look for it in the folders of
    ``library_path`` first.
    """

    path: Path
    mpi: Mpi
    identity: str
    flags: tuple[str, ...]
    compiler: str
    sources: str = ""
    sha256: str = ""
    target: str = ""
    ready_made: bool = False
    library: str = ""
    library_path: tuple[str, ...] = ()
