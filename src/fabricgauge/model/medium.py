"""The path of a small message, by technology: it gives the lower bound of the latency."""

from typing import Literal

#: The path of a small message: the kernel's TCP, an adapter, or a path between memories.
Floor = Literal["tcp", "rdma", "iwarp", "slingshot", "efa", "memory"]

#: The floor of latency by technology. ``ipoib`` is TCP over InfiniBand or Omni-Path.
FLOORS: dict[str, Floor] = {
    "ethernet": "tcp",
    "ipoib": "tcp",
    "roce-v1": "rdma",
    "roce-v2": "rdma",
    "iwarp": "iwarp",
    "infiniband": "rdma",
    "omni-path": "rdma",
    "slingshot": "slingshot",
    "efa": "efa",
    "nvlink": "memory",
    "pcie": "memory",
    "cxl": "memory",
    "simulated": "rdma",
}
