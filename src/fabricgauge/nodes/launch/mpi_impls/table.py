"""The MPIs that can start ranks, one row each, and the commands that start them."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import LOOPBACK_SUBNET, is_loopback
from fabricgauge.nodes.launch.launchers import LAUNCHERS, launcher_of
from fabricgauge.nodes.launch.mpi_impls import intelmpi, mpich, native, openmpi
from fabricgauge.nodes.launch.mpi_impls.interface import MpiImplementation, is_pinned

#: Number of ranks up to which MPI prints its transports: each rank prints about ten lines.
MOST_VERBOSE_RANKS = 16

MPI_IMPLS: dict[str, MpiImplementation] = {
    "mpich": mpich.MPI_IMPL,
    "openmpi": openmpi.MPI_IMPL,
    "intelmpi": intelmpi.MPI_IMPL,
}


def mpi_impl_of(mpi: Mpi) -> MpiImplementation:
    """Return the row of this MPI.

    Raises:
        CannotRun: no row for this MPI.
    """
    mpi_impl = MPI_IMPLS.get(mpi.kind)
    if mpi_impl is None:
        raise CannotRun(
            f"the MPI at {mpi.mpiexec} is {mpi.kind!r}, which fabricgauge cannot start; "
            f"build the engine with one of {', '.join(sorted(MPI_IMPLS))}"
        )
    return mpi_impl


def command(
    engine: Engine, launch: PlannedLaunch, access: HostAccess, engine_options: tuple[str, ...]
) -> LaunchCommand:
    """Return the command that starts ``launch`` of the engine with its MPI.

    Raises:
        CannotRun: no row for this MPI.
    """
    mpi, mpi_impl = engine.mpi, mpi_impl_of(engine.mpi)
    on_gpu = "--memory" in engine_options
    variables = {**_verbose_variables(mpi_impl, launch, on_gpu), **dict(access.variables)}
    conflicting = mpi_impl.conflicting_variables if launch.network is not None else ()
    unset = [name for name in conflicting if name not in variables]
    if engine.library_path:
        variables["LD_LIBRARY_PATH"] = ":".join(engine.library_path)
    program = (
        *_env_words(variables, unset),
        str(engine.path),
        *_pin_words(mpi_impl, launch, engine_options),
        *engine_options,
    )
    return start_command(mpi, launch, access, program)


def start_command(
    mpi: Mpi, launch: PlannedLaunch, access: HostAccess, program: tuple[str, ...]
) -> LaunchCommand:
    """Return the launcher's or the MPI's command that starts ``program`` on each rank.

    Raises:
        CannotRun: no row for this MPI.
    """
    mpi_impl = mpi_impl_of(mpi)
    # The access to a lab's nodes has no row among the launchers.
    launcher = launcher_of(access.launcher) if access.launcher in LAUNCHERS else None
    if launcher is not None and launcher.starts is not None:
        start = launcher.starts(mpi_impl, mpi, launch, access, program)
    else:
        start = mpi_impl.command(mpi, launch, access, program)
    environment = launcher.environment if launcher is not None else {}
    return msgspec.structs.replace(start, env={**start.env, **environment})


def _verbose_variables(
    mpi_impl: MpiImplementation, launch: PlannedLaunch, on_gpu: bool
) -> dict[str, str]:
    """Return variables with which the MPI prints its transports, except those that users set.

    Empty for a launch of many ranks.
    """
    if len(launch.nodes) > MOST_VERBOSE_RANKS:
        return {}
    variables = {**mpi_impl.verbose_variables, **(native.UCX_VERBOSE_GPU if on_gpu else {})}
    return {name: value for name, value in variables.items() if name not in os.environ}


def _env_words(variables: Mapping[str, str], unset: Sequence[str]) -> tuple[str, ...]:
    """Return ``env`` with the variables to set and to unset, the prefix of each rank's program."""
    unset_words = [word for name in unset for word in ("-u", name)]
    words = (*unset_words, *(f"{name}={value}" for name, value in variables.items()))
    return ("env", *words) if words else ()


def _pin_words(
    mpi_impl: MpiImplementation, launch: PlannedLaunch, engine_options: Sequence[str]
) -> tuple[str, ...]:
    """Return options with which the engine finds its interface and sets the MPI's variables."""
    if is_loopback(launch.network) and "sockets" in engine_options:
        return ("--pin", LOOPBACK_SUBNET)
    if not is_pinned(launch) or launch.subnet is None:
        return ()
    names = [word for name in mpi_impl.interface_variables for word in ("--interface-env", name)]
    return ("--pin", launch.subnet, *names)
