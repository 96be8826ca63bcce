"""The local launcher: every rank on this machine, nothing in front of a command."""

import platform

from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.launchers.interface import Launcher
from fabricgauge.run.launchers.nodes import checked, chosen


def access(nodes: tuple[str, ...]) -> HostAccess:
    """Hosts that are this machine; ``nodes`` are names for this machine.

    Raises:
        UsageError: a name that no host can have.
    """
    return HostAccess("local", tuple(Host(node, ()) for node in checked(nodes)))


def _reach(request: MeasurementRequest) -> HostAccess:
    return access(chosen(request) or (platform.node(),))


LAUNCHER = Launcher(_reach, lambda request: not chosen(request))
