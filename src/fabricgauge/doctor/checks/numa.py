"""Are adapters near the first ranks' processors, and near the GPUs?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, nodes
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import Adapter
from fabricgauge.model.preflight import Preflight

ID = "numa"
TITLE = "Adapters hang on the socket of the first ranks, and near the GPUs"
WHY = (
    "Crossing to the other socket adds some 0.1 µs to latency, and takes bandwidth between sockets."
)

#: nvidia-smi's words for ways that leave the socket (nvidia-smi topo -m, legend).
FAR = frozenset({"SYS"})


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    known = [
        (seen, adapter)
        for seen in nodes(preflight)
        for adapter in seen.adapters
        if isinstance(adapter.numa_node, int) and _used(preflight, seen, adapter)
    ]
    if not known:
        return Skipped("no adapter in use says which socket it hangs on")
    return tuple(
        found for seen, adapter in known for found in (*_far(seen, adapter), *_gpus(seen, adapter))
    )


def _used(preflight: Preflight, seen: Seen, adapter: Adapter) -> bool:
    if adapter.rdma_devices:
        return True
    ours = {one.name for one in seen.node.interfaces if one.addresses}
    return bool(ours & set(adapter.interfaces))


def _far(seen: Seen, adapter: Adapter) -> Iterator[Finding]:
    several = seen.facts.get("NUMA nodes", "0") not in ("0", "")
    rivals = [one.numa_node for one in seen.adapters if one.kind == adapter.kind]
    if several and adapter.numa_node != 0 and 0 not in rivals and not seen.inventory.gpus:
        what = f"hangs on NUMA node {adapter.numa_node}; ranks start on node 0"
        remedy = (
            "bind ranks that measure to that NUMA node (numactl --cpunodebind, --map-by), or move"
            " the adapter to a slot of the first socket"
        )
        told = f"{_name(seen, adapter)}: numa_node {adapter.numa_node}"
        yield _finding(seen, adapter, what, (told,), remedy)


def _gpus(seen: Seen, adapter: Adapter) -> Iterator[Finding]:
    names = {adapter.bus, *adapter.interfaces, *adapter.rdma_devices}
    mine = [one for one in seen.inventory.nearness if one.adapter in names]
    if mine and all(one.distance in FAR for one in mine):
        told = [f"{seen.name}: GPU {one.gpu} to {one.adapter}: {one.distance}" for one in mine]
        what = f"no GPU is on its socket ({listed([str(one.gpu) for one in mine])} are far)"
        remedy = "use the adapter of each GPU's own socket (NCCL_IB_HCA, UCX_NET_DEVICES)"
        yield _finding(seen, adapter, what, tuple(told), remedy)


def _name(seen: Seen, adapter: Adapter) -> str:
    bus = adapter.bus if isinstance(adapter.bus, str) else adapter.kind
    return f"{seen.name}:{(*adapter.rdma_devices, *adapter.interfaces, bus)[0]}"


def _finding(
    seen: Seen, adapter: Adapter, what: str, told: tuple[str, ...], remedy: str
) -> Finding:
    return Finding(ID, Severity.NOTE, _name(seen, adapter), what, told, WHY, remedy, (seen.name,))
