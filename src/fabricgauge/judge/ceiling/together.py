"""Find the networks that an MPI used at once by its own choice, and add up their ceilings."""

from collections.abc import Iterable, Mapping

from fabricgauge.judge.ceiling.capacity import PER_DIRECTION
from fabricgauge.judge.thresholds import MOVED_AT_ALL, Thresholds
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.evidence import LaunchTraffic, NetworkEvidence
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.words.networks import OWN_CHOICE

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
