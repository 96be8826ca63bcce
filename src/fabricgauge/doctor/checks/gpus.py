"""Is each GPU near to an adapter that works, and do adapters reach its memory? pure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fabricgauge.doctor.check import Check, found
from fabricgauge.doctor.checks.hardware import FAR
from fabricgauge.doctor.checks.likeness import Compared, unlike
from fabricgauge.doctor.places import Cluster, KnownNode, told
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Adapter, Gpu, PcieLink
from fabricgauge.words.sentences import listed

#: nvidia-smi's words for the way between an adapter and a GPU, nearest first (topo -m, legend).
DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")

#: What lets an RDMA adapter reach the memory of NVIDIA's GPUs: the driver's own module since 470,
#: and Mellanox' before it (NVIDIA, GPUDirect RDMA; github.com/Mellanox/nv_peer_memory).
PEER_MODULES = frozenset({"nvidia_peermem", "nv_peer_mem"})

#: Drivers whose devices reach it through such a module. EFA, Omni-Path and Slingshot have code of
#: their own in their drivers.
_THROUGH_PEER = frozenset({"mlx4_core", "mlx5_core", "bnxt_en", "irdma", "ice"})

#: Without the module it takes dma-buf: NVIDIA's open kernel modules on Linux 5.12 or later (GPU
#: Operator, GPUDirect RDMA and GPUDirect Storage, prerequisites).
_DMA_BUF_KERNEL = (5, 12)

DRIVER_FACT = "nvidia driver"


class Way(NamedTuple):
    """One RDMA adapter as a GPU sees it; ``distance`` is a place in ``DISTANCES``."""

    distance: int
    device: str
    adapter: Adapter
    works: bool

    @property
    def told(self) -> str:
        return f"{self.device} ({DISTANCES[self.distance]})"


def ways(seen: KnownNode, gpu: Gpu) -> list[Way]:
    """A GPU's ways to the node's RDMA adapters, nearest first; those that are not known are left
    out. Where nvidia-smi did not tell, another NUMA node is SYS and the same one is NODE."""
    near = {one.adapter: one.distance for one in seen.inventory.nearness if one.gpu == gpu.index}
    found = []
    for adapter in seen.adapters:
        device = next(iter(adapter.rdma_devices), "")
        names = (*adapter.rdma_devices, *adapter.interfaces, told(adapter.bus, ""))
        word = next((near[name] for name in names if name in near), "")
        if not word and isinstance(adapter.numa_node, int) and isinstance(gpu.numa_node, int):
            word = "NODE" if adapter.numa_node == gpu.numa_node else "SYS"
        states = [port.state for port in seen.on(adapter)[1]]
        if device and word in DISTANCES:
            works = not states or "ACTIVE" in states
            found.append(Way(DISTANCES.index(word), device, adapter, works))
    return sorted(found, key=lambda way: way.distance)


def _affinity(seen: KnownNode) -> Iterator[Finding]:
    """GPUs with an idle adapter nearer than those that work, and GPUs far from all that work."""
    idle, far = {}, {}
    for gpu in seen.inventory.gpus:
        every = ways(seen, gpu)
        best = next((way for way in every if way.works), None)
        if best is None:
            continue
        nearer = [way for way in every if way.distance < best.distance]
        same = [one for one in nearer if seen.product(one.adapter) == seen.product(best.adapter)]
        where = f"{seen.name}: GPU {gpu.index}{_node_of(gpu)}: nearest that works is {best.told}"
        if same:
            idle[gpu.index] = f"{where}; idle is {same[0].told}"
        elif DISTANCES[best.distance] in FAR:
            far[gpu.index] = where
    if idle:
        what = f"{_gpus(idle)} nearer to an idle adapter than to any that works"
        yield found(Severity.WARN, seen, what, *idle.values(), remedy=_BRING_UP)
    if far:
        what = f"{_gpus(far)} without an RDMA adapter on the same socket"
        yield found(Severity.NOTE, seen, what, *far.values(), remedy=_FAR)


def _node_of(gpu: Gpu) -> str:
    return f" (NUMA node {gpu.numa_node})" if isinstance(gpu.numa_node, int) else ""


def _gpus(which: dict[int, str]) -> str:
    one, *more = which
    return f"GPUs {listed([str(index) for index in which])} are" if more else f"GPU {one} is"


_BRING_UP = "bring up the idle adapter's port (see link and port), or exchange its cable"
_FAR = (
    "let ranks of these GPUs be as few as their work allows, or move an adapter to their socket;"
    " NCCL then crosses between the sockets, or goes by NVLink to a GPU that is nearer (PXN)"
)


def _peer(seen: KnownNode) -> Iterator[Finding]:
    modules = frozenset(seen.inventory.modules)
    devices = [
        name
        for one in seen.adapters
        if one.driver in _THROUGH_PEER and isinstance(one.bus, str)
        for name in one.rdma_devices
    ]
    if "nvidia" not in modules or not devices or modules & PEER_MODULES:
        return
    driver = seen.fact(DRIVER_FACT)
    is_open = driver.endswith("open")
    if is_open and _kernel(seen.node.kernel) >= _DMA_BUF_KERNEL:
        return
    # Distributions carry dma-buf back to older kernels; an unknown driver may have it as well.
    sure = bool(driver) and not is_open
    yield found(
        Severity.WARN if sure else Severity.NOTE, seen,
        "adapters may not reach its GPUs' memory: no peer memory module is loaded",
        f"{seen.name}: {listed(sorted(PEER_MODULES))} are not among its modules;"
        f" NVIDIA's driver: {driver or 'not told'}; kernel {seen.node.kernel}",
        f"{seen.name}: RDMA devices: {listed(devices, 8)}",
        remedy="load nvidia_peermem, at each start as well (/etc/modules-load.d), or use NVIDIA's"
        " open kernel modules on Linux 5.12 or later, which need none",
        mends=[Command(seen.name, ("modprobe", "nvidia_peermem"))],
    )  # fmt: skip


def _kernel(release: str) -> tuple[int, int]:
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _counted(values: list[str]) -> str:
    """``8 × PIX``; empty where nothing is known."""
    return ", ".join(f"{count} × {value}" for value, count in sorted(Counter(values).items()))


def _nearest(seen: KnownNode) -> str:
    every = (ways(seen, gpu) for gpu in seen.inventory.gpus)
    return _counted([DISTANCES[one[0].distance] for one in every if one])


def _count(seen: KnownNode) -> str:
    gpus = len(seen.inventory.gpus)
    return str(gpus) if gpus or seen.inventory.sources else ""


def _lanes(seen: KnownNode) -> str:
    links = (gpu.pcie_now for gpu in seen.inventory.gpus)
    return _counted([f"x{one.lanes}" for one in links if isinstance(one, PcieLink)])


def _nvlinks(seen: KnownNode) -> str:
    links = [len(gpu.links_bit_s) for gpu in seen.inventory.gpus]
    return _counted([f"{one} up" for one in links]) if any(links) else ""


def _module(seen: KnownNode) -> str:
    loaded = frozenset(seen.inventory.modules)
    return ", ".join(sorted(loaded & PEER_MODULES)) or "none" if "nvidia" in loaded else ""


_NUMBER: Compared = {"number of GPUs": _count}

#: The speed of a GPU's slot is not compared: the driver lowers it while the GPU is idle.
_COMPARED: Compared = {
    "nearest RDMA adapters of the GPUs": _nearest,
    "NVLinks of the GPUs": _nvlinks,
    "PCIe lanes of the GPUs": _lanes,
    "driver of the GPUs": lambda seen: seen.fact(DRIVER_FACT),
    "peer memory module": _module,
}


def _differing(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """A node whose count differs differs in all that is counted by GPU: the count alone is told."""
    odd = [*unlike(group, _NUMBER, ":")]
    yield from odd
    named = {node for one in odd for node in one.nodes}
    same = [seen for seen in group if seen.name not in named]
    yield from unlike(same, _COMPARED, ":")


def _look(cluster: Cluster, nodes: list[KnownNode]) -> Iterator[Finding]:
    for seen in nodes:
        yield from _affinity(seen)
        yield from _peer(seen)
    for group in cluster.alike:
        if any(seen.inventory.gpus for seen in group):
            yield from _differing(group)


GPU = Check(
    "gpu",
    "GPUs are near to adapters that work, and these reach their memory",
    "Data of a GPU that crosses to the other socket, or is copied to the host first, arrives at a"
    " fraction of the adapter's rate; the job's slowest GPU sets the pace of all.",
    lambda cluster: [seen for seen in cluster.nodes if seen.inventory.gpus],
    "no node has a GPU",
    _look,
    "look for a GPU that fell off the bus, a dead NVLink or a slot with fewer lanes (nvidia-smi -q,"
    " dmesg); else bring the nodes to one image",
)
