"""RDMA ports of several nodes → the networks that join them, each rail alone and all; pure.

Ports reach each other where they are in one subnet of one subnet manager and share a partition
(InfiniBand, Omni-Path), where their interfaces share an IP network (RoCE, iWARP), or where there is
but one fabric (EFA, Slingshot). LIDs are unique in a subnet: two ports with the same are in two
subnets. Sources: InfiniBand Architecture Specification Volume 1 Release 1.4, 4.1.1 (GIDs), 10.9.1
(partitions: two limited members do not reach each other), 14.2.5.6 (LIDs).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.discover.survey.sysfs import LANE_BIT_S
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Adapter, PcieLink, RdmaPort
from fabricgauge.model.fabric import Interface, Member, Network, Node
from fabricgauge.words.figures import link_rate

#: PCI Express generations by giga-transfers per second of a lane (Base Specification 7.0, 1.2).
GENERATIONS = {
    2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0", 128.0: "7.0",
}  # fmt: skip

#: By protocol the MTU that ports commonly run with, where no tool said it: InfiniBand's largest,
#: that of hfi1 since 10.4, Amazon's, and Slingshot's jumbo frames.
USUAL_MTU = {
    "infiniband": 4096, "omni-path": 10240, "efa": 9001, "iwarp": 1500, "roce": 1024,
    "slingshot": 9000,
}  # fmt: skip

#: What RDMA over an interface has its MTU from.
_BY_INTERFACE = ("roce", "iwarp", "slingshot")

#: The link's name by protocol and rate in Gb/s, as ceilings know it.
_LINKS: dict[tuple[str, float], str] = {
    ("omni-path", 100): "OPA100", ("omni-path", 400): "CN5000",
    ("slingshot", 200): "Slingshot-11", ("efa", 100): "EFA-100", ("efa", 200): "EFA-200",
    ("efa", 400): "EFA-400",
}  # fmt: skip

#: Drivers of adapters that a hypervisor presents: the PCI Express link that these claim is none
#: of hardware (QEMU's q35 gives virtio 2.5 GT/s x1; vmxnet3 claims 5 GT/s x32).
_PRESENTED = frozenset({"virtio-pci", "virtio_net", "ena", "efa", "vmxnet3", "gve"})

_SPEEDS = {rate: name for name, rate in LANE_BIT_S.items()}
_FULL = 0x8000


class PortEnd(msgspec.Struct, frozen=True):
    """A port with what is known of the node around it; ``over`` are the interfaces on it."""

    node: str
    port: RdmaPort
    adapter: Adapter | Skipped
    interface: Interface | Skipped
    over: tuple[str, ...] = ()

    @property
    def host_link(self) -> str:
        return "" if isinstance(self.adapter, Skipped) else host_link(slot(self.adapter))

    @property
    def slot(self) -> str:
        """The PCI device without its function: ports of one adapter share it."""
        bus = "" if isinstance(self.adapter, Skipped) else self.adapter.bus
        return bus.rpartition(".")[0] if isinstance(bus, str) and bus else self.port.device

    @property
    def technology(self) -> str:
        """RoCE is of version 2 unless all of the port's addresses are of version 1."""
        if self.port.protocol != "roce":
            return self.port.protocol
        kinds = " ".join(self.port.gid_types)
        return "roce-v1" if "v1" in kinds and "v2" not in kinds else "roce-v2"

    @property
    def rate_bit_s(self) -> float | Skipped:
        """The interface's own rate where RDMA runs over one; a device in software has none.

        Only over Ethernet is there RDMA in software (rxe, siw), which no source finds on a bus.
        """
        is_placed = isinstance(self.adapter, Adapter) and isinstance(self.adapter.bus, str)
        if not is_placed and self.port.protocol in ("roce", "iwarp"):
            return Skipped("no source names its bus: RDMA in software has no rate of its own")
        if isinstance(self.interface, Interface) and self.port.protocol == "roce":
            speed = self.interface.speed_bit_s
            return speed if isinstance(speed, float) else self.port.rate_bit_s
        return self.port.rate_bit_s

    @property
    def link(self) -> str:
        """``4x EDR``; empty where the lanes or their speed are not known."""
        port, rate, lane = self.port, self.rate_bit_s, self.port.lane_bit_s
        if port.protocol == "infiniband":
            speed = "" if isinstance(lane, Skipped) else _SPEEDS.get(lane, "")
            return f"{port.lanes}x {speed}" if speed and isinstance(port.lanes, int) else ""
        return "" if isinstance(rate, Skipped) else _LINKS.get((port.protocol, rate / 1e9), "")

    @property
    def mtu(self) -> tuple[int, bool, bool]:
        """The MTU, whether it is the interface's, and whether it is assumed."""
        port = self.port
        if isinstance(port.mtu_bytes, int):
            return port.mtu_bytes, False, False
        if isinstance(self.interface, Interface) and port.protocol in _BY_INTERFACE:
            return self.interface.mtu_bytes, True, False
        return USUAL_MTU[port.protocol], False, True

    @property
    def member(self) -> Member:
        return Member(self.node, self.port.name, "", self.mtu[0])

    @property
    def partitions(self) -> frozenset[int]:
        """Numbers of the partitions in which it is a full member."""
        keys = (int(one, 16) for one in self.port.pkeys)
        return frozenset(key & ~_FULL for key in keys if key & _FULL)

    @property
    def limited(self) -> frozenset[int]:
        keys = (int(one, 16) for one in self.port.pkeys)
        return frozenset(key for key in keys if not key & _FULL)

    def reaches(self, other: "PortEnd") -> bool:
        """Whether they share a partition, one of them as a full member; no keys forbid nothing."""
        if not self.port.pkeys or not other.port.pkeys:
            return True
        mine, theirs = self.partitions, other.partitions
        return bool(mine & (theirs | other.limited) or theirs & self.limited)


def is_usable(port: RdmaPort) -> bool:
    return port.state == "ACTIVE" and port.protocol in USUAL_MTU


def slot(adapter: Adapter) -> PcieLink | Skipped:
    """The PCI Express link that an adapter is on."""
    if adapter.driver in _PRESENTED:
        return Skipped("a hypervisor presents it")
    return adapter.pcie_now


def host_link(link: PcieLink | Skipped) -> str:
    """``PCIe 3.0 x8``; empty where the link or its generation is not known."""
    if isinstance(link, Skipped) or link.gt_s not in GENERATIONS:
        return ""
    return f"PCIe {GENERATIONS[link.gt_s]} x{link.lanes}"


def ends_of(node: Node) -> tuple[PortEnd, ...]:
    """The node's ports that are up, in the order of their devices' numbers."""
    return tuple(
        PortEnd(
            node.name, one, node.adapter_of(one.name), interface_of(node, one), _over(node, one)
        )
        for one in sorted(node.rdma_ports, key=_order)
        if is_usable(one)
    )


def interface_of(node: Node | Skipped, port: RdmaPort) -> Interface | Skipped:
    """The interface that the port's RDMA runs over."""
    if isinstance(port.interface, Skipped):
        return port.interface
    return node if isinstance(node, Skipped) else node.interface(port.interface)


def _over(node: Node, port: RdmaPort) -> tuple[str, ...]:
    """Its own interface, or those of its adapter, with VLANs on it and the bond that it is in."""
    adapter = node.adapter_of(port.name)
    own = {port.interface} if isinstance(port.interface, str) else set[str]()
    if not own and isinstance(adapter, Adapter):
        own = set(adapter.interfaces)
    of = {one.name: one for one in node.interfaces}
    masters = {of[name].master for name in own if name in of}
    return tuple(n for n, one in of.items() if n in own | masters or one.parent in own)


def _order(port: RdmaPort) -> tuple[int, str, int]:
    """``mlx5_2`` before ``mlx5_10``."""
    return len(port.device), port.device, port.number


def port_networks(nodes: Sequence[Node], named: Sequence[Network]) -> tuple[Network, ...]:
    """Networks of RDMA ports that join at least two of ``nodes``; ``named`` are the IP networks.

    Nodes of one kernel (a virtual cluster on one machine) all show the same ports: theirs are left
    out. Where each node has several ports in a fabric, each rail is a network, and all are one.
    """
    kernels = Counter(node.boot_id for node in nodes)
    every = [end for node in nodes if kernels[node.boot_id] == 1 for end in ends_of(node)]
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
    made = [_network(f"{name}-rail{n}", name, rail) for n, rail in enumerate(rails, 1)]
    kinds = {(one.rate_bit_s, one.mtu_bytes, one.host_link, one.link) for one in made}
    if len(kinds) == 1:
        every = [end for rail in rails for end in rail]
        slots = max(len({e.slot for e in every if e.node == node}) for node in _nodes(every))
        yield msgspec.structs.replace(_network(name, name, every), rails=len(rails), slots=slots)
    yield from made


def _nodes(ends: Iterable[PortEnd]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(end.node for end in ends))


def _network(name: str, wire: str, ends: Sequence[PortEnd]) -> Network:
    """The rate is the fastest port's, and so are link and host link: a slower one is odd."""
    rates = [(end.rate_bit_s, end) for end in ends]
    known = [(rate, end) for rate, end in rates if isinstance(rate, float)]
    _, fastest = max(known, key=lambda pair: pair[0], default=(0.0, ends[0]))
    rate, (mtu, by_interface, assumed) = fastest.rate_bit_s, fastest.mtu
    where = f"{fastest.node}:{fastest.port.name}"
    told = "" if isinstance(rate, Skipped) else f"{where} reports {link_rate(rate)}, the fastest"
    return Network(
        name=name, subnet="", technology=fastest.technology, rate_bit_s=rate,
        rate_origin=f"{told} port of the network" if told else "no port gives a rate",
        members=tuple(end.member for end in ends), timestamps=False,
        stated_mtu_bytes=Skipped("the members say it") if by_interface else mtu,
        host_link=fastest.host_link, link=fastest.link, assumed=("mtu",) if assumed else (),
        wire=wire,
    )  # fmt: skip


def with_wires(networks: Iterable[Network], nodes: Iterable[Node]) -> tuple[Network, ...]:
    """IP networks and those of ports, each with the name of the wire that carries it."""
    every = tuple(networks)
    wires = {(m.node, m.interface): net.wire for net in every if net.of_ports for m in net.members}
    for end in (end for node in nodes for end in ends_of(node)):
        wire = wires.get((end.node, end.port.name), "")
        wires |= {(end.node, name): wire for name in end.over}
    return tuple(
        msgspec.structs.replace(one, wire=wires.get((m.node, m.interface), ""))
        for one in every
        for m in one.members[:1]
    )
