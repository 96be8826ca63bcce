"""Adapters, sockets and GPUs of one node as a table: who is near to whom."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, Gpu, Inventory

#: nvidia-smi's words for the way between an adapter and a GPU, nearest first (topo -m's legend).
DISTANCES = {
    "PIX": "one PCIe bridge at most",
    "PXB": "several PCIe bridges",
    "PHB": "a PCIe host bridge",
    "NODE": "host bridges of one NUMA node",
    "SYS": "the link between sockets",
}


class Row(msgspec.Struct, frozen=True):
    """An adapter with its NUMA node and its way to each GPU, in the order of the columns."""

    adapter: str
    socket: str
    ways: tuple[str, ...]


class Matrix(msgspec.Struct, frozen=True):
    """``columns`` are the GPUs, each with its NUMA node."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


def matrix(inventory: Inventory) -> Matrix:
    """Where no tool measured the way, equal or different NUMA nodes are all that is known."""
    told = {(near.adapter, near.gpu): near.distance for near in inventory.nearness}
    return Matrix(
        tuple(
            (f"GPU {gpu.index}", f"NUMA node {_number(gpu.numa_node)}") for gpu in inventory.gpus
        ),
        tuple(
            Row(
                ", ".join((*one.interfaces, *one.rdma_devices)) or str(_number(one.bus)),
                _number(one.numa_node),
                tuple(_way(one, gpu, told) for gpu in inventory.gpus),
            )
            for one in inventory.adapters
        ),
    )


def _way(one: Adapter, gpu: Gpu, told: dict[tuple[str, int], str]) -> str:
    for name in (*one.rdma_devices, *one.interfaces):
        if (name, gpu.index) in told:
            return told[name, gpu.index]
    if isinstance(one.numa_node, Skipped) or isinstance(gpu.numa_node, Skipped):
        return "not known"
    return "same NUMA node" if one.numa_node == gpu.numa_node else "SYS"


def _number(value: int | str | Skipped) -> str:
    return "not known" if isinstance(value, Skipped) else str(value)
