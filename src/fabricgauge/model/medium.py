"""What a small message has to pass through, by technology: it bounds the latency from below."""

from typing import Literal

#: What a small message has to pass: the kernel's TCP, an adapter, or a path between memories.
Floor = Literal["tcp", "rdma", "iwarp", "slingshot", "efa", "memory"]

#: Which floor of latency holds for whom. ``ipoib`` is TCP over InfiniBand or Omni-Path.
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
