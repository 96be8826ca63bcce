"""What UCX says of the transports that it chose; MPICH and Open MPI may both be built on it.

Source: ucp_worker.c of UCX 1.13.1 and 1.20.1, at log level info.
"""

import re
from types import MappingProxyType

TELLS = MappingProxyType({"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"})

#: How endpoints are configured: ``ep_cfg[1]: tag(tcp/eth0) …``, later ``inter-node cfg#1 tag(…)``.
_CONFIGURED = re.compile(
    r" UCX  INFO .*?(?:ep_cfg\[\d+\]:|cfg#\d+) (?:[a-z_]+\([^)]*\) +)*?tag\(([^)]+)\)"
)


def ways(line: str) -> tuple[str, ...]:
    """``("tcp/eth0",)``; nothing for an endpoint of a rank with itself."""
    found = _CONFIGURED.search(line[:1000])
    chosen = tuple(found[1].split()) if found else ()
    return () if any(one.startswith("self/") for one in chosen) else chosen
