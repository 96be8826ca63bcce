"""The MPI stacks that ranks can be started with: one row each."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.run.launchers import LAUNCHERS, launcher_of
from fabricgauge.run.mpi_impls import intelmpi, mpich, native, openmpi
from fabricgauge.run.mpi_impls.interface import MpiImplementation, is_pinned

#: Each rank says some ten lines: thousands would fill logs.
MOST_TELLING = 16

MPI_IMPLS: dict[str, MpiImplementation] = {
    "mpich": mpich.MPI_IMPL,
    "openmpi": openmpi.MPI_IMPL,
    "intelmpi": intelmpi.MPI_IMPL,
}


def mpi_impl_of(mpi: Mpi) -> MpiImplementation:
    """The module that knows this MPI.

    Raises:
        CannotRun: none does.
    """
    mpi_impl = MPI_IMPLS.get(mpi.kind)
    if mpi_impl is None:
        raise CannotRun(
            f"the MPI at {mpi.mpiexec} is {mpi.kind!r}, which cannot be started; "
            f"known are {', '.join(sorted(MPI_IMPLS))}: build the engine with one of them"
        )
    return mpi_impl


def command(
    engine: Engine, launch: PlannedLaunch, access: HostAccess, engine_options: tuple[str, ...]
) -> LaunchCommand:
    """The command that starts ``launch`` of the engine with the MPI that it was built with.

    Raises:
        CannotRun: no module knows this MPI.
    """
    mpi, mpi_impl = engine.mpi, mpi_impl_of(engine.mpi)
    on_gpu = "--memory" in engine_options
    told = {**_telling(mpi_impl, launch, on_gpu), **dict(access.variables)}
    contrary = mpi_impl.contrary if launch.network is not None else ()
    without = [name for name in contrary if name not in told]
    program = (
        *_variables(told, without),
        str(engine.path),
        *_pin(mpi_impl, launch),
        *engine_options,
    )
    return started(mpi, launch, access, program)


def started(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """The command that starts ``program`` on each rank of ``launch``: the launcher's or the MPI's.

    Raises:
        CannotRun: no module knows this MPI.
    """
    mpi_impl = mpi_impl_of(mpi)
    own = launcher_of(access.launcher) if access.launcher in LAUNCHERS else None  # a lab has none
    if own is not None and own.starts is not None:
        made = own.starts(mpi_impl, mpi, launch, access, program)
    else:
        made = mpi_impl.command(mpi, launch, access, program)
    environment = own.environment if own is not None else {}
    return msgspec.structs.replace(made, env={**made.env, **environment})


def _telling(mpi_impl: MpiImplementation, launch: PlannedLaunch, on_gpu: bool) -> dict[str, str]:
    """What makes the MPI say what it uses, unless somebody has set that, or ranks are many."""
    if len(launch.nodes) > MOST_TELLING:
        return {}
    tells = {**mpi_impl.tells, **(native.UCX_TELLS_OF_GPUS if on_gpu else {})}
    return {name: value for name, value in tells.items() if name not in os.environ}


def _variables(variables: Mapping[str, str], without: Sequence[str]) -> tuple[str, ...]:
    """``env`` and the variables to set and to unset, in front of each rank's own program."""
    unset = [word for name in without for word in ("-u", name)]
    words = (*unset, *(f"{name}={value}" for name, value in variables.items()))
    return ("env", *words) if words else ()


def _pin(mpi_impl: MpiImplementation, launch: PlannedLaunch) -> tuple[str, ...]:
    """Words that make the engine find its interface, and name it to the MPI's variables."""
    if not is_pinned(launch) or launch.subnet is None:
        return ()
    names = [word for name in mpi_impl.interface_variables for word in ("--interface-env", name)]
    return ("--pin", launch.subnet, *names)
