"""The MPI stacks that the engine can be started with: one row each."""

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.run.stacks import mpich, openmpi
from fabricgauge.run.stacks.interface import Builder

STACKS: dict[str, Builder] = {
    "mpich": mpich.command,
    "openmpi": openmpi.command,
}


def command(
    engine: Engine, mpi: Mpi, launch: PlannedLaunch, reach: Reach, engine_options: tuple[str, ...]
) -> Command:
    """The command that starts ``launch`` with the MPI that the engine was built with.

    Raises:
        CannotRun: no module knows this MPI.
    """
    builder = STACKS.get(mpi.kind)
    if builder is None:
        raise CannotRun(
            f"the MPI at {mpi.mpiexec} is {mpi.kind!r}, which cannot be started; "
            f"known are {', '.join(sorted(STACKS))}: build the engine with one of them"
        )
    return builder(engine, mpi, launch, reach, engine_options)
