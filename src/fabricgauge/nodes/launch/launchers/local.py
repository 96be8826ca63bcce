"""The local launcher: all ranks run on this machine, and commands have no prefix."""

import platform

from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.nodes.launch.launchers import Launcher
from fabricgauge.nodes.launch.launchers.nodes import require_host_names, select_nodes


def access(nodes: tuple[str, ...]) -> HostAccess:
    """Return hosts that are all this machine; ``nodes`` are names for this machine.

    Raises:
        UsageError: a name that no host can have.
    """
    return HostAccess("local", tuple(Host(node, ()) for node in require_host_names(nodes)))


LAUNCHER = Launcher(
    lambda request: access(select_nodes(request) or (platform.node(),)),
    lambda request: not select_nodes(request),
)
