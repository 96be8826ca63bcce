"""Compute the ceiling of each technology."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Literal

import msgspec

from fabricgauge.judge.ceiling.packet import unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import OVER_TCP, Network
from fabricgauge.model.measurement import UsedVerbs
from fabricgauge.model.run import Launch

#: By technology, the module of this folder and its function; it is loaded if a network has it.
CEILINGS: dict[str, str] = {
    "ethernet": "ethernet.ceiling",
    "roce-v1": "ethernet.roce_v1",
    "roce-v2": "ethernet.roce_v2",
    "iwarp": "ethernet.iwarp",
    "infiniband": "infiniband.ceiling",
    "omni-path": "infiniband.omni_path",
    "ipoib": "ipoib.ceiling",
    "slingshot": "unframed.slingshot",
    "efa": "unframed.efa",
    "nvlink": "unframed.nvlink",
    "pcie": "binding.pcie",
    "cxl": "unframed.cxl",
    "simulated": "unframed.simulated",
}

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

#: The RDMA MTUs that may be in force if none is stated. An adapter on an interface with an
#: MTU of 1500 has 1024 (see ``ethernet``), a subnet manager's usual one is 2048 or 4096.
LIKELY_MTUS = (1024, 2048, 4096)
RDMA = ("roce-v1", "roce-v2", "infiniband")
#: The step of their sums that has the MTU.
MTU_LABELS = ("MTU", "RDMA MTU")


def _load(technology: str) -> Callable[[Network], Ceiling | Skipped]:
    module, _, function = CEILINGS[technology].partition(".")
    work_out: Callable[[Network], Ceiling | Skipped] = getattr(
        import_module(f"fabricgauge.judge.ceiling.{module}"), function
    )
    return work_out


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the ceiling of one network; Skipped with the reason if it cannot be worked out."""
    if network.technology not in CEILINGS:
        listed = ", ".join(sorted(CEILINGS))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {listed})"
        )
    work_out = _load(network.technology)
    best = unknown(network) or work_out(network)
    mtus = _shared_mtus(network)
    if not isinstance(best, Skipped) and len(mtus) > 1:
        return _ceiling_of_members(network, mtus)
    is_rdma = network.technology in RDMA or network.link == "Slingshot-10"
    if isinstance(best, Skipped) or "mtu" not in network.assumed or not is_rdma:
        return best
    replace = msgspec.structs.replace
    by_mtu = {mtu: work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in LIKELY_MTUS}
    return replace(best, by_mtu=_limits(by_mtu))


def _limits(ceiling_of_mtu: Mapping[int, Ceiling | Skipped]) -> dict[int, float]:
    return {
        mtu: limit.payload_bytes_per_s
        for mtu, limit in ceiling_of_mtu.items()
        if isinstance(limit, Ceiling)
    }


def _shared_mtus(network: Network) -> tuple[int, ...]:
    """Return the MTUs of pairs of nodes by their interfaces, ascending; none if one is stated.

    The smaller one of two holds, so that the largest of all counts only if two nodes have it.
    """
    if network.technology not in OVER_TCP or isinstance(network.stated_mtu_bytes, int):
        return ()
    nodes: dict[str, int] = {}
    for member in network.members:
        nodes[member.node] = max(member.mtu_bytes, nodes.get(member.node, 0))
    return tuple(sorted(set(sorted(nodes.values())[:-1])))


def _ceiling_of_members(network: Network, mtus: Sequence[int]) -> Ceiling | Skipped:
    """Return the ceiling of the largest MTU of all pairs; ``by_mtu`` has each."""
    replace, work_out = msgspec.structs.replace, _load(network.technology)
    by_mtu = {mtu: work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in mtus}
    largest = by_mtu[mtus[-1]]
    if isinstance(largest, Skipped):
        return largest
    smaller = ", ".join(map(str, mtus[:-1]))
    expression = (
        f"the largest that two nodes share, which no sound figure is above; others: {smaller}"
    )
    steps = tuple(
        replace(step, expression=expression) if step.label in MTU_LABELS else step
        for step in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(by_mtu))


def ceilings(
    networks: Iterable[Network], launches: Sequence[Launch] = ()
) -> dict[str, Ceiling | Skipped]:
    """Return the ceiling of each network, by the network's name.

    If ``launches`` went over verbs, it is that of their queue pairs' path MTU.
    """
    return {network.name: _ceiling_of_queue_pairs(network, launches) for network in networks}


def _ceiling_of_queue_pairs(network: Network, launches: Sequence[Launch]) -> Ceiling | Skipped:
    """Return the ceiling of the largest path MTU, which no sound figure exceeds."""
    of_network, used = ceiling(network), _path_mtus(network, launches)
    if isinstance(of_network, Skipped) or not used:
        return of_network
    replace, work_out = msgspec.structs.replace, _load(network.technology)
    by_mtu = {mtu: work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in used}
    largest = by_mtu[max(used)]
    if isinstance(largest, Skipped):
        return largest
    (mtu_step,) = (step for step in of_network.steps if step.label in MTU_LABELS)
    stated = f"the network's: {mtu_step.value:g}, {mtu_step.expression}"
    expression = f"{_describe_path_mtus(used)}; {stated}"
    steps = tuple(
        replace(step, label="path MTU", expression=expression) if step.label in MTU_LABELS else step
        for step in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(by_mtu) if len(used) > 1 else {})


def _path_mtus(network: Network, launches: Sequence[Launch]) -> dict[int, list[int]]:
    """Return the numbers of the launches by their queue pairs' path MTU, if packets are as large.

    On Omni-Path, verbs report 4096 for larger ones as well: see ``RdmaPort.path_mtu_bytes``.
    """
    launches_of_mtu: dict[int, list[int]] = {}
    for launch in launches:
        used = launch.header.transport if launch.header else None
        if launch.network == network.name and launch.completed and isinstance(used, UsedVerbs):
            launches_of_mtu.setdefault(used.path_mtu_bytes, []).append(launch.number)
    is_reported = network.technology == "omni-path" and PATH_MTUS[-1] not in launches_of_mtu
    return launches_of_mtu if is_reported or network.technology in RDMA else {}


def _describe_path_mtus(used: Mapping[int, Sequence[int]]) -> str:
    origin = "of the queue pairs, as the launches over verbs say"
    if len(used) == 1:
        return origin
    listed = (
        f"{mtu} (launch {', '.join(map(str, numbers))})" for mtu, numbers in sorted(used.items())
    )
    return f"{origin}: {'; '.join(listed)}; the largest, which no sound figure is above"
