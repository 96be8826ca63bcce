"""Building the engine against an MPI, once for each combination of compiler, MPI and sources.

The compiler is called directly, so that a machine needs nothing beyond an MPI's
C++ wrapper; CMake is there for those who work on the engine. Most of the engine knows no MPI:
that is compiled once for each compiler, and every MPI's build is linked with it.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import PROGRAM, kept_files, kept_or_made
from fabricgauge.engines.find import ASK_TIMEOUT_S
from fabricgauge.engines.sources import (
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
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

#: Both libraries' headers bring their own C++ bindings unless told not to.
DEFINITIONS = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

#: Words of a wrapper that change the code which its compiler makes; the others name the MPI.
CODE_FLAGS = ("-f", "-m", "-D")

#: What makes a wrapper call another compiler than it was made with, by kind of MPI. Sources:
#: MPICH's mpicxx(1), Open MPI's mpicxx(1), Intel MPI Developer Reference, "Compiler Commands".
COMPILER_VARIABLES = {"mpich": "MPICH_CXX", "openmpi": "OMPI_CXX", "intelmpi": "I_MPI_CXX"}


def build(mpi: Mpi, *, force: bool = False, compiler: str = "") -> Engine:
    """The engine for that MPI: the kept build if nothing has changed, else a new one.

    ``compiler`` is a C++ compiler to use instead of the wrapper's own.

    Raises:
        ToolMissing: there is no such compiler.
        CannotRun: the compiler refused the sources.
    """
    env = _calling(mpi, compiler)
    version = first_line(mpi.mpicxx, "--version", env)
    wanted = Engine(Path(PROGRAM), mpi, _identity(mpi, version, env), FLAGS, version)
    return kept_or_made(wanted, lambda folder: [_compile(mpi, folder, env, version)], force=force)


def _calling(mpi: Mpi, compiler: str) -> dict[str, str]:
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
    """What the wrapper calls: the compiler with all its words."""
    return first_line(mpi.mpicxx, "--showme" if mpi.kind == "openmpi" else "-show", env)


def first_line(mpicxx: Path, argument: str, env: Mapping[str, str]) -> str:
    asked = process.run([str(mpicxx), argument], timeout_s=ASK_TIMEOUT_S, env=env)
    if asked.exit_code != 0 or not asked.stdout.strip():
        said = asked.stderr.strip().splitlines() or ["it said nothing"]
        raise CannotRun(
            f"{mpicxx} {argument} failed: {said[-1]}; the MPI's C++ wrapper needs a C++ compiler,"
            " e.g. Debian's g++"
        )
    return asked.stdout.splitlines()[0]


def _compile(mpi: Mpi, folder: Path, env: Mapping[str, str], version: str) -> Path:
    """Compile what knows this MPI, and link it with all else."""
    _, core = compiled_core(mpi, env, version)
    sources, program = source_folder(), folder / PROGRAM
    own = [unit for unit in translation_units(sources) if knows_mpi(unit)]
    calling = [str(mpi.mpicxx), *FLAGS]
    run_all(compilations([*calling, *DEFINITIONS], own, sources, folder), env)
    linked = map(str, (*objects(own, folder), *core))
    run_all([[*calling, *linked, "-o", str(program), *LIBRARIES]], env)
    return program


def compiled_core(
    mpi: Mpi, env: Mapping[str, str], version: str
) -> tuple[list[str], tuple[Path, ...]]:
    """The compiler of an MPI's wrapper with its words, and what it made of all that knows no MPI.

    That is compiled unless another program's build left it.

    Raises:
        CannotRun: the compiler refused the sources.
    """
    calling, sources = _without_mpi(mpi, env), source_folder()
    units = [unit for unit in translation_units(sources) if not knows_mpi(unit)]

    def compiled(folder: Path) -> None:
        run_all(compilations(calling, units, sources, folder), env)

    identity = f"core-{_core_identity(calling, version)}"
    return calling, kept_files(identity, [one.name for one in objects(units, Path())], compiled)


def _without_mpi(mpi: Mpi, env: Mapping[str, str]) -> list[str]:
    """How the wrapper calls its compiler, without the words that name the MPI."""
    compiler, *words = shlex.split(link_line(mpi, env))
    kept = (word for word in words if word.startswith(CODE_FLAGS) or _has_transport(word))
    return [compiler, *kept, *FLAGS]


def _has_transport(word: str) -> bool:
    """A folder with a transport's headers: all of the engine must see it, or it does not link."""
    headers = ("rdma/fabric.h", "infiniband/verbs.h")
    return word.startswith("-I") and any((Path(word[2:]) / one).exists() for one in headers)


def _core_identity(calling: Sequence[str], version: str) -> str:
    """g++ and c++ are one program, whose version begins with the name that it is called by."""
    compiler = str(Path(shutil.which(calling[0]) or calling[0]).resolve())
    return identity_of([compiler, version.partition(" ")[2], *calling[1:], digest(source_folder())])
