"""The table of backends: a new one is a module and a row here."""

from fabricgauge.configure.backends import (
    ip,
    netplan,
    network_manager,
    networkd,
    warewulf,
    xcat,
)
from fabricgauge.configure.backends.kind import Backend

BACKENDS: dict[str, Backend] = {
    module.BACKEND.name: module.BACKEND
    for module in (xcat, warewulf, network_manager, netplan, networkd, ip)
}
