"""What a launcher's module provides, and what it is given."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.run.launchers.nodes import chosen
from fabricgauge.run.mpi_impls.interface import MpiImplementation


class NodesAsked(msgspec.Struct, frozen=True):
    """The nodes that the user names, ssh's configuration file, and this program's environment."""

    nodelist: str
    exclude: str
    ssh_config: str
    environment: Mapping[str, str]

    def nodes(self, everybody: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The named nodes, else everybody; empty where neither is known.

        Raises:
            UsageError: no node is left.
        """
        return chosen(self.nodelist, self.exclude, everybody)


Starting = Callable[
    [MpiImplementation, Mpi, PlannedLaunch, HostAccess, tuple[str, ...]], LaunchCommand
]


class Launcher(msgspec.Struct, frozen=True):
    """One way to reach nodes.

    ``reach`` gives the hosts, or raises UsageError. ``is_usual`` tells whether it is taken where
    none is asked for. ``starts`` makes the command that starts ranks, None where the MPI's own
    launcher does, by way of ``agent`` of ``HostAccess``. ``environment`` is that of either.
    """

    reach: Callable[[NodesAsked], HostAccess]
    is_usual: Callable[[NodesAsked], bool]
    starts: Starting | None = None
    environment: Mapping[str, str] = MappingProxyType({})
