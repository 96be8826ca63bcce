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
from fabricgauge.model.adapter import LANE_BIT_S, Adapter, PcieLink, RdmaPort
from fabricgauge.model.fabric import Interface, Member, Network, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.networks import rail_of
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.verbs import LINKS

#: By protocol the usual MTU of ports, for ports without a known one: InfiniBand's largest,
#: that of hfi1 since 10.4, Amazon's, and Slingshot's jumbo frames.
USUAL_MTU = {
    "infiniband": 4096, "omni-path": 10240, "efa": 9001, "iwarp": 1500, "roce": 1024,
    "slingshot": 9000,
}  # fmt: skip

#: Protocols whose MTU comes from the interface.
_BY_INTERFACE = ("roce", "iwarp", "slingshot")

#: Drivers of adapters that a hypervisor presents: the PCI Express link that they report is not
#: hardware's (QEMU's q35 gives virtio 2.5 GT/s x1; vmxnet3 reports 5 GT/s x32).
_PRESENTED = frozenset({"virtio-pci", "virtio_net", "ena", "efa", "vmxnet3", "gve"})

_SPEEDS = {rate: name for name, rate in LANE_BIT_S.items()}
_FULL = 0x8000


class PortEndpoint(msgspec.Struct, frozen=True):
    """A port with its adapter and interface; ``upper_interfaces`` are the interfaces on it."""

    node: str
    port: RdmaPort
    adapter: Adapter | Skipped
    interface: Interface | Skipped
    upper_interfaces: tuple[str, ...] = ()

    @property
    def host_link(self) -> str:
        return "" if isinstance(self.adapter, Skipped) else name_link(get_slot_link(self.adapter))

    @property
    def slot(self) -> str:
        """The PCI device without its function: ports of one adapter share it."""
        bus = "" if isinstance(self.adapter, Skipped) else self.adapter.bus
        return bus.rpartition(".")[0] if isinstance(bus, str) and bus else self.port.device

    @property
    def technology(self) -> str:
        """RoCE has version 2 unless all of the port's addresses have version 1."""
        if self.port.protocol != "roce":
            return self.port.protocol
        kinds = " ".join(self.port.gid_types)
        return "roce-v1" if "v1" in kinds and "v2" not in kinds else "roce-v2"

    @property
    def rate_bit_s(self) -> float | Skipped:
        """The interface's rate if RDMA runs over one; a device in software has none.

        Only over Ethernet is there RDMA in software (rxe, siw), which no source finds on a bus.
        """
        is_on_bus = isinstance(self.adapter, Adapter) and isinstance(self.adapter.bus, str)
        if not is_on_bus and self.port.protocol in ("roce", "iwarp"):
            return Skipped("no source names its bus: RDMA in software has no rate")
        if isinstance(self.interface, Interface) and self.port.protocol == "roce":
            speed = self.interface.speed_bit_s
            return speed if isinstance(speed, float) else self.port.rate_bit_s
        return self.port.rate_bit_s

    @property
    def link(self) -> str:
        """``4x EDR``, or "" if the lanes or their speed are unknown."""
        port, rate, lane = self.port, self.rate_bit_s, self.port.lane_bit_s
        if port.protocol == "infiniband":
            speed = "" if isinstance(lane, Skipped) else _SPEEDS.get(lane, "")
            return f"{port.lanes}x {speed}" if speed and isinstance(port.lanes, int) else ""
        return "" if isinstance(rate, Skipped) else LINKS.get((port.protocol, rate / 1e9), "")

    @property
    def mtu(self) -> tuple[int, bool, bool]:
        """The MTU, whether it is the interface's, and whether it is assumed."""
        port = self.port
        if isinstance(path_mtu := port.path_mtu_bytes, int):
            return path_mtu, False, False
        if isinstance(self.interface, Interface) and port.protocol in _BY_INTERFACE:
            return self.interface.mtu_bytes, True, False
        return USUAL_MTU[port.protocol], False, True

    @property
    def member(self) -> Member:
        return Member(self.node, self.port.name, "", self.mtu[0])

    def reaches(self, peer: "PortEndpoint") -> bool:
        """Check whether they share a partition, one of them as a full member.

        Without known keys they do.
        """
        own_keys = [int(key, 16) for key in self.port.pkeys]
        peer_keys = [int(key, 16) for key in peer.port.pkeys]
        shared = ((a | b) & _FULL for a in own_keys for b in peer_keys if (a ^ b) | _FULL == _FULL)
        return not own_keys or not peer_keys or any(shared)


def get_slot_link(adapter: Adapter) -> PcieLink | Skipped:
    if adapter.driver in _PRESENTED:
        return Skipped("a hypervisor presents it")
    return adapter.pcie_now


def name_link(link: PcieLink | Skipped) -> str:
    """Return ``PCIe 3.0 x8``, or "" if the link or its generation is unknown."""
    if isinstance(link, Skipped) or link.gt_s not in pci.GT_S:
        return ""
    return f"PCIe {pci.GT_S.index(link.gt_s) + 1}.0 x{link.lanes}"


def list_port_endpoints(name: str, node: Node | Inventory) -> tuple[PortEndpoint, ...]:
    """Return the node's active ports, in the order of their devices' numbers."""
    endpoints = []
    # mlx5_2 comes before mlx5_10.
    ports = sorted(node.rdma_ports, key=lambda port: (len(port.device), port.device, port.number))
    for port in ports:
        if port.state == "ACTIVE" and port.protocol in USUAL_MTU:
            adapter = next(
                (adapter for adapter in node.adapters if port.device in adapter.rdma_devices),
                Skipped("no source names its adapter"),
            )
            interface = next(
                (interface for interface in node.interfaces if interface.name == port.interface),
                Skipped("no source names its interface"),
            )
            upper_interfaces = _list_upper_interfaces(node, port, adapter)
            endpoints.append(PortEndpoint(name, port, adapter, interface, upper_interfaces))
    return tuple(endpoints)


def _list_upper_interfaces(
    node: Node | Inventory, port: RdmaPort, adapter: Adapter | Skipped
) -> tuple[str, ...]:
    """Return the port's interface, or its adapter's, with their VLANs and bonds."""
    names = {port.interface} if isinstance(port.interface, str) else set[str]()
    if not names and isinstance(adapter, Adapter):
        names = set(adapter.interfaces)
    masters = {interface.master for interface in node.interfaces if interface.name in names}
    return tuple(
        interface.name
        for interface in node.interfaces
        if interface.name in names | masters or interface.parent in names
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
    from fabricgauge.model.surveyed import PortClass

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
    port_classes: list[PortClass] = []
    for name, (first, members) in sorted(classes.items()):
        origin = "the ports report it" if isinstance(first.rate_bit_s, float) else "not known"
        # An interface's MTU stays with the members: RDMA's is then smaller.
        network_members = tuple(members) if first.mtu[1] else ()
        network = _make_link_network(first, name=name, rate_origin=origin, members=network_members)
        port_classes.append(PortClass(network, tuple(members)))
    return tuple(port_classes)


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
