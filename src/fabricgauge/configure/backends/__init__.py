"""How a network is made permanent on nodes; a new way is a module and a row here."""

from fabricgauge.configure.backends.ip import IP
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.backends.profiles import NETPLAN, NETWORK_MANAGER, NETWORKD
from fabricgauge.configure.backends.warewulf import WAREWULF
from fabricgauge.configure.backends.xcat import XCAT

BACKENDS: dict[str, Backend] = {
    one.name: one for one in (XCAT, WAREWULF, NETWORK_MANAGER, NETPLAN, NETWORKD, IP)
}
