"""The nodes and their ends of networks as checks go through them."""

import ipaddress
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import NO_CABLE, Interface, Network, Node
from fabricgauge.model.groups import grouped
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.model.preflight import Preflight
from fabricgauge.words.sentences import listed

_T = TypeVar("_T")
_V = TypeVar("_V", bound=Hashable)
Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


def told(value: object, otherwise: str = "not told") -> str:
    """A text that a source gave, or what stands for it."""
    return value if isinstance(value, str) else otherwise


class KnownNode(msgspec.Struct, frozen=True):
    """One node with what is known of it; ``facts`` are those of both its sources.

    Of a node that was not ``asked`` there are only printouts of tools: what they do not mention may
    be there.
    """

    name: str
    node: Node
    inventory: Inventory
    facts: dict[str, str]
    asked: bool = True

    @property
    def has_rdma(self) -> bool:
        return bool(self.inventory.rdma_ports) or any(one.rdma_devices for one in self.adapters)

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        return self.inventory.adapters

    @property
    def products(self) -> list[str]:
        return sorted(f"{one.kind} {one.product}" for one in self.adapters)

    def on(self, adapter: Adapter) -> tuple[list[Interface], list[RdmaPort]]:
        """The interfaces and the RDMA ports of an adapter."""
        interfaces = [one for one in self.node.interfaces if one.name in adapter.interfaces]
        ports = [one for one in self.inventory.rdma_ports if one.device in adapter.rdma_devices]
        return interfaces, ports

    def adapter_of(self, interface: str) -> Adapter | None:
        return next((one for one in self.adapters if interface in one.interfaces), None)

    def ports_behind(self, interface: str) -> tuple[Interface, ...]:
        """The interfaces at the bottom of one: the port that a VLAN is on, the ports of a bond
        or bridge; itself where it is on none."""
        found, asked = [], [interface]
        for name in asked:
            below = [one for one in self._below(name) if one not in asked]
            asked += below
            own = self.node.interface(name)
            if not below and isinstance(own, Interface):
                found.append(own)
        return tuple(found)

    def _below(self, name: str) -> list[str]:
        """``eth0`` is below ``eth0.7`` even where ``ip`` did not say it."""
        if self.adapter_of(name):
            return []
        wanted = self.node.parent_of(name)
        return [
            one.name
            for one in self.node.interfaces
            if one.name != name and (one.name == wanted or one.master == name)
        ]

    def product(self, adapter: Adapter) -> str:
        """One text for one product: its PCI numbers where they are known, since a node without
        the PCI database has no name for it."""
        names = (f"pci id {adapter.bus}", *(f"part {device}" for device in adapter.rdma_devices))
        known = next((self.facts[name] for name in names if name in self.facts), "")
        return known or told(adapter.product, adapter.kind)

    def interface_of(self, port: RdmaPort) -> str:
        """The interface on an RDMA port; empty where none or more than one may be it."""
        if isinstance(port.interface, str):
            return port.interface
        mine = [one for one in self.adapters if port.device in one.rdma_devices]
        names = {name for adapter in mine for name in adapter.interfaces}
        return names.pop() if len(names) == 1 else ""

    def fact(self, name: str) -> str:
        """Empty where no source gave it."""
        return self.facts.get(name, "").strip()

    def number(self, fact: str) -> float | Skipped:
        """A fact that is a number; ``unlimited`` is infinite."""
        text = self.fact(fact)
        if text == "unlimited":
            return float("inf")
        if text.isascii() and text.isdigit() and len(text) <= 30:
            return float(text)
        return Skipped(f"{self.name} gives no {fact}" if not text else f"{fact} is {text!r:.60}")


class Place(msgspec.Struct, frozen=True, dict=True):
    """One node's interface with one of its addresses and the length of its prefix."""

    seen: KnownNode
    interface: Interface
    ip: str = ""
    length: int = 0

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.interface.name}"

    @property
    def net(self) -> str:
        return ""

    @cached_property
    def subnet(self) -> Subnet:
        return ipaddress.ip_interface(f"{self.ip}/{self.length}").network

    @property
    def told(self) -> str:
        return f"{self.where} {self.ip}/{self.length}"


def places_of(seen: KnownNode) -> Iterator[Place]:
    """Each address of each interface by which others could reach the node."""
    for interface in seen.node.interfaces:
        for one in interface.addresses:
            if leads_out(one.ip):
                yield Place(seen, interface, one.ip, one.prefix_length)


class MemberPort(Place, frozen=True, kw_only=True, dict=True):
    """One node's interface in a network."""

    network: Network

    @property
    def net(self) -> str:
        return self.network.name


class Port(msgspec.Struct, frozen=True):
    """One node's RDMA port; ``net`` is its network, or that of its interface, or empty; ``same``
    are this port of the node and of all like it."""

    seen: KnownNode
    port: RdmaPort
    net: str
    same: tuple[RdmaPort, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.port.name}"


class Cluster(msgspec.Struct, frozen=True, dict=True):
    """A preflight as checks go through it."""

    preflight: Preflight

    @property
    def networks(self) -> tuple[Network, ...]:
        return self.preflight.fabric.ip_networks

    def joined_ports(self, by_rail: bool = False) -> tuple[tuple[Port, ...], ...]:
        """The RDMA ports of each network of ports, as the quick probe tells of them. Each is there
        once: with all of its network, or with its own rail, where there are rails. Of nodes that
        were not asked, like ports that are up are taken for one network without a name."""
        left = {
            (seen.name, port.name): (seen, port)
            for seen in self.nodes
            for port in seen.node.rdma_ports
        }
        networks, groups = self.preflight.fabric.networks, []
        for network in reversed(networks) if by_rail else networks:
            ends = [(one.node, one.interface) for one in network.members]
            groups.append(tuple(Port(*left.pop(end), network.name) for end in ends if end in left))
        unnamed = grouped(
            (one for one in self.ports if not one.seen.asked and one.port.state == "ACTIVE"),
            lambda one: id(one.same),
        )
        return (*filter(None, reversed(groups) if by_rail else groups), *unnamed.values())

    @cached_property
    def nodes(self) -> tuple[KnownNode, ...]:
        """The nodes that answered, each with its inventory or an empty one.

        Nodes of a lab see the adapters of the machine that they are all on: those are not theirs.
        """
        known = {inventory.name: inventory for inventory in self.preflight.inventories}
        found = []
        for node in self.preflight.fabric.nodes:
            empty = Inventory(node.name, node, (), (), (), (), (), (), (), {})
            own = known.get(node.name, empty)
            if self.preflight.fabric.virtual:
                own = msgspec.structs.replace(
                    own, adapters=(), rdma_ports=(), gpus=(), nearness=()
                )  # fmt: skip
            found.append(KnownNode(node.name, node, own, {**own.facts, **node.facts}))
        there = {one.name for one in found}
        for own in known.values():
            if own.name not in there and isinstance(own.node, Skipped) and own.sources:
                bare = Node(
                    own.name, "", "", "", 0, "", (), {},
                    adapters=own.adapters, rdma_ports=own.rdma_ports,
                )  # fmt: skip
                found.append(KnownNode(own.name, bare, own, own.facts, asked=False))
        return tuple(found)

    @property
    def asked(self) -> tuple[KnownNode, ...]:
        """The nodes that answered; of all others there are printouts alone."""
        return tuple(seen for seen in self.nodes if seen.asked)

    @cached_property
    def ends(self) -> tuple[MemberPort, ...]:
        """Every member of every network, with its interface."""
        by_name = {seen.name: seen for seen in self.nodes}
        return tuple(
            MemberPort(seen, interface, member.ip, _length(interface, member.ip), network=network)
            for network in self.networks
            for member in network.members
            if (seen := by_name.get(member.node))
            and isinstance(interface := seen.node.interface(member.interface), Interface)
        )

    @cached_property
    def memberships(self) -> dict[tuple[str, str], str]:
        """By node and interface, the name of the first network that it is in."""
        return {
            (member.node, member.interface): network.name
            for network in reversed(self.networks)
            for member in network.members
        }

    @cached_property
    def alike(self) -> tuple[tuple[KnownNode, ...], ...]:
        """Nodes that should be the same: as they were sorted, else those with the same
        processors and the same adapters."""
        if self.preflight.alike:
            left = {seen.name: seen for seen in self.nodes}
            sorted_ = [[left.pop(n) for n in names if n in left] for names in self.preflight.alike]
            alone = [[seen] for seen in left.values()]
            return tuple(tuple(group) for group in (*sorted_, *alone) if group)
        groups = grouped(self.nodes, lambda seen: (seen.fact("cpu model"), *seen.products))
        return tuple(groups.values())

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Every RDMA port. Ports of like nodes are the same by device, number and protocol."""
        found: list[Port] = []
        for group in self.alike:
            every = [(seen, port) for seen in group for port in seen.inventory.rdma_ports]
            same = grouped([port for _, port in every], _kind)
            found += [
                Port(seen, port, self.memberships.get((seen.name, seen.interface_of(port)), ""),
                     same[_kind(port)])
                for seen, port in every
            ]  # fmt: skip
        return tuple(found)

    @cached_property
    def _names(self) -> dict[tuple[str, str], str]:
        return {(end.network.name, end.seen.name): end.where for end in self.ends}

    def where(self, network: str, who: Sequence[str]) -> str:
        """What to call nodes in a network: ``c2:eth0``; ``between c1:eth0 and c3:eth0``."""
        names = listed([self._names.get((network, node), node) for node in who])
        return names if len(who) == 1 else f"between {names}"


def by_network(every: Iterable[MemberPort]) -> tuple[tuple[MemberPort, ...], ...]:
    """The ends of each network, in the order of its first one."""
    return tuple(grouped(every, lambda end: end.network.name).values())


def rate(interface: Interface) -> float:
    """An interface's rate in bit/s, 0 where it is not known."""
    return 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s


def leads_out(ip: str) -> bool:
    """Whether others can be reached by it: no loopback and no link-local address (RFC 1122,
    3927, 4291), which the kernel gives to any interface, and firmware to its own ones."""
    return not ip.lower().startswith(("127.", "169.254.", "fe80:")) and ip != "::1"


def has_cable(interface: Interface) -> bool:
    """Whether something outside the node is at the other end."""
    return told(interface.driver) not in NO_CABLE


def usual(values: Iterable[_V]) -> _V | Skipped:
    """The value that more than half have; ``Skipped`` where there is none."""
    counts = Counter(values)
    if counts:
        value, count = counts.most_common(1)[0]
        if 2 * count > counts.total():
            return value
    return Skipped("no value is that of most")


def unusual(of: Mapping[_T, _V]) -> tuple[_V | Skipped, dict[_T, _V]]:
    """The usual value and those who differ from it; all of them where none is usual."""
    common = usual(of.values())
    return common, {name: value for name, value in of.items() if value != common}


def _length(interface: Interface, ip: str) -> int:
    return next((one.prefix_length for one in interface.addresses if one.ip == ip), 0)


def _kind(port: RdmaPort) -> tuple[str, int, str]:
    return port.device, port.number, port.protocol
