"""Build the engine against an MPI, once for each combination of compiler, MPI and sources.

The compiler is called directly, so that a machine needs only an MPI's C++ wrapper; CMake is for
developers of the engine. Most of the engine knows no MPI: this core is compiled once for each
compiler, and each MPI's build is linked with it.
"""

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.cache import PROGRAM, cached_files, cached_or_built
from fabricgauge.nodes.engines.find import ASK_TIMEOUT_S
from fabricgauge.nodes.engines.sources import (
    FLAGS,
    LIBRARIES,
    compilations,
    digest,
    identity_of,
    knows_mpi,
    objects,
    run_all,
    source_folder,
    translation_units,
)

#: Macros that leave the C++ bindings out of the headers of Open MPI and MPICH.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

#: Prefixes of a wrapper's words that change the compiled code; the other words name the MPI.
CODE_FLAGS = ("-f", "-m", "-D")

#: Variables with which a wrapper calls another compiler, by kind of MPI. Sources: MPICH's
#: mpicxx(1), Open MPI's mpicxx(1), Intel MPI Developer Reference, "Compiler Commands".
COMPILER_VARIABLES = {"mpich": "MPICH_CXX", "openmpi": "OMPI_CXX", "intelmpi": "I_MPI_CXX"}


def build(
    mpi: Mpi, *, force: bool = False, compiler: str = "", notify: Callable[[], None] = lambda: None
) -> Engine:
    """Return the engine for that MPI: the cached build if nothing has changed, else a new build.

    ``compiler`` replaces the wrapper's own C++ compiler. ``notify`` is called before a new build,
    which takes up to a minute.

    Raises:
        ToolMissing: the compiler is not installed.
        CannotRun: the compiler could not build the sources.
    """
    env = _wrapper_environment(mpi, compiler)
    version = first_line(mpi.mpicxx, "--version", env)
    engine = Engine(
        Path(PROGRAM), mpi, _identity(mpi, version, env), FLAGS, version,
        sources=digest(source_folder()),
    )  # fmt: skip

    def make(folder: Path) -> list[Path]:
        notify()
        return [_compile(mpi, folder, env, version)]

    return cached_or_built(engine, make, force=force)


def _wrapper_environment(mpi: Mpi, compiler: str) -> dict[str, str]:
    if not compiler:
        return mpi.env
    if shutil.which(compiler) is None:
        raise ToolMissing(f"{compiler} is not installed; name a C++ compiler, e.g. g++ or clang++")
    return {**mpi.env, COMPILER_VARIABLES[mpi.kind]: compiler}


def _identity(mpi: Mpi, compiler: str, env: Mapping[str, str]) -> str:
    return identity_of([
        str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, link_line(mpi, env),
        compiler, *FLAGS, *DEFINITIONS, digest(source_folder()),
    ])  # fmt: skip


def link_line(mpi: Mpi, env: Mapping[str, str]) -> str:
    """Return the wrapper's command: the compiler with all its words."""
    return first_line(mpi.mpicxx, "--showme" if mpi.kind == "openmpi" else "-show", env)


def first_line(mpicxx: Path, argument: str, env: Mapping[str, str]) -> str:
    completed = process.run([str(mpicxx), argument], timeout_s=ASK_TIMEOUT_S, env=env)
    if completed.exit_code != 0 or not completed.stdout.strip():
        errors = completed.stderr.strip().splitlines() or ["no output"]
        raise CannotRun(
            f"{mpicxx} {argument} failed: {errors[-1]}; the MPI's C++ wrapper needs a C++ compiler,"
            " e.g. Debian's g++"
        )
    return completed.stdout.splitlines()[0]


def _compile(mpi: Mpi, folder: Path, env: Mapping[str, str], version: str) -> Path:
    """Compile the sources that use MPI, and link them with the core."""
    _, core = compile_core(mpi, env, version)
    sources, program = source_folder(), folder / PROGRAM
    mpi_units = [unit for unit in translation_units(sources) if knows_mpi(unit)]
    compiler = [str(mpi.mpicxx), *FLAGS]
    run_all(compilations([*compiler, *DEFINITIONS], mpi_units, sources, folder), env)
    object_files = map(str, (*objects(mpi_units, folder), *core))
    run_all([[*compiler, *object_files, "-o", str(program), *LIBRARIES]], env)
    return program


def compile_core(
    mpi: Mpi, env: Mapping[str, str], version: str
) -> tuple[list[str], tuple[Path, ...]]:
    """Return the compiler of an MPI's wrapper with its words, and the core's object files.

    Compiles the core unless the cache has it from another build.

    Raises:
        CannotRun: the compiler could not build the sources.
    """
    compiler, sources = _plain_compiler(mpi, env), source_folder()
    units = [unit for unit in translation_units(sources) if not knows_mpi(unit)]

    def compile_units(folder: Path) -> None:
        run_all(compilations(compiler, units, sources, folder), env)

    identity = f"core-{_core_identity(compiler, version)}"
    names = [file.name for file in objects(units, Path())]
    return compiler, cached_files(identity, names, compile_units)


def _plain_compiler(mpi: Mpi, env: Mapping[str, str]) -> list[str]:
    """Return the wrapper's compiler with its words, without the words that name the MPI."""
    compiler, *words = shlex.split(link_line(mpi, env))
    code_words = (word for word in words if word.startswith(CODE_FLAGS) or _has_transport(word))
    return [compiler, *code_words, *FLAGS]


def _has_transport(word: str) -> bool:
    """Check for a folder with a transport's headers: without it the core does not link."""
    headers = ("rdma/fabric.h", "infiniband/verbs.h")
    return word.startswith("-I") and any((Path(word[2:]) / header).exists() for header in headers)


def _core_identity(compiler: Sequence[str], version: str) -> str:
    """Return an identity that is equal for g++ and c++, two names of one program.

    Its version begins with the name of the call.
    """
    program = str(Path(shutil.which(compiler[0]) or compiler[0]).resolve())
    return identity_of([program, version.partition(" ")[2], *compiler[1:], digest(source_folder())])
