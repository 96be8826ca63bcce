"""Building the engine against an MPI, once for each combination of compiler, MPI and sources.

The compiler is called directly, so that a machine needs nothing beyond an MPI's
C++ wrapper; CMake is there for those who work on the engine. Most of the engine knows no MPI:
that is compiled once for each compiler, and every MPI's build is linked with it.
"""

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import (
    PROGRAM,
    all_kept,
    cache_folder,
    keep,
    keep_folder,
    kept,
    workshop,
)
from fabricgauge.engines.find import ASK_TIMEOUT_S, describe_mpi, embedded_mpi
from fabricgauge.engines.sources import digest, knows_mpi, source_folder, translation_units
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

FLAGS = ("-O2", "-std=c++17")

#: Both libraries' headers bring their own C++ bindings unless told not to.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

#: Words of a wrapper that change the code which its compiler makes; the others name the MPI.
CODE_FLAGS = ("-f", "-m", "-D")

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
        program = _compile(mpi, folder, env, version)
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
    return _hash([
        str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, _link_line(mpi, env),
        compiler, *FLAGS, *DEFINITIONS, digest(source_folder()),
    ])  # fmt: skip


def _link_line(mpi: Mpi, env: Mapping[str, str]) -> str:
    """What the wrapper calls: the compiler with all its words."""
    return _first_line(mpi.mpicxx, "--showme" if mpi.kind == "openmpi" else "-show", env)


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _first_line(mpicxx: Path, argument: str, env: Mapping[str, str]) -> str:
    asked = process.run([str(mpicxx), argument], timeout_s=ASK_TIMEOUT_S, env=env)
    if asked.exit_code != 0 or not asked.stdout.strip():
        raise CannotRun(
            f"{mpicxx} {argument} failed: {_last_line(asked.stderr)}; the MPI's C++ wrapper needs "
            "a C++ compiler, e.g. Debian's g++"
        )
    return asked.stdout.splitlines()[0]


def _compile(mpi: Mpi, folder: Path, env: Mapping[str, str], version: str) -> Path:
    """Compile what knows this MPI, and all else unless another MPI's build left it; then link."""
    calling = _without_mpi(mpi, env)
    core, made = cache_folder() / f"core-{_core_identity(calling, version)}", folder / "core"
    made.mkdir()
    units = translation_units(source_folder())
    own = [unit for unit in units if knows_mpi(unit)]
    others = [unit for unit in units if not knows_mpi(unit)]
    commands = _commands([str(mpi.mpicxx), *FLAGS, *DEFINITIONS], own, folder)
    if not all(one.exists() for one in _objects(others, core)):
        commands += _commands(calling, others, made)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda command: _run(command, env), commands))
    if any(made.iterdir()):
        keep_folder(made, core)
    program = folder / PROGRAM
    linked = map(str, (*_objects(own, folder), *_objects(others, core)))
    _run([str(mpi.mpicxx), *FLAGS, *linked, "-o", str(program), *LIBRARIES], env)
    return program


def _without_mpi(mpi: Mpi, env: Mapping[str, str]) -> list[str]:
    """How the wrapper calls its compiler, without the words that name the MPI."""
    compiler, *words = shlex.split(_link_line(mpi, env))
    return [compiler, *(word for word in words if word.startswith(CODE_FLAGS)), *FLAGS]


def _core_identity(calling: Sequence[str], version: str) -> str:
    """g++ and c++ are one program, whose version begins with the name that it is called by."""
    compiler = str(Path(shutil.which(calling[0]) or calling[0]).resolve())
    return _hash([compiler, version.partition(" ")[2], *calling[1:], digest(source_folder())])


def _commands(calling: Sequence[str], units: Sequence[Path], folder: Path) -> list[list[str]]:
    named = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    before = [*calling, named, f"-I{source_folder() / 'include'}", "-c"]
    results = _objects(units, folder)
    return [
        [*before, str(unit), "-o", str(result)] for unit, result in zip(units, results, strict=True)
    ]


def _objects(units: Sequence[Path], folder: Path) -> list[Path]:
    return [folder / f"{unit.stem}.o" for unit in units]


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
