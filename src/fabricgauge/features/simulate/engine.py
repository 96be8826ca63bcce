"""Build the engine and the platform library with SimGrid's compiler wrapper."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fabricgauge.model.engine import SIMULATED_LIBRARY, Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.nodes import process
from fabricgauge.nodes.engines.build import (
    FLAGS,
    LIBRARIES,
    PROGRAM,
    cached_or_built,
    compilations,
    digest,
    digest_files,
    identity_of,
    objects,
    run_all,
    source_folder,
    translation_units,
)
from fabricgauge.nodes.engines.find import ASK_TIMEOUT_S

WRAPPER = "smpicxx"
PACKAGE = "libsimgrid-dev"

DEFINITION = "-DFABRICGAUGE_SIMULATED"
DIFFERENCES = "smpi_differences.hpp"

#: The library stays loaded: SimGrid unloads it before its models release their callbacks.
LIBRARY_FLAGS = ("-fPIC", "-shared", "-lsimgrid", "-Wl,-z,nodelete")

_VERSION = re.compile(r"SimGrid version (\d[\w.]*)")


def simulated_engine(notify: Callable[[], None] = lambda: None) -> Engine:
    """Return the engine for simulated clusters: cached if nothing has changed, else new.

    ``notify`` is called before a new build. The platform library is in the same folder.
    ``mpi.mpiexec`` is the program that runs both.

    Raises:
        ToolMissing: SimGrid is not installed.
        CannotRun: the wrapper is not SimGrid's, or the compiler could not build the sources.
    """
    mpi = find_simgrid()
    compiler = _run_wrapper(mpi.mpicxx, "-compiler-version").splitlines()[0]
    sources = source_folder()
    identity = identity_of([
        str(mpi.mpicxx), mpi.version, compiler, *FLAGS, DEFINITION, *LIBRARY_FLAGS,
        digest(sources), digest_files(_simulated(sources, "?pp")),
    ])  # fmt: skip
    engine = Engine(Path(PROGRAM), mpi, identity, FLAGS, compiler)

    def make(folder: Path) -> tuple[Path, Path]:
        notify()
        library = folder / SIMULATED_LIBRARY
        units = map(str, _simulated(sources, "cpp"))
        include = f"-I{sources / 'include'}"
        run_all([["c++", *FLAGS, include, *units, "-o", str(library), *LIBRARY_FLAGS]])
        return _compile_engine(mpi.mpicxx, folder), library

    return cached_or_built(engine, make)


def find_simgrid() -> Mpi:
    """Return SimGrid's MPI: its wrapper, its version, and the program that starts its builds.

    Raises:
        ToolMissing: SimGrid is not installed.
        CannotRun: the wrapper is not SimGrid's.
    """
    path = shutil.which(WRAPPER)
    if path is None:
        raise ToolMissing(
            f"simulated clusters need {WRAPPER}, which is not installed; Debian has it in {PACKAGE}"
        )
    wrapper = Path(path)
    version = _VERSION.search(_run_wrapper(wrapper, "--version"))
    words = _run_wrapper(wrapper, "-show").split()
    folders = [Path(word[2:]) for word in words if word[:2] == "-L"]
    for folder in folders:
        main = folder / "simgrid" / "smpimain"
        if version and os.access(main, os.X_OK):
            return Mpi("simgrid", version[1], wrapper, main)
    raise CannotRun(
        f"{wrapper} is not SimGrid's, or smpimain is missing in {', '.join(map(str, folders))}; "
        f"install {PACKAGE} again"
    )


def _compile_engine(wrapper: Path, folder: Path) -> Path:
    sources, program = source_folder(), folder / PROGRAM
    units = translation_units(sources)
    differences = str(sources / "simulated" / DIFFERENCES)
    compiler = [str(wrapper), *FLAGS, DEFINITION, "-include", differences]
    run_all(compilations(compiler, units, sources, folder))
    object_files = map(str, objects(units, folder))
    run_all([[str(wrapper), *FLAGS, *object_files, "-o", str(program), *LIBRARIES]])
    return program


def _simulated(sources: Path, suffix: str) -> list[Path]:
    return sorted((sources / "simulated").glob(f"*.{suffix}"))


def _run_wrapper(wrapper: Path, argument: str) -> str:
    # With -compiler-version the wrapper leaves an a.out in the working directory.
    with tempfile.TemporaryDirectory() as folder:
        completed = process.run([str(wrapper), argument], timeout_s=ASK_TIMEOUT_S, cwd=Path(folder))
    if not completed.stdout.strip():
        raise CannotRun(f"{wrapper} {argument} printed nothing; install {PACKAGE} again")
    return completed.stdout
