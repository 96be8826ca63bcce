"""Find the programs that came with this installation, or build that of the connectivity round.

A wheel of a release has programs that run on every Linux since 2014, which
``scripts/build-programs`` builds; a source checkout has none and compiles.
"""

import hashlib
import os
import platform
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.build import (
    FLAGS,
    cached_engines,
    cached_files,
    digest,
    digest_files,
    identity_of,
    run_all,
    source_folder,
)
from fabricgauge.nodes.engines.find import find_library, library_path

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
    sources = digest(source_folder())
    for engine in cached_engines():
        same_mpi = (engine.mpi.mpicxx, engine.mpi.version) == (mpi.mpicxx, mpi.version)
        if same_mpi and engine.sources == sources:
            return engine
    library = find_library(mpi)
    program = find_program("engine", library.soname, folder)
    if program is None:
        sonames = ", ".join(ready_libraries(folder)) or "no MPI"
        raise CannotRun(
            f"{library.path} has the ABI {library.soname}, and the ready-made engines for"
            f" {platform.machine()} have {sonames}; build one with fabricgauge engine build"
            " --mpicxx PATH, which needs a C++ compiler"
        )
    return Engine(
        checked_path(program, folder), mpi, f"ready-made-{program.sha256[:16]}", program.flags,
        program.compiler, sha256=program.sha256, target=program.target, ready_made=True,
        library=str(library.path), library_path=library_path(mpi, library),
    )  # fmt: skip


#: The program of the connectivity round.
CONNECT_PROGRAM = "fabricgauge-connect"
COMPILERS = ("c++", "g++", "clang++")


def connect_program() -> Path | Skipped:
    """Return the path of the program: the ready-made one, else one of the same sources.

    It needs no MPI, and no library on the nodes: it is linked statically if possible. Skipped if
    it could not be built.
    """
    try:
        if program := find_program("connect"):
            return checked_path(program)
        folder = source_folder()
        units = [*sorted((folder / "connect").glob("*.cpp"))]
        units += [folder / "src" / "json.cpp", folder / "src" / "number.cpp"]
        headers = (folder / "connect").glob("*.hpp")
        identity = f"connect-{identity_of([digest_files([*units, *headers])])}"

        def compile_units(built_in: Path) -> None:
            compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
            if compiler is None:
                names = ", ".join(COMPILERS)
                raise CannotRun(f"no C++ compiler ({names}) is installed; install one")
            words = [*FLAGS, f"-I{folder / 'include'}", *map(str, units)]
            command = [compiler, *words, "-o", str(built_in / CONNECT_PROGRAM)]
            try:
                run_all([[*command, "-static"]])
            except CannotRun:
                run_all([command])

        (built,) = cached_files(identity, [CONNECT_PROGRAM], compile_units)
    except CannotRun as error:
        return Skipped(f"the connecting program could not be built: {error}")
    return built
