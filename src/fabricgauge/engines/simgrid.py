"""The engine and the platform library, built with SimGrid's compiler wrapper and kept."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fabricgauge import process
from fabricgauge.engines.cache import PROGRAM, keep, kept, workshop
from fabricgauge.engines.sources import digest, source_folder, translation_units
from fabricgauge.model.engine import SIMULATED_LIBRARY, Engine, Mpi
from fabricgauge.model.errors import CannotRun, ToolMissing

WRAPPER = "smpicxx"
PACKAGE = "libsimgrid-dev"

FLAGS = ("-O2", "-std=c++17")
DEFINITION = "-DFABRICGAUGE_SIMULATED"
DIFFERENCES = "smpi_differences.hpp"

#: The library stays loaded: SimGrid unloads it before its models let go of their callbacks.
LIBRARY_FLAGS = ("-fPIC", "-shared", "-lsimgrid", "-Wl,-z,nodelete")

COMPILE_TIMEOUT_S = 600.0
ASK_TIMEOUT_S = 30.0

_TELLING = re.compile("error|undefined reference|not found", re.IGNORECASE)
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
    identity = _identity(mpi, compiler)
    engine = _whole(identity)
    if engine:
        return engine
    with workshop() as folder:
        library = _compile_library(folder)
        program = _compile_engine(mpi.mpicxx, folder)
        # Somebody else may have built the same meanwhile, and be running it.
        engine = Engine(program, mpi, identity, FLAGS, compiler)
        return _whole(identity) or keep(engine, program, library)


def _whole(identity: str) -> Engine | None:
    engine = kept(identity)
    return engine if engine and (engine.path.parent / SIMULATED_LIBRARY).exists() else None


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
    """What both builds depend on, as 16 hexadecimal digits."""
    sources = source_folder()
    content = [hashlib.sha256(file.read_bytes()).hexdigest() for file in _simulated(sources, "?pp")]
    parts = [
        str(mpi.mpicxx), mpi.version, compiler, *FLAGS, DEFINITION, *LIBRARY_FLAGS,
        digest(sources), *content,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _compile_library(folder: Path) -> Path:
    sources = source_folder()
    units = [str(unit) for unit in _simulated(sources, "cpp")]
    library = folder / SIMULATED_LIBRARY
    include = f"-I{sources / 'include'}"
    _run(["c++", *FLAGS, include, *units, "-o", str(library), *LIBRARY_FLAGS])
    return library


def _compile_engine(wrapper: Path, folder: Path) -> Path:
    """Compile every source in parallel, then link; returns the program."""
    sources = source_folder()
    units = translation_units(sources)
    objects = [folder / f"{unit.stem}.o" for unit in units]
    named = f'-DFABRICGAUGE_FLAGS="{" ".join(FLAGS)}"'
    differences = str(sources / "simulated" / DIFFERENCES)
    include = f"-I{sources / 'include'}"
    before = [str(wrapper), *FLAGS, DEFINITION, named, include, "-include", differences, "-c"]
    commands = [
        [*before, str(unit), "-o", str(result)] for unit, result in zip(units, objects, strict=True)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(_run, commands))
    program = folder / PROGRAM
    _run([str(wrapper), *FLAGS, *map(str, objects), "-o", str(program), "-pthread", "-lrt"])
    return program


def _simulated(sources: Path, suffix: str) -> list[Path]:
    return sorted((sources / "simulated").glob(f"*.{suffix}"))


def _run(command: Sequence[str]) -> None:
    done = process.run(command, timeout_s=COMPILE_TIMEOUT_S)
    if done.exit_code != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        first = next((line for line in lines if _TELLING.search(line)), lines[-1])
        raise CannotRun(
            f"the engine could not be built for simulated clusters: {first}; the command was: "
            f"{' '.join(command)}"
        )


def _asked(wrapper: Path, argument: str) -> str:
    # Asked for its compiler's version it leaves an a.out where it is called.
    with tempfile.TemporaryDirectory() as folder:
        asked = process.run([str(wrapper), argument], timeout_s=ASK_TIMEOUT_S, cwd=Path(folder))
    if not asked.stdout.strip():
        raise CannotRun(f"{wrapper} {argument} said nothing; install {PACKAGE} again")
    return asked.stdout
