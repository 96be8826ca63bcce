"""Find the programs that came with this installation, built for every Linux since 2014.

A wheel of a release has them; a source checkout has none and compiles. ``scripts/build-programs``
builds them.
"""

import hashlib
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.cache import cached_engines
from fabricgauge.nodes.engines.library import MpiLibrary, find_library, library_path
from fabricgauge.nodes.engines.sources import digest, source_folder

#: The programs in an installed package.
INSTALLED = Path(__file__).resolve().parents[2] / "_programs"
MANIFEST = "programs.json"

#: The oldest glibc that they run with: RHEL 7's, of 2014.
LEAST_GLIBC = (2, 17)

Kind = Literal["engine", "connect", "tracer", "calls", "profile"]


class ReadyMade(msgspec.Struct, frozen=True):
    """One program, and how it was built. ``soname`` is the MPI library that it is linked with.

    ``sources`` is the digest of the engine's sources.
    """

    file: str
    kind: Kind
    machine: str
    soname: str
    sha256: str
    bytes: int
    compiler: str
    target: str
    flags: tuple[str, ...]
    sources: str


def encode_manifest(programs: Iterable[ReadyMade]) -> bytes:
    """Return the content of programs.json."""
    return msgspec.json.format(msgspec.json.encode(tuple(programs)), indent=1) + b"\n"


@cache
def ready_programs(folder: Path = INSTALLED) -> tuple[ReadyMade, ...]:
    """Return the programs of this installation; none in a source checkout."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=tuple[ReadyMade, ...])
    except FileNotFoundError:
        return ()


def find_program(kind: Kind, soname: str = "", folder: Path = INSTALLED) -> ReadyMade | None:
    """Return the program for this machine's processor and an MPI library; None without one."""
    machine = platform.machine()
    for program in ready_programs(folder):
        if (program.kind, program.machine, program.soname) == (kind, machine, soname):
            return program
    return None


def ready_libraries(folder: Path = INSTALLED) -> list[str]:
    """Return the names of the MPI libraries for which this machine has a ready-made engine."""
    return sorted(
        program.soname
        for program in ready_programs(folder)
        if (program.kind, program.machine) == ("engine", platform.machine())
    )


def checked_path(program: ReadyMade, folder: Path = INSTALLED) -> Path:
    """Return the path of a program after a check of its digest and its permission.

    Raises:
        CannotRun: the file was changed, or it cannot be executed.
    """
    path = folder / program.file
    try:
        sha256 = sha256_of(path)
    except OSError as error:
        raise CannotRun(
            f"cannot read {path}: {error.strerror}; install fabricgauge again"
        ) from error
    if sha256 != program.sha256:
        raise CannotRun(f"{path} differs from the released file; install fabricgauge again")
    if program.kind != "profile" and not os.access(path, os.X_OK):
        raise CannotRun(f"{path} may not be executed; run chmod +x {path}")
    return path


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ready_engine(mpi: Mpi, folder: Path = INSTALLED) -> Engine | None:
    """Return the engine for an MPI without compiling; None if this installation has none.

    An engine that ``engine build`` made of the same sources for this MPI has precedence.

    Raises:
        CannotRun: no ready-made engine fits the MPI's library.
    """
    if not ready_programs(folder):
        return None
    if built := _built_before(mpi):
        return built
    library = find_library(mpi)
    program = find_program("engine", library.soname, folder)
    if program is None:
        raise CannotRun(_describe_missing(library, folder))
    return Engine(
        checked_path(program, folder), mpi, f"ready-made-{program.sha256[:16]}", program.flags,
        program.compiler, sha256=program.sha256, target=program.target, ready_made=True,
        library=str(library.path), library_path=library_path(mpi, library),
    )  # fmt: skip


def _built_before(mpi: Mpi) -> Engine | None:
    sources = digest(source_folder())
    for engine in cached_engines():
        same_mpi = (engine.mpi.mpicxx, engine.mpi.version) == (mpi.mpicxx, mpi.version)
        if same_mpi and engine.sources == sources:
            return engine
    return None


def _describe_missing(library: MpiLibrary, folder: Path) -> str:
    sonames = ", ".join(ready_libraries(folder)) or "no MPI"
    return (
        f"{library.path} has the ABI {library.soname}, and the ready-made engines for"
        f" {platform.machine()} have {sonames}; build one with fabricgauge engine build --mpicxx"
        " PATH, which needs a C++ compiler"
    )
