"""How a network is made permanent on nodes; a new way is a module and a row here."""

from fabricgauge.features.configure.backends.ip import IP
from fabricgauge.features.configure.backends.xcat import XCAT
from fabricgauge.features.configure.job import Backend

BACKENDS: dict[str, Backend] = {backend.name: backend for backend in (XCAT, IP)}
