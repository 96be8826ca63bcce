"""Is each GPU near to an adapter that works, and do adapters reach its memory? pure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fabricgauge.doctor.checks import Check, make_finding
from fabricgauge.doctor.checks.hardware import FAR
from fabricgauge.doctor.checks.likeness import Properties, find_differences
from fabricgauge.doctor.places import Cluster, KnownNode, get_text
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Adapter, Gpu, PcieLink
from fabricgauge.model.words.sentences import listed

#: nvidia-smi's words for the path between an adapter and a GPU, nearest first (topo -m, legend).
DISTANCES = ("PIX", "PXB", "PHB", "NODE", "SYS")

#: Modules that let an RDMA adapter reach the memory of NVIDIA's GPUs: the driver's own since 470,
#: and Mellanox' before it (NVIDIA, GPUDirect RDMA; github.com/Mellanox/nv_peer_memory).
PEER_MODULES = frozenset({"nvidia_peermem", "nv_peer_mem"})

#: Drivers whose devices need such a module. EFA, Omni-Path and Slingshot have their own code in
#: their drivers.
_THROUGH_PEER = frozenset({"mlx4_core", "mlx5_core", "bnxt_en", "irdma", "ice"})

#: Without the module, dma-buf is needed: NVIDIA's open kernel modules on Linux 5.12 or later (GPU
#: Operator, GPUDirect RDMA and GPUDirect Storage, prerequisites).
_DMA_BUF_KERNEL = (5, 12)

DRIVER_FACT = "nvidia driver"


class GpuPath(NamedTuple):
    """The path from a GPU to one RDMA adapter; ``distance`` is an index into ``DISTANCES``."""

    distance: int
    device: str
    adapter: Adapter
    works: bool

    @property
    def description(self) -> str:
        return f"{self.device} ({DISTANCES[self.distance]})"


def find_paths(node: KnownNode, gpu: Gpu) -> list[GpuPath]:
    """Return a GPU's known paths to the node's RDMA adapters, nearest first.

    If nvidia-smi does not give the distance, another NUMA node is SYS and the same one is NODE.
    """
    distances = {
        entry.adapter: entry.distance for entry in node.inventory.nearness if entry.gpu == gpu.index
    }
    paths = []
    for adapter in node.adapters:
        device = next(iter(adapter.rdma_devices), "")
        names = (*adapter.rdma_devices, *adapter.interfaces, get_text(adapter.bus, ""))
        word = next((distances[name] for name in names if name in distances), "")
        if not word and isinstance(adapter.numa_node, int) and isinstance(gpu.numa_node, int):
            word = "NODE" if adapter.numa_node == gpu.numa_node else "SYS"
        states = [port.state for port in node.find_ports(adapter)[1]]
        if device and word in DISTANCES:
            works = not states or "ACTIVE" in states
            paths.append(GpuPath(DISTANCES.index(word), device, adapter, works))
    return sorted(paths, key=lambda path: path.distance)


def _examine_affinity(node: KnownNode) -> Iterator[Finding]:
    idle, far = {}, {}
    for gpu in node.inventory.gpus:
        paths = find_paths(node, gpu)
        best = next((path for path in paths if path.works), None)
        if best is None:
            continue
        best_product = node.get_product(best.adapter)
        nearer = [path for path in paths if path.distance < best.distance]
        idle_paths = [path for path in nearer if node.get_product(path.adapter) == best_product]
        numa_node = f" (NUMA node {gpu.numa_node})" if isinstance(gpu.numa_node, int) else ""
        line = (
            f"{node.name}: GPU {gpu.index}{numa_node}: nearest adapter that works is"
            f" {best.description}"
        )
        if idle_paths:
            idle[gpu.index] = f"{line}; idle is {idle_paths[0].description}"
        elif DISTANCES[best.distance] in FAR:
            far[gpu.index] = line
    if idle:
        summary = f"has {_name_gpus(idle)} nearer to an idle adapter than to any that works"
        yield make_finding(Severity.WARN, node, summary, *idle.values(), remedy=_BRING_UP)
    if far:
        summary = f"has {_name_gpus(far)} without an RDMA adapter on the same socket"
        yield make_finding(Severity.NOTE, node, summary, *far.values(), remedy=_FAR)


def _name_gpus(lines: dict[int, str]) -> str:
    return f"GPU{'s' * (len(lines) > 1)} {listed([str(index) for index in lines])}"


_BRING_UP = "bring up the idle adapter's port (see link and port), or exchange its cable"
_FAR = (
    "use few ranks on these GPUs, or move an adapter to their socket; NCCL crosses between the"
    " sockets, or goes by NVLink to a nearer GPU (PXN)"
)


def _examine_peer_memory(node: KnownNode) -> Iterator[Finding]:
    modules = frozenset(node.inventory.modules)
    devices = [
        device
        for adapter in node.adapters
        if adapter.driver in _THROUGH_PEER and isinstance(adapter.bus, str)
        for device in adapter.rdma_devices
    ]
    if "nvidia" not in modules or not devices or modules & PEER_MODULES:
        return
    driver = node.get_fact(DRIVER_FACT)
    is_open = driver.endswith("open")
    if is_open and _parse_kernel(node.probe.kernel) >= _DMA_BUF_KERNEL:
        return
    # Distributions carry dma-buf back to older kernels; an unknown driver may have it as well.
    is_certain = bool(driver) and not is_open
    yield make_finding(
        Severity.WARN if is_certain else Severity.NOTE, node,
        "has no peer memory module loaded: adapters may not reach its GPUs' memory",
        f"{node.name}: {listed(sorted(PEER_MODULES))} are not loaded;"
        f" NVIDIA's driver: {driver or 'unknown'}; kernel {node.probe.kernel}",
        f"{node.name}: RDMA devices: {listed(devices, 8)}",
        remedy="load nvidia_peermem now and at each start (/etc/modules-load.d), or use NVIDIA's"
        " open kernel modules on Linux 5.12 or later, which do not need it",
        mends=[Command(node.name, ("modprobe", "nvidia_peermem"))],
    )  # fmt: skip


def _parse_kernel(release: str) -> tuple[int, int]:
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _count_values(values: list[str]) -> str:
    """Return ``8 × PIX``, or "" without values."""
    return ", ".join(f"{count} × {value}" for value, count in sorted(Counter(values).items()))


def _get_nearest_adapters(node: KnownNode) -> str:
    gpu_paths = (find_paths(node, gpu) for gpu in node.inventory.gpus)
    return _count_values([DISTANCES[paths[0].distance] for paths in gpu_paths if paths])


def _get_lanes(node: KnownNode) -> str:
    links = (gpu.pcie_now for gpu in node.inventory.gpus)
    return _count_values([f"x{link.lanes}" for link in links if isinstance(link, PcieLink)])


def _get_nvlinks(node: KnownNode) -> str:
    counts = [len(gpu.links_bit_s) for gpu in node.inventory.gpus]
    return _count_values([f"{count} up" for count in counts]) if any(counts) else ""


def _get_peer_module(node: KnownNode) -> str:
    modules = frozenset(node.inventory.modules)
    return ", ".join(sorted(modules & PEER_MODULES)) or "none" if "nvidia" in modules else ""


_NUMBER: Properties = {
    "number of GPUs": lambda node: (
        str(len(node.inventory.gpus)) if node.inventory.gpus or node.inventory.sources else ""
    )
}

#: The speed of a GPU's slot is not compared: the driver lowers it while the GPU is idle.
_COMPARED: Properties = {
    "nearest RDMA adapters of the GPUs": _get_nearest_adapters,
    "NVLinks of the GPUs": _get_nvlinks,
    "PCIe lanes of the GPUs": _get_lanes,
    "driver of the GPUs": lambda node: node.get_fact(DRIVER_FACT),
    "peer memory module": _get_peer_module,
}


def _find_gpu_differences(group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Compare like nodes; a node with another number of GPUs is reported for that alone."""
    findings = [*find_differences(group, _NUMBER)]
    yield from findings
    named_nodes = {node for finding in findings for node in finding.nodes}
    same_count = [node for node in group if node.name not in named_nodes]
    yield from find_differences(same_count, _COMPARED)


def _examine_gpus(cluster: Cluster, nodes: list[KnownNode]) -> Iterator[Finding]:
    for node in nodes:
        yield from _examine_affinity(node)
        yield from _examine_peer_memory(node)
    for group in cluster.peer_groups:
        if any(node.inventory.gpus for node in group):
            yield from _find_gpu_differences(group)


GPU = Check(
    "gpu",
    "GPUs are near to adapters that work, and these reach their memory",
    "Data of a GPU that crosses to the other socket, or is copied to the host first, arrives at a"
    " fraction of the adapter's rate; the job's slowest GPU sets the pace of all.",
    lambda cluster: [node for node in cluster.nodes if node.inventory.gpus],
    "no node has a GPU",
    _examine_gpus,
    "look for a GPU that fell off the bus, a dead NVLink or a slot with fewer lanes (nvidia-smi -q,"
    " dmesg); else give the nodes one image",
)
