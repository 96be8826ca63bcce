"""Build the program of a soak, once for each MPI and each state of the sources."""

from pathlib import Path

import msgspec

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.engines.build import (
    DEFINITIONS,
    FLAGS,
    LIBRARIES,
    cached_files,
    compile_core,
    identify_programs,
    run_all,
    source_folder,
)

#: Its first 15 letters are the engine's: the kernel shows no more, and ranks are found by them.
PROGRAM = "fabricgauge-engine-soak"


def soak_program(engine: Engine) -> Engine:
    """Return the soak's program as an engine of the same MPI.

    Raises:
        CannotRun: this machine has no compiler, or it could not build the sources.
    """
    try:
        return _build(engine)
    except CannotRun as error:
        raise CannotRun(
            f"--soak compiles its own program on this machine, with the C++ wrapper of the MPI"
            f" ({engine.mpi.mpicxx}): {error}"
        ) from error


def _build(engine: Engine) -> Engine:
    mpi, sources = engine.mpi, source_folder()
    identity, version = identify_programs(mpi, "soak")

    def build(folder: Path) -> None:
        _, core = compile_core(mpi, mpi.env, version)
        units = map(str, sorted((sources / "soak").glob("*.cpp")))
        words = [f"-I{sources / 'include'}", f"-I{sources / 'soak'}", *map(str, core), *LIBRARIES]
        command = [str(mpi.mpicxx), *FLAGS, *DEFINITIONS, *units, *words]
        run_all([[*command, "-o", str(folder / PROGRAM)]], mpi.env)

    (path,) = cached_files(f"soak-{identity}", (PROGRAM,), build)
    return msgspec.structs.replace(engine, path=path, identity=identity)
