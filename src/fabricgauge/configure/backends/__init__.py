"""How a network is made permanent on nodes; a new way is a module and a row here."""

from fabricgauge.configure.backends.ip import IP
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.backends.xcat import XCAT

BACKENDS: dict[str, Backend] = {backend.name: backend for backend in (XCAT, IP)}
