"""The MPIs that can start ranks, each a module of this folder, and the commands that start them."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import LOOPBACK_SUBNET, is_loopback
from fabricgauge.nodes.launch.launchers import LAUNCHERS, launcher_of

#: Number of ranks up to which MPI prints its transports: each rank prints about ten lines.
MOST_VERBOSE_RANKS = 16

#: The MPIs that can start ranks: modules of this folder, each with an ``MPI_IMPL``. A module is
#: loaded only if its MPI is used.
MPI_IMPLS = ("mpich", "openmpi", "intelmpi")


class MpiImplementation(msgspec.Struct, frozen=True):
    """How an MPI starts ranks.

    ``command`` is pure: it builds the launcher's argv and environment from the MPI, the launch, the
    access to the nodes and each rank's argv. ``transport`` returns the variables that keep ranks
    on the launch's network, with any launcher. ``pmi`` is the name of the ranks' protocol in srun's
    ``--mpi``. ``interface_variables`` take an interface's name, which differs between nodes, so the
    rank's program sets them. With ``verbose_variables`` the MPI prints its transports on the ranks'
    standard error or before the engine's first record; ``parse_transports`` reads such a line.
    ``conflicting_variables`` of a site prevent the choice of a network: a launch on a network
    unsets them for its ranks.
    """

    command: Callable[[Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand]
    transport: Callable[[PlannedLaunch, HostAccess, Mpi], dict[str, str]]
    pmi: str
    interface_variables: tuple[str, ...] = ()
    verbose_variables: Mapping[str, str] = MappingProxyType({})
    parse_transports: Callable[[str], tuple[str, ...]] = lambda _line: ()
    conflicting_variables: tuple[str, ...] = ()


def is_pinned(launch: PlannedLaunch) -> bool:
    """Check whether MPI must use one network between nodes, and no other."""
    return launch.network is not None and not is_loopback(launch.network)


def has_own_cores(launch: PlannedLaunch, access: HostAccess) -> bool:
    """Check whether each rank is bound to a core: on request, or if it is alone on its node.

    Nodes of a lab, and ranks on one node, share cores: two ranks bound to the same core would wait
    for each other.
    """
    if access.bind:
        return access.bind == "core"
    alone = len(set(launch.nodes)) == len(launch.nodes)
    return alone and not access.virtual and access.launcher != "local"


def lets_slurm_place(access: HostAccess) -> bool:
    """Check whether Slurm places the ranks, since the job and its nodes do not exist yet."""
    return not access.hosts


def ranks_per_node(launch: PlannedLaunch) -> int:
    return len(launch.nodes) // len(set(launch.nodes))


def hosts(launch: PlannedLaunch) -> str:
    """Return hosts in rank order with their numbers of consecutive ranks, e.g. ``c1:1,c2:1``."""
    return ",".join(f"{node}:{len(list(ranks))}" for node, ranks in groupby(launch.nodes))


def find_mpi_impl(kind: str) -> MpiImplementation | None:
    """Return what the module of this kind of MPI offers; None without a module."""
    if kind not in MPI_IMPLS:
        return None
    mpi_impl: MpiImplementation = import_module(f"{__name__}.{kind}").MPI_IMPL
    return mpi_impl


def mpi_impl_of(mpi: Mpi) -> MpiImplementation:
    """Return what the module of this MPI offers.

    Raises:
        CannotRun: no module for this MPI.
    """
    mpi_impl = find_mpi_impl(mpi.kind)
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
        CannotRun: no module for this MPI.
    """
    mpi, mpi_impl = engine.mpi, mpi_impl_of(engine.mpi)
    on_gpu = "--memory" in engine_options
    variables = {**_verbose_variables(mpi_impl, launch, on_gpu), **dict(access.variables)}
    conflicting = mpi_impl.conflicting_variables if launch.network is not None else ()
    unset = [name for name in conflicting if name not in variables]
    if engine.library_path:
        variables["LD_LIBRARY_PATH"] = ":".join(engine.library_path)
    unset_words = [word for name in unset for word in ("-u", name)]
    words = (*unset_words, *(f"{name}={value}" for name, value in variables.items()))
    program = (
        *(("env", *words) if words else ()),
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
        CannotRun: no module for this MPI.
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
    variables = dict(mpi_impl.verbose_variables)
    if on_gpu:
        from fabricgauge.nodes.launch.mpi_impls.native import UCX_VERBOSE_GPU

        variables |= UCX_VERBOSE_GPU
    return {name: value for name, value in variables.items() if name not in os.environ}


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
