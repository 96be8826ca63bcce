"""What an MPI stack's module provides, and what all of them need."""

from collections.abc import Callable, Iterator
from itertools import groupby

import msgspec

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Mpi
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach

#: A network of this name and the node's: both ranks on that node, over TCP loopback.
LOOPBACK = "loopback:"


class Stack(msgspec.Struct, frozen=True):
    """One MPI's way of starting ranks.

    ``command`` is pure: from the MPI, the launch, the reach and each rank's own argv it
    makes the launcher's argv and environment. ``interface_variables`` are those that take
    an interface's name, which differs between nodes: the rank's own program sets them.
    """

    command: Callable[[Mpi, PlannedLaunch, Reach, tuple[str, ...]], Command]
    interface_variables: tuple[str, ...] = ()


def is_loopback(launch: PlannedLaunch) -> bool:
    """Whether the launch measures a node's TCP stack against itself."""
    return launch.network is not None and launch.network.startswith(LOOPBACK)


def is_pinned(launch: PlannedLaunch) -> bool:
    """Whether MPI is to use one network of several nodes, and no other."""
    return launch.network is not None and not is_loopback(launch)


def has_own_cores(launch: PlannedLaunch, reach: Reach) -> bool:
    """Whether each rank has a whole node to itself, so that it can be bound to a core.

    Nodes of a lab, and ranks that share a node, share cores: two ranks bound to the
    same one would wait for each other.
    """
    alone = len(set(launch.nodes)) == len(launch.nodes)
    return alone and not reach.virtual and reach.launcher != "local"


def hosts(launch: PlannedLaunch) -> str:
    """``c1:1,c2:1``: hosts in rank order, each with its number of consecutive ranks."""
    return ",".join(f"{node}:{count}" for node, count in _ranks(launch))


def _ranks(launch: PlannedLaunch) -> Iterator[tuple[str, int]]:
    return ((node, len(list(same))) for node, same in groupby(launch.nodes))
