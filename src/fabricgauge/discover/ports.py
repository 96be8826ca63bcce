"""RDMA ports of several nodes → the networks that join them, each rail alone and all; pure.

Ports reach each other where they are in one subnet of one subnet manager and share a partition
(InfiniBand, Omni-Path), where their interfaces share an IP network (RoCE, iWARP), or where there is
but one fabric (EFA, Slingshot). LIDs are unique in a subnet: two ports with the same are in two
subnets. Sources: InfiniBand Architecture Specification Volume 1 Release 1.4, 4.1.1 (GIDs), 10.9.1
(partitions: two limited members do not reach each other), 14.2.5.6 (LIDs).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from fabricgauge.discover.port_ends import PortEnd, ends_of, host_link, slot
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.fabric import Member, Network, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import PortClass
from fabricgauge.words.figures import link_rate
from fabricgauge.words.networks import rail_of


def port_networks(nodes: Sequence[Node], named: Sequence[Network]) -> tuple[Network, ...]:
    """Networks of RDMA ports that join at least two of ``nodes``; ``named`` are the IP networks.

    Nodes of one kernel (a virtual cluster on one machine) all show the same ports: theirs are left
    out. Where each node has several ports in a fabric, each rail is a network, and all are one.
    """
    kernels = Counter(node.boot_id for node in nodes)
    apart = [node for node in nodes if kernels[node.boot_id] == 1]
    every = [end for node in apart for end in ends_of(node.name, node)]
    fabrics = (group for ends in _fabrics(every, named) for group in _apart(ends))
    found = [(group[0].port.protocol, group) for group in fabrics if _joins(group)]
    families, numbers = Counter(family for family, _ in found), Counter[str]()
    made: list[Network] = []
    for family, ends in found:
        numbers[family] += 1
        made += _rails(f"{family}-{numbers[family]}" if families[family] > 1 else family, ends)
    return tuple(made)


def _joins(ends: Sequence[PortEnd]) -> bool:
    return len({end.node for end in ends}) > 1


def _fabrics(ends: Iterable[PortEnd], named: Sequence[Network]) -> Iterable[list[PortEnd]]:
    """Ports that no address parts; of RoCE and iWARP those whose interfaces share an IP network."""
    on = {(one.node, one.interface): net.name for net in reversed(named) for one in net.members}
    groups: dict[tuple[object, ...], list[PortEnd]] = {}
    for end in ends:
        port, key = end.port, tuple[object, ...]()
        if port.protocol in ("infiniband", "omni-path"):
            key = (port.subnet_prefix, port.sm_lid)
        elif port.protocol in ("roce", "iwarp"):
            key = tuple(sorted({on[end.node, n] for n in end.over if (end.node, n) in on}))[:1]
            if not key:  # nothing says whom it reaches
                continue
        groups.setdefault((end.technology, *key), []).append(end)
    return groups.values()


def _apart(ends: list[PortEnd]) -> Iterator[list[PortEnd]]:
    """Those that share partitions; where LIDs come twice, the first port of each node, …"""
    left = list(ends)
    while left:
        group, rest = [left[0]], left[1:]
        while joined := [one for one in rest if any(one.reaches(other) for other in group)]:
            group += joined
            rest = [one for one in rest if one not in joined]
        lids = Counter(one.port.lid for one in group if isinstance(one.port.lid, int))
        twice = any(count > 1 and lid for lid, count in lids.items())
        yield from _by_place(group) if twice else [group]
        left = rest


def _by_place(ends: Iterable[PortEnd]) -> list[list[PortEnd]]:
    """The first port of each node, the second ones, …"""
    places, found = Counter[str](), dict[int, list[PortEnd]]()
    for end in ends:
        found.setdefault(places[end.node], []).append(end)
        places[end.node] += 1
    return list(found.values())


def _rails(name: str, ends: list[PortEnd]) -> Iterator[Network]:
    """All together, if the rails are alike, and each alone; one rail is the network itself."""
    rails = [rail for rail in _by_place(ends) if _joins(rail)]
    if len(rails) == 1:
        yield _network(name, name, rails[0])
        return
    made = [_network(rail_of(name, n), name, rail) for n, rail in enumerate(rails, 1)]
    kinds = {(one.rate_bit_s, one.mtu_bytes, one.host_link, one.link) for one in made}
    if len(kinds) == 1:
        every = [end for rail in rails for end in rail]
        nodes = {end.node for end in every}
        slots = max(len({end.slot for end in every if end.node == node}) for node in nodes)
        yield msgspec.structs.replace(_network(name, name, every), rails=len(rails), slots=slots)
    yield from made


def _network(name: str, wire: str, ends: Sequence[PortEnd]) -> Network:
    """The rate is the fastest port's, and so are link and host link: a slower one is odd."""
    known = [(end.rate_bit_s, end) for end in ends if isinstance(end.rate_bit_s, float)]
    rate, fastest = max(known, key=lambda pair: pair[0], default=(0.0, ends[0]))
    where = f"{fastest.node}:{fastest.port.name}"
    told = f"{where} reports {link_rate(rate)}, the fastest port of the network"
    return _link(
        fastest, name=name, rate_origin=told if known else "no port gives a rate",
        members=tuple(end.member for end in ends), timestamps=False, wire=wire,
    )  # fmt: skip


def _link(end: PortEnd, **known: Any) -> Network:
    """A network with what a port says of its link."""
    mtu, by_interface, assumed = end.mtu
    return Network(
        subnet="", technology=end.technology, rate_bit_s=end.rate_bit_s,
        stated_mtu_bytes=Skipped("the members say it") if by_interface else mtu,
        host_link=end.host_link, link=end.link, assumed=("mtu",) if assumed else (), **known,
    )  # fmt: skip


def port_classes(
    inventories: Sequence[Inventory], joined: Collection[tuple[str, str]] = ()
) -> tuple[PortClass, ...]:
    """Active RDMA ports that are alike, with a network that stands for a link of theirs.

    That they are alike does not say that they are joined; those of ``joined``, by node and name,
    are known to be, and left out.
    """
    alike: dict[str, tuple[PortEnd, list[Member]]] = {}
    for inventory in inventories:
        for end in ends_of(inventory.name, inventory):
            if (inventory.name, end.port.name) not in joined:
                (mtu, _, assumed), rate = end.mtu, end.rate_bit_s
                lanes = end.link if end.port.protocol == "infiniband" else ""
                told = lanes or (link_rate(rate) if isinstance(rate, float) else "of unknown rate")
                packet = f"MTU {mtu} assumed" if assumed else f"MTU {mtu}"
                name = ", ".join(filter(None, (f"{end.technology} {told}", packet, end.host_link)))
                alike.setdefault(name, (end, []))[1].append(end.member)
    return tuple(_class(name, *alike[name]) for name in sorted(alike))


def _class(name: str, first: PortEnd, ends: Sequence[Member]) -> PortClass:
    """Where the MTU is the interface's, the members say so: RDMA's is then smaller."""
    origin = "the ports report it" if isinstance(first.rate_bit_s, float) else "not known"
    members = tuple(ends) if first.mtu[1] else ()
    return PortClass(_link(first, name=name, rate_origin=origin, members=members), tuple(ends))


def with_host_links(
    networks: Iterable[Network], nodes: Sequence[Inventory | Node]
) -> tuple[Network, ...]:
    """The networks, each with the fastest PCI Express link of its members' adapters.

    A network's rate is its fastest port's, and so is the link: an adapter in a narrow slot is odd
    and does not limit the others. A network stays as it is if a member's adapter is not known.
    """
    links = {
        (node.name, interface): slot(adapter)
        for node in nodes
        for adapter in node.adapters
        for interface in adapter.interfaces
    }
    made: list[Network] = []
    for network in networks:
        found = [links.get((member.node, member.interface)) for member in network.members]
        known = [one for one in found if isinstance(one, PcieLink) and host_link(one)]
        fastest = max(known, key=lambda one: one.gt_s * one.lanes, default=None)
        if fastest and len(known) == len(found):
            network = msgspec.structs.replace(network, host_link=host_link(fastest))
        made.append(network)
    return tuple(made)


def with_wires(networks: Iterable[Network], nodes: Iterable[Node]) -> tuple[Network, ...]:
    """IP networks and those of ports, each with the name of the wire that carries it."""
    every = tuple(networks)
    wires = {(m.node, m.interface): net.wire for net in every if net.of_ports for m in net.members}
    for end in (end for node in nodes for end in ends_of(node.name, node)):
        wire = wires.get((end.node, end.port.name), "")
        wires |= {(end.node, name): wire for name in end.over}
    return tuple(
        msgspec.structs.replace(one, wire=wires.get((m.node, m.interface), ""))
        for one in every
        for m in one.members[:1]
    )
