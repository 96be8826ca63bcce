"""What a check is, and the nodes and their ends of networks as checks go through them."""

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Network, Node
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.model.preflight import Preflight
from fabricgauge.words.sentences import listed


class Check(msgspec.Struct, frozen=True):
    """One check; ``id`` is that of its section in the docs.

    ``title`` says what is so on a sound cluster, ``why`` what it does to the figures where it
    isn't. ``look`` gives one finding for each place that is not as it should be; places that
    share a sentence are put together later. ``Skipped`` where there was nothing to look at.
    ``remedy`` is that of findings without one of their own. ``shared`` says why nodes of a lab are
    not looked at: what they share on their one machine.
    """

    id: str
    title: str
    why: str
    look: Callable[[Preflight], tuple[Finding, ...] | Skipped]
    remedy: str = ""
    shared: str = ""


def fault(
    severity: Severity,
    where: str,
    what: str,
    evidence: tuple[str, ...],
    remedy: str = "",
    nodes: tuple[str, ...] = (),
    network: str = "",
    mends: tuple[Command, ...] = (),
    affects: tuple[str, ...] = (),
    why: str = "",
) -> Finding:
    """A finding of the check that looks; ``why`` and ``remedy`` where they are not its own."""
    return Finding("", severity, where, what, evidence, why, remedy, nodes, network, mends, affects)


#: Drivers of interfaces that no cable belongs to: their carrier, rate and addresses are the
#: node's own affair. Linux 6.12: net/bridge/br_device.c; in drivers/net: dummy.c, tun.c, ifb.c,
#: vxlan, geneve.c, wireguard, macvlan.c, ipvlan, vrf.c; net/ipv4/ipip.c, net/openvswitch. veth is
#: left out: containers and labs are joined by it.
NO_CABLE = frozenset(
    {"bridge", "dummy", "tun", "tap", "ifb", "vxlan", "geneve", "wireguard", "macvlan", "ipvlan",
     "loopback", "sit", "ip6tnl", "gre", "ipip", "openvswitch", "vrf"}
)  # fmt: skip

_V = TypeVar("_V", bound=Hashable)
Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


class KnownNode(msgspec.Struct, frozen=True):
    """One node with what is known of it; ``facts`` are those of both its sources."""

    name: str
    node: Node
    inventory: Inventory
    facts: dict[str, str]

    @property
    def where(self) -> str:
        return self.name

    @property
    def has_rdma(self) -> bool:
        return bool(self.inventory.rdma_ports) or any(one.rdma_devices for one in self.adapters)

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        return self.inventory.adapters

    def adapter_of(self, interface: str) -> Adapter | Skipped:
        for adapter in self.adapters:
            if interface in adapter.interfaces:
                return adapter
        return Skipped(f"no adapter of {self.name} is known to have {interface}")

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
        if isinstance(self.adapter_of(name), Adapter):
            return []
        own = self.node.interface(name)
        parent = own.parent if isinstance(own, Interface) else ""
        wanted = parent or name.rpartition(".")[0]
        return [
            one.name
            for one in self.node.interfaces
            if one.name != name and (one.name == wanted or one.master == name)
        ]

    def product(self, adapter: Adapter) -> str:
        """One text for one product: its PCI numbers where they are known, since a node without
        the PCI database has no name for it."""
        known = self.facts.get(f"pci id {adapter.bus}", "")
        return known or (adapter.product if isinstance(adapter.product, str) else adapter.kind)

    def interface_of(self, port: RdmaPort) -> str:
        """The interface on an RDMA port; empty where none or more than one may be it."""
        if isinstance(port.interface, str):
            return port.interface
        mine = [one for one in self.adapters if port.device in one.rdma_devices]
        names = {name for adapter in mine for name in adapter.interfaces}
        return names.pop() if len(names) == 1 else ""

    def number(self, fact: str) -> float | Skipped:
        """A fact that is a number; ``unlimited`` is infinite."""
        text = self.facts.get(fact, "").strip()
        if text == "unlimited":
            return float("inf")
        if text.isascii() and text.isdigit() and len(text) <= 30:
            return float(text)
        return Skipped(f"{self.name} gives no {fact}" if not text else f"{fact} is {text!r:.60}")


class MemberPort(msgspec.Struct, frozen=True):
    """One node's interface in a network."""

    seen: KnownNode
    interface: Interface
    network: Network
    ip: str

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.interface.name}"


class Port(msgspec.Struct, frozen=True):
    """One node's RDMA port; ``network`` is that of its interface or empty, ``same`` are this
    port of the node and of all like it."""

    seen: KnownNode
    port: RdmaPort
    network: str
    same: tuple[RdmaPort, ...]

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.port.device}:{self.port.number}"


def nodes(preflight: Preflight) -> tuple[KnownNode, ...]:
    """The nodes that answered, each with its inventory or an empty one.

    Nodes of a lab see the adapters of the machine that they are all on: those are not theirs.
    """
    known = {inventory.name: inventory for inventory in preflight.inventories}
    if preflight.fabric.virtual:
        known = {name: _without_hardware(inventory) for name, inventory in known.items()}
    found = []
    for node in preflight.fabric.nodes:
        inventory = known.get(node.name) or Inventory(
            node.name, node, (), (), (), (), (), (), (), {}
        )
        found.append(KnownNode(node.name, node, inventory, {**inventory.facts, **node.facts}))
    return tuple(found)


def _without_hardware(inventory: Inventory) -> Inventory:
    return msgspec.structs.replace(inventory, adapters=(), rdma_ports=(), gpus=(), nearness=())


def ends(preflight: Preflight) -> Iterator[MemberPort]:
    """Every member of every network, with its interface."""
    by_name = {seen.name: seen for seen in nodes(preflight)}
    for network in preflight.fabric.networks:
        for member in network.members:
            seen = by_name.get(member.node)
            interface = seen.node.interface(member.interface) if seen else Skipped("")
            if seen and isinstance(interface, Interface):
                yield MemberPort(seen, interface, network, member.ip)


def placing(preflight: Preflight) -> Callable[[str, Sequence[str]], str]:
    """What to call nodes in a network, by name: ``c2:eth0``; ``between c1:eth0 and c3:eth0``."""
    known = {(end.network.name, end.seen.name): end.where for end in ends(preflight)}

    def where(network: str, who: Sequence[str]) -> str:
        names = listed([known.get((network, node), node) for node in who])
        return names if len(who) == 1 else f"between {names}"

    return where


def by_network(every: Iterable[MemberPort]) -> list[list[MemberPort]]:
    """The ends of each network, in the order of its first one."""
    found: dict[str, list[MemberPort]] = {}
    for end in every:
        found.setdefault(end.network.name, []).append(end)
    return list(found.values())


def rate(interface: Interface) -> float:
    """An interface's rate in bit/s, 0 where it is not known."""
    return 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s


def leads_out(ip: str) -> bool:
    """Whether others can be reached by it: no loopback and no link-local address (RFC 1122,
    3927, 4291), which the kernel gives to any interface, and firmware to its own ones."""
    return not ip.lower().startswith(("127.", "169.254.", "fe80:")) and ip != "::1"


def has_cable(interface: Interface) -> bool:
    """Whether something outside the node is at the other end."""
    return not (isinstance(interface.driver, str) and interface.driver in NO_CABLE)


def memberships(preflight: Preflight) -> dict[tuple[str, str], str]:
    """By node and interface, the name of the first network that it is in."""
    return {
        (member.node, member.interface): network.name
        for network in reversed(preflight.fabric.networks)
        for member in network.members
    }


def found(
    severity: Severity,
    place: KnownNode | MemberPort | Port,
    what: str,
    *evidence: str,
    remedy: str = "",
    mends: tuple[Command, ...] = (),
) -> Finding:
    """A finding at a node or a port; its remedy is the check's own where none is given."""
    node = place.name if isinstance(place, KnownNode) else place.seen.name
    network = "" if isinstance(place, KnownNode) else place.network
    name = network if isinstance(network, str) else network.name
    return fault(severity, place.where, what, evidence, remedy, (node,), name, mends)


def usual(values: Iterable[_V]) -> _V | Skipped:
    """The value that more than half have; ``Skipped`` where there is none."""
    counts = Counter(values)
    if counts:
        value, count = counts.most_common(1)[0]
        if 2 * count > counts.total():
            return value
    return Skipped("no value is that of most")


def unusual(of: Mapping[str, _V]) -> tuple[_V | Skipped, dict[str, _V]]:
    """The usual value and those who differ from it; all of them where none is usual."""
    common = usual(of.values())
    return common, {name: value for name, value in of.items() if value != common}


def like(preflight: Preflight) -> tuple[tuple[KnownNode, ...], ...]:
    """Nodes that should be the same: as they were sorted, else those with the same
    processors and the same adapters."""
    if preflight.alike:
        by_name = {seen.name: seen for seen in nodes(preflight)}
        found = [[by_name.pop(n) for n in names if n in by_name] for names in preflight.alike]
        alone = [[seen] for seen in by_name.values()]
        return tuple(tuple(group) for group in (*found, *alone) if group)
    groups: dict[tuple[object, ...], list[KnownNode]] = {}
    for seen in nodes(preflight):
        adapters = sorted(f"{one.kind} {one.product}" for one in seen.adapters)
        key = (seen.facts.get("cpu model", ""), *adapters)
        groups.setdefault(key, []).append(seen)
    return tuple(tuple(group) for group in groups.values())


def ports(preflight: Preflight) -> tuple[Port, ...]:
    """Every RDMA port. Ports of like nodes are the same by device, number and protocol."""
    networks = memberships(preflight)
    found: list[Port] = []
    for group in like(preflight):
        places: dict[tuple[str, int, str], list[RdmaPort]] = {}
        for seen in group:
            for port in seen.inventory.rdma_ports:
                places.setdefault(_place(port), []).append(port)
        same = {place: tuple(some) for place, some in places.items()}
        found += [
            Port(seen, port, networks.get((seen.name, seen.interface_of(port)), ""),
                 same[_place(port)])
            for seen in group
            for port in seen.inventory.rdma_ports
        ]  # fmt: skip
    return tuple(found)


def _place(port: RdmaPort) -> tuple[str, int, str]:
    return port.device, port.number, port.protocol
