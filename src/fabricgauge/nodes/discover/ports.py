"""RDMA ports of several nodes → the networks that join them, each rail alone and all; pure.

Ports reach each other if they are in one subnet of one subnet manager and share a partition
(InfiniBand, Omni-Path), if their interfaces share an IP network (RoCE, iWARP), or if there is only
one fabric (EFA, Slingshot). LIDs are unique in a subnet: two ports with the same LID are in two
subnets. Sources: InfiniBand Architecture Specification Volume 1 Release 1.4, 4.1.1 (GIDs), 10.9.1
(partitions: two limited members do not reach each other), 14.2.5.6 (LIDs).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.fabric import Member, Network, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.networks import rail_of
from fabricgauge.nodes.discover.port_ends import (
    PortEndpoint,
    get_slot_link,
    list_port_endpoints,
    name_link,
)

if TYPE_CHECKING:
    from fabricgauge.model.surveyed import PortClass


def join_port_networks(
    nodes: Sequence[Node], ip_networks: Sequence[Network]
) -> tuple[Network, ...]:
    """Return networks of RDMA ports that join at least two of ``nodes``.

    Nodes of one kernel (a virtual cluster on one machine) all show the same ports: theirs are left
    out. If each node has several ports in a fabric, each rail is a network, and all together.
    """
    kernels = Counter(node.boot_id for node in nodes)
    separate_nodes = [node for node in nodes if kernels[node.boot_id] == 1]
    endpoints = [
        endpoint for node in separate_nodes for endpoint in list_port_endpoints(node.name, node)
    ]
    fabrics = (
        group
        for candidates in _split_by_address(endpoints, ip_networks)
        for group in _split_by_partition(candidates)
    )
    families = [(group[0].port.protocol, group) for group in fabrics if _joins_nodes(group)]
    counts, numbers = Counter(family for family, _ in families), Counter[str]()
    networks: list[Network] = []
    for family, group in families:
        numbers[family] += 1
        name = f"{family}-{numbers[family]}" if counts[family] > 1 else family
        networks += _make_rails(name, group)
    return tuple(networks)


def _joins_nodes(endpoints: Sequence[PortEndpoint]) -> bool:
    return len({endpoint.node for endpoint in endpoints}) > 1


def _split_by_address(
    endpoints: Iterable[PortEndpoint], ip_networks: Sequence[Network]
) -> Iterable[list[PortEndpoint]]:
    """Group ports that no address separates; RoCE and iWARP ports by their IP network."""
    network_names = {
        (member.node, member.interface): network.name
        for network in reversed(ip_networks)
        for member in network.members
    }
    groups: dict[tuple[object, ...], list[PortEndpoint]] = {}
    for endpoint in endpoints:
        port, key = endpoint.port, tuple[object, ...]()
        if port.protocol in ("infiniband", "omni-path"):
            key = (port.subnet_prefix, port.sm_lid)
        elif port.protocol in ("roce", "iwarp"):
            names = {
                network_names[endpoint.node, interface]
                for interface in endpoint.upper_interfaces
                if (endpoint.node, interface) in network_names
            }
            key = tuple(sorted(names))[:1]
            if not key:  # its peers are unknown
                continue
        groups.setdefault((endpoint.technology, *key), []).append(endpoint)
    return groups.values()


def _split_by_partition(endpoints: list[PortEndpoint]) -> Iterator[list[PortEndpoint]]:
    """Yield ports that share partitions.

    If LIDs come twice, yield the first port of each node, then the second ones, …
    """
    remaining = list(endpoints)
    while remaining:
        group, separate = [remaining[0]], remaining[1:]
        while joined := [
            endpoint for endpoint in separate if any(endpoint.reaches(peer) for peer in group)
        ]:
            group += joined
            separate = [endpoint for endpoint in separate if endpoint not in joined]
        lids = Counter(
            endpoint.port.lid for endpoint in group if isinstance(endpoint.port.lid, int)
        )
        has_duplicates = any(count > 1 and lid for lid, count in lids.items())
        yield from _split_by_rail(group) if has_duplicates else [group]
        remaining = separate


def _split_by_rail(endpoints: Iterable[PortEndpoint]) -> list[list[PortEndpoint]]:
    """Return the first port of each node, then the second ones, …"""
    counts, rails = Counter[str](), dict[int, list[PortEndpoint]]()
    for endpoint in endpoints:
        rails.setdefault(counts[endpoint.node], []).append(endpoint)
        counts[endpoint.node] += 1
    return list(rails.values())


def _make_rails(name: str, endpoints: list[PortEndpoint]) -> Iterator[Network]:
    """Yield all rails as one network, if they are alike, and each alone; a single rail once."""
    rails = [rail for rail in _split_by_rail(endpoints) if _joins_nodes(rail)]
    if len(rails) == 1:
        yield _make_network(name, name, rails[0])
        return
    networks = [
        _make_network(rail_of(name, number), name, rail) for number, rail in enumerate(rails, 1)
    ]
    kinds = {
        (network.rate_bit_s, network.mtu_bytes, network.host_link, network.link)
        for network in networks
    }
    if len(kinds) == 1:
        joined = [endpoint for rail in rails for endpoint in rail]
        nodes = {endpoint.node for endpoint in joined}
        slots = max(
            len({endpoint.slot for endpoint in joined if endpoint.node == node}) for node in nodes
        )
        network = _make_network(name, name, joined)
        yield msgspec.structs.replace(network, rails=len(rails), slots=slots)
    yield from networks


def _make_network(name: str, wire: str, endpoints: Sequence[PortEndpoint]) -> Network:
    """Return a network with rate, link and host link of its fastest port: slower ones are odd."""
    rates = [
        (endpoint.rate_bit_s, endpoint)
        for endpoint in endpoints
        if isinstance(endpoint.rate_bit_s, float)
    ]
    rate, fastest = max(rates, key=lambda item: item[0], default=(0.0, endpoints[0]))
    label = f"{fastest.node}:{fastest.port.name}"
    origin = f"{label} reports {link_rate(rate)}, the fastest port of the network"
    return _make_link_network(
        fastest, name=name, rate_origin=origin if rates else "no port gives a rate",
        members=tuple(endpoint.member for endpoint in endpoints), timestamps=False, wire=wire,
    )  # fmt: skip


def _make_link_network(endpoint: PortEndpoint, **fields: Any) -> Network:
    mtu, is_by_interface, is_assumed = endpoint.mtu
    return Network(
        subnet="", technology=endpoint.technology, rate_bit_s=endpoint.rate_bit_s,
        stated_mtu_bytes=Skipped("the members have it") if is_by_interface else mtu,
        host_link=endpoint.host_link, link=endpoint.link, assumed=("mtu",) if is_assumed else (),
        **fields,
    )  # fmt: skip


def classify_ports(
    inventories: Sequence[Inventory], joined: Collection[tuple[str, str]] = ()
) -> "tuple[PortClass, ...]":
    """Return classes of like active RDMA ports, each with a network that stands for their link.

    Like ports need not be joined. Ports in ``joined``, by node and name, are joined, and left out.
    """
    classes: dict[str, tuple[PortEndpoint, list[Member]]] = {}
    for inventory in inventories:
        for endpoint in list_port_endpoints(inventory.name, inventory):
            if (inventory.name, endpoint.port.name) not in joined:
                (mtu, _, is_assumed), rate = endpoint.mtu, endpoint.rate_bit_s
                lanes = endpoint.link if endpoint.port.protocol == "infiniband" else ""
                link = lanes or (link_rate(rate) if isinstance(rate, float) else "of unknown rate")
                packet = f"MTU {mtu} assumed" if is_assumed else f"MTU {mtu}"
                parts = (f"{endpoint.technology} {link}", packet, endpoint.host_link)
                name = ", ".join(filter(None, parts))
                classes.setdefault(name, (endpoint, []))[1].append(endpoint.member)
    return tuple(_make_class(name, *classes[name]) for name in sorted(classes))


def _make_class(name: str, first: PortEndpoint, members: Sequence[Member]) -> "PortClass":
    """Return a class; an interface's MTU stays with the members: RDMA's is then smaller."""
    from fabricgauge.model.surveyed import PortClass

    origin = "the ports report it" if isinstance(first.rate_bit_s, float) else "not known"
    network_members = tuple(members) if first.mtu[1] else ()
    network = _make_link_network(first, name=name, rate_origin=origin, members=network_members)
    return PortClass(network, tuple(members))


def add_host_links(
    networks: Iterable[Network], nodes: Sequence[Inventory | Node]
) -> tuple[Network, ...]:
    """Return the networks, each with the fastest PCI Express link of its members' adapters.

    A network's rate is its fastest port's, and so is the link: an adapter in a narrow slot is odd
    and does not limit the other members. A network is unchanged if a member's adapter is unknown.
    """
    slot_links = {
        (node.name, interface): get_slot_link(adapter)
        for node in nodes
        for adapter in node.adapters
        for interface in adapter.interfaces
    }
    linked: list[Network] = []
    for network in networks:
        links = [slot_links.get((member.node, member.interface)) for member in network.members]
        known_links = [link for link in links if isinstance(link, PcieLink) and name_link(link)]
        fastest = max(known_links, key=lambda link: link.gt_s * link.lanes, default=None)
        if fastest and len(known_links) == len(links):
            network = msgspec.structs.replace(network, host_link=name_link(fastest))
        linked.append(network)
    return tuple(linked)


def add_wires(networks: Iterable[Network], nodes: Iterable[Node]) -> tuple[Network, ...]:
    """Return IP networks and those of ports, each with the name of the wire that carries it."""
    all_networks = tuple(networks)
    wires = {
        (member.node, member.interface): network.wire
        for network in all_networks
        if network.has_rdma_ports
        for member in network.members
    }
    for node in nodes:
        for endpoint in list_port_endpoints(node.name, node):
            wire = wires.get((endpoint.node, endpoint.port.name), "")
            wires |= {(endpoint.node, name): wire for name in endpoint.upper_interfaces}
    return tuple(
        msgspec.structs.replace(network, wire=wires.get((member.node, member.interface), ""))
        for network in all_networks
        for member in network.members[:1]
    )
