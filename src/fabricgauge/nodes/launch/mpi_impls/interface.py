"""The interface of an MPI's module, and functions that all of them need."""

from collections.abc import Callable, Mapping
from itertools import groupby
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.words.networks import is_loopback


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
