"""The nodes of a preflight, and their places: addresses, interfaces and ports."""

import ipaddress
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import NO_CABLE, Interface, Network, Node
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.words.sentences import listed

_T = TypeVar("_T")
_V = TypeVar("_V", bound=Hashable)
Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


def get_text(value: object, default: str = "unknown") -> str:
    """Return a text that a source gave, or ``default``."""
    return value if isinstance(value, str) else default


class KnownNode(msgspec.Struct, frozen=True):
    """One node: its quick probe, its inventory, and the facts of both.

    If it has not ``answered``, only printouts of tools describe it: what they do not mention may
    exist all the same.
    """

    name: str
    probe: Node
    inventory: Inventory
    facts: dict[str, str]
    answered: bool = True

    @property
    def has_rdma(self) -> bool:
        return bool(self.inventory.rdma_ports) or any(
            adapter.rdma_devices for adapter in self.adapters
        )

    @property
    def has_addresses(self) -> bool:
        """True if its addresses are known, even if it has none."""
        return self.answered or any(interface.addresses for interface in self.probe.interfaces)

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        return self.inventory.adapters

    @property
    def products(self) -> list[str]:
        return sorted(f"{adapter.kind} {adapter.product}" for adapter in self.adapters)

    def find_ports(self, adapter: Adapter) -> tuple[list[Interface], list[RdmaPort]]:
        interfaces = [
            interface for interface in self.probe.interfaces if interface.name in adapter.interfaces
        ]
        ports = [port for port in self.inventory.rdma_ports if port.device in adapter.rdma_devices]
        return interfaces, ports

    def find_adapter(self, interface: str) -> Adapter | None:
        return next((adapter for adapter in self.adapters if interface in adapter.interfaces), None)

    def find_ports_behind(self, interface: str) -> tuple[Interface, ...]:
        """Return the lowest interfaces below ``interface``, or itself if nothing is below it.

        These are the port that a VLAN is on, or the ports of a bond or bridge.
        """
        ports, names = [], [interface]
        for name in names:
            lower_names = [lower for lower in self._list_lower(name) if lower not in names]
            names += lower_names
            port = self.probe.interface(name)
            if not lower_names and isinstance(port, Interface):
                ports.append(port)
        return tuple(ports)

    def _list_lower(self, name: str) -> list[str]:
        """Return the interfaces one level below: ``eth0`` for ``eth0.7``, even without ``ip``."""
        if self.find_adapter(name):
            return []
        parent = self.probe.parent_of(name)
        return [
            interface.name
            for interface in self.probe.interfaces
            if interface.name != name and (interface.name == parent or interface.master == name)
        ]

    def get_product(self, adapter: Adapter) -> str:
        """Return one text for each product: its PCI numbers if known, else its name.

        A node without the PCI database has no name for a product.
        """
        fact_names = (
            f"pci id {adapter.bus}", *(f"part {device}" for device in adapter.rdma_devices)
        )  # fmt: skip
        product = next((self.facts[name] for name in fact_names if name in self.facts), "")
        return product or get_text(adapter.product, adapter.kind)

    def find_interface(self, port: RdmaPort) -> str:
        """Return the interface on an RDMA port, "" if none or several may be it."""
        if isinstance(port.interface, str):
            return port.interface
        names = {
            name
            for adapter in self.adapters
            if port.device in adapter.rdma_devices
            for name in adapter.interfaces
        }
        return names.pop() if len(names) == 1 else ""

    def get_fact(self, name: str) -> str:
        """Return a fact, "" if no source gave it."""
        return self.facts.get(name, "").strip()

    def get_number(self, fact: str) -> float | Skipped:
        """Return a fact that is a number; ``unlimited`` is infinite."""
        text = self.get_fact(fact)
        if text == "unlimited":
            return float("inf")
        if text.isascii() and text.isdigit() and len(text) <= 30:
            return float(text)
        return Skipped(f"{self.name} gives no {fact}" if not text else f"{fact} is {text!r:.60}")


class Place(msgspec.Struct, frozen=True, dict=True):
    """One node's interface with one of its addresses and the length of its prefix."""

    node: KnownNode
    interface: Interface
    ip: str = ""
    prefix_length: int = 0

    @property
    def label(self) -> str:
        return f"{self.node.name}:{self.interface.name}"

    @property
    def network_name(self) -> str:
        return ""

    @cached_property
    def subnet(self) -> Subnet:
        return ipaddress.ip_interface(f"{self.ip}/{self.prefix_length}").network

    @property
    def description(self) -> str:
        return f"{self.label} {self.ip}/{self.prefix_length}"


def list_places(node: KnownNode) -> Iterator[Place]:
    """Yield each address of each interface at which other nodes could reach the node."""
    for interface in node.probe.interfaces:
        for address in interface.addresses:
            if is_routable(address.ip):
                yield Place(node, interface, address.ip, address.prefix_length)


class MemberInterface(Place, frozen=True, kw_only=True, dict=True):
    """One node's interface in a network."""

    network: Network

    @property
    def network_name(self) -> str:
        return self.network.name


class Port(msgspec.Struct, frozen=True):
    """One node's RDMA port.

    ``network_name`` is its network, or that of its interface, or "". ``like_ports`` are this port
    and the same port of like nodes.
    """

    node: KnownNode
    port: RdmaPort
    network_name: str
    like_ports: tuple[RdmaPort, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.node.name}:{self.port.name}"


class Cluster(msgspec.Struct, frozen=True, dict=True):
    """A preflight in the form that checks examine."""

    preflight: Preflight

    @property
    def networks(self) -> tuple[Network, ...]:
        return self.preflight.fabric.ip_networks

    def group_joined_ports(self, by_rail: bool = False) -> tuple[tuple[Port, ...], ...]:
        """Return the RDMA ports of each network of ports, as the quick probe reports them.

        Each port is in one group: its whole network, or its own rail if ``by_rail`` and the
        network has rails. Active like ports of nodes that did not answer count as one network
        without a name.
        """
        unassigned = {
            (node.name, port.name): (node, port)
            for node in self.nodes
            for port in node.probe.rdma_ports
        }
        networks, groups = self.preflight.fabric.networks, []
        for network in reversed(networks) if by_rail else networks:
            keys = [(member.node, member.interface) for member in network.members]
            groups.append(
                tuple(Port(*unassigned.pop(key), network.name) for key in keys if key in unassigned)
            )
        unnamed = group_by(
            (port for port in self.ports if not port.node.answered and port.port.state == "ACTIVE"),
            lambda port: id(port.like_ports),
        )
        return (*filter(None, reversed(groups) if by_rail else groups), *unnamed.values())

    @cached_property
    def nodes(self) -> tuple[KnownNode, ...]:
        """The nodes that answered, then those known by printouts alone.

        Nodes of a lab see the adapters of the machine that they share: these are dropped.
        """
        inventories = {inventory.name: inventory for inventory in self.preflight.inventories}
        nodes = []
        for probe in self.preflight.fabric.nodes:
            empty = Inventory(probe.name, probe)
            inventory = inventories.get(probe.name, empty)
            if self.preflight.fabric.virtual:
                inventory = msgspec.structs.replace(
                    inventory, adapters=(), rdma_ports=(), gpus=(), nearness=()
                )  # fmt: skip
            facts = {**inventory.facts, **probe.facts}
            answered = bool(probe.kernel)  # a printed node has none
            nodes.append(KnownNode(probe.name, probe, inventory, facts, answered=answered))
        probed_names = {node.name for node in nodes}
        for name, inventory in inventories.items():
            is_printed = isinstance(inventory.node, Skipped) and inventory.sources
            if name not in probed_names and is_printed:
                probe = inventory.printed_node
                nodes.append(KnownNode(name, probe, inventory, inventory.facts, answered=False))
        return tuple(nodes)

    @property
    def addressed_nodes(self) -> tuple[KnownNode, ...]:
        """The nodes whose addresses are known: a printout of ``ip link`` has none."""
        return tuple(node for node in self.nodes if node.has_addresses)

    @property
    def answered_nodes(self) -> tuple[KnownNode, ...]:
        return tuple(node for node in self.nodes if node.answered)

    @cached_property
    def endpoints(self) -> tuple[MemberInterface, ...]:
        nodes_by_name = {node.name: node for node in self.nodes}
        return tuple(
            MemberInterface(
                node, interface, member.ip,
                next((a.prefix_length for a in interface.addresses if a.ip == member.ip), 0),
                network=network,
            )
            for network in self.networks
            for member in network.members
            if (node := nodes_by_name.get(member.node))
            and isinstance(interface := node.probe.interface(member.interface), Interface)
        )  # fmt: skip

    @cached_property
    def memberships(self) -> dict[tuple[str, str], str]:
        """By node and interface, the name of the first network that it is in."""
        return {
            (member.node, member.interface): network.name
            for network in reversed(self.networks)
            for member in network.members
        }

    @cached_property
    def peer_groups(self) -> tuple[tuple[KnownNode, ...], ...]:
        """Nodes that should be alike.

        The preflight's classes if it has some, else nodes with the same processors and adapters.
        """
        if self.preflight.alike:
            unsorted = {node.name: node for node in self.nodes}
            groups = [
                [unsorted.pop(name) for name in names if name in unsorted]
                for names in self.preflight.alike
            ]
            single_nodes = [[node] for node in unsorted.values()]
            return tuple(tuple(group) for group in (*groups, *single_nodes) if group)
        by_hardware = group_by(
            self.nodes, lambda node: (node.get_fact("cpu model"), *node.products)
        )
        return tuple(by_hardware.values())

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Every RDMA port. Like nodes' ports are alike by device, number and protocol."""
        ports: list[Port] = []
        for group in self.peer_groups:
            node_ports = [(node, port) for node in group for port in node.inventory.rdma_ports]
            like_ports = group_by([port for _, port in node_ports], _get_port_key)
            ports += [
                Port(
                    node, port,
                    self.memberships.get((node.name, node.find_interface(port)), ""),
                    like_ports[_get_port_key(port)],
                )
                for node, port in node_ports
            ]  # fmt: skip
        return tuple(ports)

    @cached_property
    def _endpoint_labels(self) -> dict[tuple[str, str], str]:
        return {
            (endpoint.network.name, endpoint.node.name): endpoint.label
            for endpoint in self.endpoints
        }

    def name_nodes(self, network: str, nodes: Sequence[str]) -> str:
        """Name nodes in a network: ``c2:eth0``; ``between c1:eth0 and c3:eth0``."""
        names = listed([self._endpoint_labels.get((network, node), node) for node in nodes])
        return names if len(nodes) == 1 else f"between {names}"


def group_by_network(
    endpoints: Iterable[MemberInterface],
) -> tuple[tuple[MemberInterface, ...], ...]:
    """Return the endpoints of each network, in the order of its first one."""
    return tuple(group_by(endpoints, lambda endpoint: endpoint.network.name).values())


def get_rate(interface: Interface) -> float:
    """Return an interface's rate in bit/s, 0 if unknown."""
    return 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s


def is_routable(ip: str) -> bool:
    """Check for an address at which other nodes can reach the node.

    Loopback and link-local addresses are not (RFC 1122, 3927, 4291): the kernel gives the latter
    to any interface, firmware to its own interfaces.
    """
    return not ip.lower().startswith(("127.", "169.254.", "fe80:")) and ip != "::1"


def has_cable(interface: Interface) -> bool:
    """Check whether the interface leads out of the node."""
    return get_text(interface.driver) not in NO_CABLE


def find_majority(values: Iterable[_V]) -> _V | Skipped:
    """Return the value that more than half of ``values`` have, if any."""
    counts = Counter(values)
    if counts:
        value, count = counts.most_common(1)[0]
        if 2 * count > counts.total():
            return value
    return Skipped("no value has a majority")


def find_outliers(values: Mapping[_T, _V]) -> tuple[_V | Skipped, dict[_T, _V]]:
    """Return the majority's value and the entries that differ; all entries without a majority."""
    common = find_majority(values.values())
    return common, {name: value for name, value in values.items() if value != common}


def _get_port_key(port: RdmaPort) -> tuple[str, int, str]:
    return port.device, port.number, port.protocol
