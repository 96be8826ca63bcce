"""The engine and the platform library, built with SimGrid's compiler wrapper and kept."""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import PROGRAM, kept_or_made
from fabricgauge.engines.find import ASK_TIMEOUT_S
from fabricgauge.engines.sources import (
    FLAGS,
    LIBRARIES,
    compilations,
    digest,
    identity_of,
    objects,
    run_all,
    source_folder,
    translation_units,
)
from fabricgauge.model.engine import SIMULATED_LIBRARY, Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

WRAPPER = "smpicxx"
PACKAGE = "libsimgrid-dev"

DEFINITION = "-DFABRICGAUGE_SIMULATED"
DIFFERENCES = "smpi_differences.hpp"

#: The library stays loaded: SimGrid unloads it before its models let go of their callbacks.
LIBRARY_FLAGS = ("-fPIC", "-shared", "-lsimgrid", "-Wl,-z,nodelete")

_VERSION = re.compile(r"SimGrid version (\d[\w.]*)")


def simulated_engine() -> Engine:
    """The engine for simulated clusters: the kept build if nothing has changed, else a new one.

    The platform library lies beside it. ``mpi.mpiexec`` is the program that runs both.

    Raises:
        ToolMissing: SimGrid is not installed.
        CannotRun: it is not as expected, or the compiler refused the sources.
    """
    mpi = find_simgrid()
    compiler = _asked(mpi.mpicxx, "-compiler-version").splitlines()[0]
    wanted = Engine(Path(PROGRAM), mpi, _identity(mpi, compiler), FLAGS, compiler)
    return kept_or_made(
        wanted, lambda folder: (_compile_engine(mpi.mpicxx, folder), _compile_library(folder))
    )


def find_simgrid() -> Mpi:
    """SimGrid's MPI: its wrapper, its version, and the program that starts what it built.

    Raises:
        ToolMissing: SimGrid is not installed.
        CannotRun: the wrapper is not as expected.
    """
    found = shutil.which(WRAPPER)
    if found is None:
        raise ToolMissing(
            f"{WRAPPER} is not installed, which simulated clusters need; Debian has it in {PACKAGE}"
        )
    wrapper = Path(found)
    version = _VERSION.search(_asked(wrapper, "--version"))
    folders = [Path(word[2:]) for word in _asked(wrapper, "-show").split() if word[:2] == "-L"]
    for folder in folders:
        main = folder / "simgrid" / "smpimain"
        if version and os.access(main, os.X_OK):
            return Mpi("simgrid", version[1], wrapper, main)
    raise CannotRun(
        f"{wrapper} is not SimGrid's, or its smpimain is not in {', '.join(map(str, folders))}; "
        f"install {PACKAGE} again"
    )


def _identity(mpi: Mpi, compiler: str) -> str:
    sources = source_folder()
    content = [hashlib.sha256(file.read_bytes()).hexdigest() for file in _simulated(sources, "?pp")]
    return identity_of([
        str(mpi.mpicxx), mpi.version, compiler, *FLAGS, DEFINITION, *LIBRARY_FLAGS,
        digest(sources), *content,
    ])  # fmt: skip


def _compile_library(folder: Path) -> Path:
    sources, library = source_folder(), folder / SIMULATED_LIBRARY
    units = map(str, _simulated(sources, "cpp"))
    include = f"-I{sources / 'include'}"
    run_all([["c++", *FLAGS, include, *units, "-o", str(library), *LIBRARY_FLAGS]])
    return library


def _compile_engine(wrapper: Path, folder: Path) -> Path:
    """Compile every source, then link; returns the program."""
    sources, program = source_folder(), folder / PROGRAM
    units = translation_units(sources)
    differences = str(sources / "simulated" / DIFFERENCES)
    calling = [str(wrapper), *FLAGS, DEFINITION, "-include", differences]
    run_all(compilations(calling, units, sources, folder))
    made = map(str, objects(units, folder))
    run_all([[str(wrapper), *FLAGS, *made, "-o", str(program), *LIBRARIES]])
    return program


def _simulated(sources: Path, suffix: str) -> list[Path]:
    return sorted((sources / "simulated").glob(f"*.{suffix}"))


def _asked(wrapper: Path, argument: str) -> str:
    # Asked for its compiler's version it leaves an a.out where it is called.
    with tempfile.TemporaryDirectory() as folder:
        asked = process.run([str(wrapper), argument], timeout_s=ASK_TIMEOUT_S, cwd=Path(folder))
    if not asked.stdout.strip():
        raise CannotRun(f"{wrapper} {argument} said nothing; install {PACKAGE} again")
    return asked.stdout
