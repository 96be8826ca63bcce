"""Which engine a check uses: the embedded MPI's, or one built against a named MPI."""

from pathlib import Path

from fabricgauge.app.progress import Progress
from fabricgauge.engines.build import build, default_engine
from fabricgauge.engines.find import embedded_mpi, find_mpis
from fabricgauge.engines.simgrid import simulated_engine
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import UsageError


def engine_for(mpi: str | None, progress: Progress, compiler: str = "") -> Engine:
    """The engine for ``mpi``: a kind, the path of an ``mpicxx``, or None for the embedded one.

    ``compiler`` is a C++ compiler to build it with instead of the wrapper's own.

    It is built when the cache has none, which takes the better part of a minute.

    Raises:
        UsageError: no MPI of that kind was found; the message lists those that were.
    """
    progress.stage("finding the engine; where there is none yet it is built, once")
    if mpi is None:
        return build(embedded_mpi().mpicxx, compiler=compiler) if compiler else default_engine()
    if "/" in mpi:
        return build(Path(mpi), compiler=compiler)
    found = find_mpis()
    for candidate in found:
        if candidate.kind == mpi:
            return build(candidate.mpicxx, compiler=compiler)
    kinds = ", ".join(f"{each.kind} ({each.mpicxx})" for each in found) or "none"
    raise UsageError(f"no MPI called {mpi!r} was found; there is: {kinds}")


def simulated_engine_for(progress: Progress) -> Engine:
    """The engine that SimGrid's SMPI runs.

    Raises:
        ToolMissing: SimGrid is not installed.
        CannotRun: the compiler refused the sources.
    """
    progress.stage("finding the engine for simulated clusters; it is built once")
    return simulated_engine()
