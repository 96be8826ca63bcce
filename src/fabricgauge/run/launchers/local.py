"""The local launcher: every rank on this machine, nothing in front of a command."""

import platform

from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.run.launchers.interface import Launcher, NodesAsked
from fabricgauge.run.launchers.nodes import checked


def access(nodes: tuple[str, ...]) -> HostAccess:
    """Hosts that are this machine; ``nodes`` are names for this machine.

    Raises:
        UsageError: a name that no host can have.
    """
    return HostAccess("local", tuple(Host(node, ()) for node in checked(nodes)))


def _reach(asked: NodesAsked) -> HostAccess:
    return access(asked.nodes() or (platform.node(),))


LAUNCHER = Launcher(_reach, lambda asked: not asked.nodes())
