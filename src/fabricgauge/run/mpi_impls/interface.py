"""What an MPI stack's module provides, and what all of them need."""

from collections.abc import Callable, Mapping
from itertools import groupby
from types import MappingProxyType

import msgspec

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.words.networks import is_loopback


class MpiImplementation(msgspec.Struct, frozen=True):
    """One MPI's way of starting ranks.

    ``command`` is pure: from the MPI, the launch, the reach and each rank's own argv it
    makes the launcher's argv and environment. ``transport`` gives the variables that keep ranks
    to the launch's network, with any launcher. ``pmi`` is what srun's ``--mpi`` calls the protocol
    that the ranks speak. ``interface_variables`` take an interface's name, which differs between
    nodes: the rank's own program sets them. ``tells`` make the MPI say what carries its messages,
    on the ranks' standard error or before the engine's first record. ``ways`` takes that from such
    a line. ``contrary`` are variables of a site that prevent the choice of a network: a launch on a
    network unsets them for its ranks.
    """

    command: Callable[[Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand]
    transport: Callable[[PlannedLaunch, HostAccess, Mpi], dict[str, str]]
    pmi: str
    interface_variables: tuple[str, ...] = ()
    tells: Mapping[str, str] = MappingProxyType({})
    ways: Callable[[str], tuple[str, ...]] = lambda _line: ()
    contrary: tuple[str, ...] = ()


def is_pinned(launch: PlannedLaunch) -> bool:
    """Whether MPI is to use one network of several nodes, and no other."""
    return launch.network is not None and not is_loopback(launch.network)


def has_own_cores(launch: PlannedLaunch, access: HostAccess) -> bool:
    """Whether each rank is bound to a core: it was asked for, or it has a whole node to itself.

    Nodes of a lab, and ranks that share a node, share cores: two ranks bound to the
    same one would wait for each other.
    """
    if access.bind:
        return access.bind == "core"
    alone = len(set(launch.nodes)) == len(launch.nodes)
    return alone and not access.virtual and access.launcher != "local"


def anywhere(access: HostAccess) -> bool:
    """Whether the ranks go to the nodes of a job that is not there yet, in Slurm's order."""
    return not access.hosts


def ranks_per_node(launch: PlannedLaunch) -> int:
    return len(launch.nodes) // len(set(launch.nodes))


def hosts(launch: PlannedLaunch) -> str:
    """``c1:1,c2:1``: hosts in rank order, each with its number of consecutive ranks."""
    return ",".join(f"{node}:{len(list(same))}" for node, same in groupby(launch.nodes))
