"""Building the engine against an MPI, once for each combination of compiler, MPI and sources.

The compiler is called directly, so that a machine needs nothing beyond an MPI's
C++ wrapper; CMake is there for those who work on the engine.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import PROGRAM, all_kept, keep, kept, workshop
from fabricgauge.engines.find import ASK_TIMEOUT_S, describe_mpi, embedded_mpi
from fabricgauge.engines.sources import digest, source_folder, translation_units
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

FLAGS = ("-O2", "-std=c++17")

#: Both libraries' headers bring their own C++ bindings unless told not to.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

#: glibc before 2.34 has timers in a library of their own.
LIBRARIES = ("-pthread", "-lrt")

COMPILE_TIMEOUT_S = 600.0


#: What makes a wrapper call another compiler than it was made with, by kind of MPI. Sources:
#: MPICH's mpicxx(1), Open MPI's mpicxx(1), Intel MPI Developer Reference, "Compiler Commands".
COMPILER_VARIABLES = {"mpich": "MPICH_CXX", "openmpi": "OMPI_CXX", "intelmpi": "I_MPI_CXX"}


def build(mpicxx: Path, *, force: bool = False, compiler: str = "") -> Engine:
    """The engine for that MPI: the kept build if nothing has changed, else a new one.

    ``compiler`` is a C++ compiler to use instead of the wrapper's own.

    Raises:
        ToolMissing: there is no such compiler wrapper.
        CannotRun: it is no MPI's, or the compiler refused the sources.
    """
    return _build(describe_mpi(mpicxx), force, compiler)


def default_engine() -> Engine:
    """The engine built against the MPI that was installed with this program.

    Raises:
        CannotRun: there is no such MPI, or the compiler refused the sources.
    """
    return _build(embedded_mpi(), force=False, compiler="")


def list_engines() -> tuple[Engine, ...]:
    """Every build that is kept, newest first."""
    return tuple(all_kept())


def _build(mpi: Mpi, force: bool, compiler: str) -> Engine:
    env = _calling(mpi, compiler)
    version = _first_line(mpi.mpicxx, "--version", env)
    identity = _identity(mpi, version, env)
    found = None if force else kept(identity)
    if found:
        return found
    with workshop() as folder:
        program = _compile(mpi.mpicxx, folder, env)
        # Somebody else may have built the same meanwhile, and be running it.
        return (None if force else kept(identity)) or keep(
            Engine(program, mpi, identity, FLAGS, version), program
        )


def _calling(mpi: Mpi, compiler: str) -> dict[str, str]:
    if not compiler:
        return mpi.env
    if shutil.which(compiler) is None:
        raise ToolMissing(f"{compiler} is not installed; name a C++ compiler, e.g. g++ or clang++")
    return {**mpi.env, COMPILER_VARIABLES[mpi.kind]: compiler}


def _identity(mpi: Mpi, compiler: str, env: Mapping[str, str]) -> str:
    """What a build depends on, as 16 hexadecimal digits."""
    link_line = _first_line(mpi.mpicxx, "--showme" if mpi.kind == "openmpi" else "-show", env)
    parts = [
        str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, link_line,
        compiler, *FLAGS, *DEFINITIONS, digest(source_folder()),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _first_line(mpicxx: Path, argument: str, env: Mapping[str, str]) -> str:
    asked = process.run([str(mpicxx), argument], timeout_s=ASK_TIMEOUT_S, env=env)
    if asked.exit_code != 0 or not asked.stdout.strip():
        raise CannotRun(
            f"{mpicxx} {argument} failed: {_last_line(asked.stderr)}; the MPI's C++ wrapper needs "
            "a C++ compiler, e.g. Debian's g++"
        )
    return asked.stdout.splitlines()[0]


def _compile(mpicxx: Path, folder: Path, env: Mapping[str, str]) -> Path:
    """Compile every source in parallel, then link; returns the program."""
    sources = source_folder()
    units = translation_units(sources)
    objects = [folder / f"{unit.stem}.o" for unit in units]
    include = f"-I{sources / 'include'}"
    named = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    commands = [
        [str(mpicxx), *FLAGS, *DEFINITIONS, named, include, "-c", str(unit), "-o", str(result)]
        for unit, result in zip(units, objects, strict=True)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda command: _run(command, env), commands))
    program = folder / PROGRAM
    _run([str(mpicxx), *FLAGS, *map(str, objects), "-o", str(program), *LIBRARIES], env)
    return program


def _run(command: Sequence[str], env: Mapping[str, str]) -> None:
    done = process.run(command, timeout_s=COMPILE_TIMEOUT_S, env=env)
    if done.exit_code != 0:
        raise CannotRun(
            f"the engine could not be built: {_errors(done.stderr)}; the command was: "
            f"{' '.join(command)}"
        )


def _errors(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if "error" in line.lower()]
    return lines[0] if lines else _last_line(stderr)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
