"""Compute the ceiling of each technology, and that of networks which an MPI used at once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Literal, NamedTuple

import msgspec

from fabricgauge.judge.ceiling.capacity import PER_DIRECTION, unknown
from fabricgauge.judge.thresholds import MOVED_AT_ALL, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.evidence import LaunchTraffic, NetworkEvidence
from fabricgauge.model.fabric import OVER_TCP, Fabric, Network
from fabricgauge.model.measurement import UsedVerbs
from fabricgauge.model.run import Launch
from fabricgauge.model.words.networks import OWN_CHOICE

#: The path of a small message: the kernel's TCP, an adapter, or a path between memories.
Floor = Literal["tcp", "rdma", "iwarp", "slingshot", "efa", "memory"]


class Technology(NamedTuple):
    """The module of this folder with the ceiling's function, and the floor of latency."""

    ceiling: str
    floor: Floor


#: A module is loaded if a network has the technology. ``ipoib`` is TCP over either link.
TECHNOLOGIES: dict[str, Technology] = {
    "ethernet": Technology("ethernet.ceiling", "tcp"),
    "roce-v1": Technology("ethernet.roce_v1", "rdma"),
    "roce-v2": Technology("ethernet.roce_v2", "rdma"),
    "iwarp": Technology("ethernet.iwarp", "iwarp"),
    "infiniband": Technology("infiniband.ceiling", "rdma"),
    "omni-path": Technology("infiniband.omni_path", "rdma"),
    "ipoib": Technology("infiniband.ipoib", "tcp"),
    "slingshot": Technology("unframed.slingshot", "slingshot"),
    "efa": Technology("unframed.efa", "efa"),
    "nvlink": Technology("unframed.nvlink", "memory"),
    "pcie": Technology("capacity.pcie", "memory"),
    "cxl": Technology("unframed.cxl", "memory"),
    "simulated": Technology("unframed.simulated", "rdma"),
}

#: The RDMA MTUs that may be in force if none is stated. An adapter on an interface with an
#: MTU of 1500 has 1024 (see ``ethernet``), a subnet manager's usual one is 2048 or 4096.
LIKELY_MTUS = (1024, 2048, 4096)
RDMA = ("roce-v1", "roce-v2", "infiniband")
#: The step of their sums that has the MTU.
MTU_LABELS = ("MTU", "RDMA MTU")


def ceiling(network: Network) -> Ceiling | Skipped:
    """Return the ceiling of one network; Skipped with the reason if it cannot be worked out."""
    if network.technology not in TECHNOLOGIES:
        listed = ", ".join(sorted(TECHNOLOGIES))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {listed})"
        )
    best = unknown(network) or _work_out(network)
    mtus = _shared_mtus(network)
    if not isinstance(best, Skipped) and len(mtus) > 1:
        smaller = ", ".join(map(str, mtus[:-1]))
        return _ceiling_of_largest(
            network,
            mtus,
            f"the largest that two nodes share, which no sound figure is above; others: {smaller}",
        )
    is_rdma = network.technology in RDMA or network.link == "Slingshot-10"
    if isinstance(best, Skipped) or "mtu" not in network.assumed or not is_rdma:
        return best
    return msgspec.structs.replace(best, by_mtu=find_limits(network, LIKELY_MTUS))


def find_limits(network: Network, mtus: Iterable[int]) -> dict[int, float]:
    """Return a network's limit in bytes/s with each of these MTUs."""
    return _limits(_work_out_each(network, mtus))


def _work_out(network: Network) -> Ceiling | Skipped:
    module, _, function = TECHNOLOGIES[network.technology].ceiling.partition(".")
    work_out: Callable[[Network], Ceiling | Skipped] = getattr(
        import_module(f"fabricgauge.judge.ceiling.{module}"), function
    )
    return work_out(network)


def _work_out_each(network: Network, mtus: Iterable[int]) -> dict[int, Ceiling | Skipped]:
    replace = msgspec.structs.replace
    return {mtu: _work_out(replace(network, stated_mtu_bytes=mtu)) for mtu in mtus}


def _limits(ceiling_of_mtu: Mapping[int, Ceiling | Skipped]) -> dict[int, float]:
    return {
        mtu: limit.payload_bytes_per_s
        for mtu, limit in ceiling_of_mtu.items()
        if isinstance(limit, Ceiling)
    }


def _ceiling_of_largest(
    network: Network, mtus: Collection[int], expression: str, label: str = ""
) -> Ceiling | Skipped:
    """Return the ceiling of the largest of these MTUs; ``by_mtu`` has each of several.

    ``expression`` and ``label`` are those of the MTU's step; an empty label stays as it is.
    """
    replace, by_mtu = msgspec.structs.replace, _work_out_each(network, mtus)
    largest = by_mtu[max(mtus)]
    if isinstance(largest, Skipped):
        return largest
    steps = tuple(
        replace(step, label=label or step.label, expression=expression)
        if step.label in MTU_LABELS
        else step
        for step in largest.steps
    )
    return replace(largest, steps=steps, by_mtu=_limits(by_mtu) if len(mtus) > 1 else {})


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


def ceilings(
    networks: Iterable[Network], launches: Sequence[Launch] = ()
) -> dict[str, Ceiling | Skipped]:
    """Return the ceiling of each network, by the network's name.

    If ``launches`` went over verbs, it is that of their queue pairs' path MTU.
    """
    return {network.name: _ceiling_of_queue_pairs(network, launches) for network in networks}


def slot_share(network: Network) -> float:
    """Return the share of its links' payload that a network's slots let through; 1 if links bind.

    A figure of a network that its slot bounds must not be compared with rates of links.
    """
    if not network.host_link:
        return 1.0
    all_of, links = ceiling(network), ceiling(msgspec.structs.replace(network, host_link=""))
    if isinstance(all_of, Skipped) or isinstance(links, Skipped):
        return 1.0
    return min(1.0, all_of.payload_bytes_per_s / links.payload_bytes_per_s)


def _ceiling_of_queue_pairs(network: Network, launches: Sequence[Launch]) -> Ceiling | Skipped:
    """Return the ceiling of the largest path MTU, which no sound figure exceeds."""
    of_network, used = ceiling(network), _path_mtus(network, launches)
    if isinstance(of_network, Skipped) or not used:
        return of_network
    (mtu_step,) = (step for step in of_network.steps if step.label in MTU_LABELS)
    stated = f"the network's: {mtu_step.value:g}, {mtu_step.expression}"
    expression = f"{_describe_path_mtus(used)}; {stated}"
    return _ceiling_of_largest(network, used, expression, "path MTU")


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


#: A network with a smaller share of a node's bytes carried its messages of control, or others'.
STRIPED = 0.05

#: Ceilings by the network's name, as ``technologies.ceilings`` gives them.
Ceilings = Mapping[str, Ceiling | Skipped]


def add_ceilings(
    fabric: Fabric, evidence: NetworkEvidence, ceilings: Ceilings, thresholds: Thresholds
) -> Ceiling | None:
    """Return the sum of the ceilings of the networks that counters show; None if it is unknown."""
    networks = find_striped(fabric, evidence, thresholds)
    limits = [ceilings.get(network.name) for network in networks]
    known = [limit for limit in limits if isinstance(limit, Ceiling)]
    if not known or len(known) < len(limits):
        return None
    total = sum(limit.payload_bytes_per_s for limit in known)
    parts = [
        CeilingStep(limit.network, limit.steps[-1].expression if limit.steps else limit.binding,
                    limit.payload_bytes_per_s, PER_DIRECTION)
        for limit in known
    ]  # fmt: skip
    expression = " + ".join(f"{limit.payload_bytes_per_s / 1e6:.2f} MB/s" for limit in known)
    largest = max(known, key=lambda limit: limit.payload_bytes_per_s)
    return Ceiling(
        network=OWN_CHOICE,
        payload_bytes_per_s=total,
        payload_per_packet_bytes=largest.payload_per_packet_bytes,
        wire_bytes_per_packet=largest.wire_bytes_per_packet,
        burst_bytes=sum(limit.burst_bytes for limit in known),
        binding="; ".join(limit.binding for limit in known),
        steps=(*parts, CeilingStep("ceiling", expression, total, PER_DIRECTION)),
    )


def find_striped(
    fabric: Fabric, evidence: NetworkEvidence, thresholds: Thresholds
) -> tuple[Network, ...]:
    """Return the networks that carried the bytes of every node in every launch.

    They are two or more, or one of which all rails carried bytes. Empty if nodes or launches used
    different ones, if bytes crossed other interfaces, or if two of them share their wires.
    """
    used = [
        _find_used(fabric, node, thresholds.value("path.share"))
        for launch in evidence.launches
        for node in launch.moved
        if node.payload_bytes >= thresholds.value("path.least_payload")
    ]
    names = set(used)
    if evidence.network is not None or len(names) != 1:
        return ()
    networks = [network for network in fabric.networks if network.name in used[0]]
    wires = [network.wire for network in networks if network.wire]
    several = sum(network.rails for network in networks) > 1
    return tuple(networks) if several and len(wires) == len(set(wires)) else ()


def _find_used(fabric: Fabric, node: LaunchTraffic, least_share: float) -> frozenset[str]:
    """Return the names of the networks that carried a node's payload; empty if others did."""
    if node.total_bytes < MOVED_AT_ALL * node.payload_bytes:
        return frozenset()
    by_network = sum_by_network(fabric.networks, node)
    used = {name: n for name, n in by_network.items() if n >= STRIPED * node.total_bytes}
    crossed = sum(used.values())
    known = {network.name for network in fabric.networks}
    is_whole = crossed >= least_share * max(node.total_bytes, node.payload_bytes)
    # Without each of them the payload would not fit into the rest: it is no other program's.
    needed = all(node.total_bytes - count < node.payload_bytes for count in used.values())
    idle = any(
        node.sent_bytes.get(rail.interface, 0) < STRIPED * node.total_bytes
        for network in fabric.networks
        if network.name in used and network.rails > 1
        for rail in network.rails_of(node.node)
    )
    is_known = known >= {*used} and not idle
    return frozenset(used) if is_whole and needed and is_known else frozenset()


def sum_by_network(networks: Iterable[Network], node: LaunchTraffic) -> dict[str, int]:
    """Return a node's sent octets by network; an interface of none counts by its own name."""
    # All rails together come before each alone.
    names = {
        member.interface: network.name
        for network in reversed(tuple(networks))
        for member in network.rails_of(node.node)
    }
    by_network: dict[str, int] = {}
    for interface, count in node.sent_bytes.items():
        name = names.get(interface, interface)
        by_network[name] = by_network.get(name, 0) + count
    return by_network
