"""Addresses of several nodes → the networks that join them; pure.

Interfaces are matched by subnet, never by name: eth0 here may be cabled to eth1 there.
"""

import ipaddress
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import (
    VXLAN_BYTES,
    Address,
    DeclaredNetwork,
    Interface,
    IpoibPort,
    Member,
    Network,
    Node,
    Shaper,
)
from fabricgauge.model.groups import grouped
from fabricgauge.words.figures import link_rate
from fabricgauge.words.networks import rail_of


def networks(
    nodes: tuple[Node, ...], declared: tuple[DeclaredNetwork, ...], by_rail: bool = False
) -> tuple[Network, ...]:
    """Networks that at least two of ``nodes`` share: the declared first, then by subnet.

    An address belongs to exactly one network. It is given to, in this order: the most
    specific declared subnet that contains it; the subnet of its own mask, if another
    node is in it as well; the most specific subnet found so far that contains it (a
    node with a wrong mask); the most specific subnet of any other address. Loopback
    and link-local addresses are left out, those beside another one of the same subnet
    that stand for themselves alone (a service that moves between nodes). Where nobody declared
    them, subnets in which all nodes have one and the same address, and those of bridges alone
    that lead out of no node, are left out as well. Where nodes have several interfaces in a subnet
    it is one network, or with ``by_rail`` one for each rail that can be told.

    Raises:
        UsageError: a declared subnet is none.
    """
    named = _declared(declared)
    ends = _ends(nodes, named)
    free = FreeEndpoints(ends)
    stated = _stated(ends, named)
    groups: dict[Subnet, list[Endpoint]] = {}
    for subnet in _most_specific_first(named):
        if len({end.node.name for end in free.inside(subnet)}) > 1:
            groups[subnet] = free.take(subnet)
    free = _take_by_own_mask(groups, free)
    for subnet in _most_specific_first(groups):
        groups[subnet] += free.take(subnet)
    for subnet in _most_specific_first(end.subnet for end in free.left):
        if _is_network(free.inside(subnet)):
            groups[subnet] = free.take(subnet)
    position = {subnet: number for number, subnet in enumerate(named)}
    ordered = sorted(groups, key=lambda subnet: (position.get(subnet, len(named)), _key(subnet)))
    return tuple(
        one
        for subnet in ordered
        for one in _networks(subnet, groups[subnet], named.get(subnet), by_rail, stated)
    )


Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


def _declared(declared: tuple[DeclaredNetwork, ...]) -> dict[Subnet, DeclaredNetwork]:
    named: dict[Subnet, DeclaredNetwork] = {}
    for network in declared:
        try:
            named.setdefault(ipaddress.ip_network(network.subnet, strict=False), network)
        except ValueError as error:
            raise UsageError(
                f"network {network.name} ({network.origin}): {error}; "
                "give its subnet as, for example, 10.0.0.0/24"
            ) from error
    return named


Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class Endpoint(msgspec.Struct, frozen=True):
    """One address of one interface of one node, with the subnet of its own mask."""

    node: Node
    interface: Interface
    ip: Ip
    subnet: Subnet

    @property
    def member(self) -> Member:
        return Member(self.node.name, self.interface.name, str(self.ip), self.interface.mtu_bytes)


def _ends(nodes: tuple[Node, ...], named: Iterable[Subnet]) -> list[Endpoint]:
    ends = (
        Endpoint(node, interface, own.ip, own.network)
        for node in nodes
        for interface in node.interfaces
        for own in map(_own, interface.addresses)
    )
    return [end for end in ends if _counts(end, named) and not _beside(end)]


#: Rates that were stated for networks, with who said so, by node and interface.
StatedRates = Mapping[tuple[str, str], tuple[float, str]]


def _stated(ends: Iterable[Endpoint], named: Mapping[Subnet, DeclaredNetwork]) -> StatedRates:
    return {
        (end.node.name, end.interface.name): (named[subnet].rate_bit_s, named[subnet].origin)
        for subnet in reversed(_most_specific_first(named))
        for end in ends
        if end.ip.version == subnet.version and end.ip in subnet
    }


def _own(address: Address) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}")


def _counts(end: Endpoint, named: Iterable[Subnet]) -> bool:
    """IPv6 beside IPv4 is the same wire again, so it counts only where it was declared."""
    if end.ip.is_loopback or end.ip.is_link_local or end.ip.is_multicast or end.ip.is_unspecified:
        return False
    if end.interface.driver == "loopback":
        return False
    if end.ip.version == 4 or any(end.ip in subnet for subnet in named):
        return True
    return all(":" in address.ip for address in end.interface.addresses)


def _beside(end: Endpoint) -> bool:
    """Whether the interface's own address is another one, and this is a service's: keepalived and
    kube-vip add it as /32, DHCPv6 as /128."""
    if not is_narrow(end.subnet):
        return False
    others = (_own(address).network for address in end.interface.addresses)
    return any(not is_narrow(one) and end.ip in one for one in others)


def _key(subnet: Subnet) -> tuple[int, int, int]:
    return subnet.version, int(subnet.network_address), subnet.prefixlen


def _most_specific_first(subnets: Iterable[Subnet]) -> list[Subnet]:
    return sorted(set(subnets), key=lambda subnet: (-subnet.prefixlen, _key(subnet)))


class FreeEndpoints:
    """Ends that are free, in order of address: those of a subnet stand together.

    Where each link is routed there are as many subnets as ends, and each is asked for.
    """

    def __init__(self, ends: Sequence[Endpoint]) -> None:
        self._ends = ends
        self._taken = [False] * len(ends)
        self._places = sorted((one.ip.version, int(one.ip), n) for n, one in enumerate(ends))

    @property
    def left(self) -> list[Endpoint]:
        """Those that are not taken, in the order in which they came."""
        return [one for one, taken in zip(self._ends, self._taken, strict=True) if not taken]

    def inside(self, subnet: Subnet) -> list[Endpoint]:
        """Those of ``left`` in a subnet."""
        return [self._ends[n] for n in self._numbers(subnet)]

    def take(self, subnet: Subnet) -> list[Endpoint]:
        """The same, and they are free no longer."""
        numbers = self._numbers(subnet)
        for n in numbers:
            self._taken[n] = True
        return [self._ends[n] for n in numbers]

    def _numbers(self, subnet: Subnet) -> list[int]:
        version, first = subnet.version, int(subnet.network_address)
        begin = bisect_left(self._places, (version, first, 0))
        end = bisect_left(self._places, (version, first + subnet.num_addresses, 0))
        return sorted(n for _, _, n in self._places[begin:end] if not self._taken[n])


def _take_by_own_mask(groups: dict[Subnet, list[Endpoint]], free: FreeEndpoints) -> FreeEndpoints:
    """Networks of ends with one and the same subnet; those that stay free."""
    by_mask = grouped(free.left, lambda end: end.subnet)
    groups.update((subnet, [*ends]) for subnet, ends in by_mask.items() if _is_network(ends))
    return FreeEndpoints([end for end in free.left if end.subnet not in groups])


def _is_network(ends: Sequence[Endpoint]) -> bool:
    """Of ends in a subnet that nobody declared."""
    return _join_nodes(ends) and not _joins_none(ends)


def _join_nodes(ends: Sequence[Endpoint]) -> bool:
    """Several nodes that all have one and the same address are not joined by it."""
    return len({end.node.name for end in ends}) > 1 and len({end.ip for end in ends}) > 1


def _networks(
    subnet: Subnet, ends: list[Endpoint], declared: DeclaredNetwork | None, by_rail: bool,
    stated: StatedRates,
) -> Iterator[Network]:  # fmt: skip
    rails = _rails(ends) if by_rail else [ends]
    for number, rail in enumerate(rails, 1):
        made = _network(subnet, rail, declared, stated)
        name = rail_of(made.name, number) if len(rails) > 1 else made.name
        yield msgspec.structs.replace(made, name=name)


def _rails(ends: list[Endpoint]) -> list[list[Endpoint]]:
    """The interfaces of one name, where the node with most of them has every name; else, where all
    nodes have as many and all are alike, the first of each node, the second ones, …; else one list.
    """
    own: dict[str, dict[str, list[Endpoint]]] = {}
    for end in ends:
        own.setdefault(end.node.name, {}).setdefault(end.interface.name, []).append(end)
    most = max(own.values(), key=len)
    if all(each.keys() <= most.keys() for each in own.values()):
        return [[end for each in own.values() for end in each.get(name, ())] for name in most]
    kinds = {(end.interface.driver, end.interface.speed_bit_s) for end in ends}
    if len(kinds) == 1 and {len(each) for each in own.values()} == {len(most)}:
        places = zip(*(each.values() for each in own.values()), strict=True)
        return [[end for same in place for end in same] for place in places]
    return [ends]


def _network(
    subnet: Subnet, ends: list[Endpoint], declared: DeclaredNetwork | None, stated: StatedRates
) -> Network:
    """Of IP over InfiniBand if all ends are: the link is the fastest port's, as the rate is; the
    mode is the one that all have, since else both ends speak as the other one can."""
    rate, origin = _rate(ends, declared, stated)
    interfaces = [end.interface for end in ends]
    behind = [
        (one.ipoib, one.speed_bit_s) for one in interfaces if isinstance(one.ipoib, IpoibPort)
    ]
    is_ipoib = len(behind) == len(ends)
    links = [
        (0.0 if isinstance(speed, Skipped) else speed, port.link)
        for port, speed in behind
        if is_ipoib and isinstance(port.link, str)
    ]
    modes = {port.mode if isinstance(port.mode, str) else "" for port, _ in behind}
    shapers = [shaper for end in ends for shaper in _shapers(end)]
    return Network(
        name=declared.name if declared else str(subnet),
        subnet=str(subnet),
        technology="ipoib" if is_ipoib else "ethernet",
        rate_bit_s=rate,
        rate_origin=origin,
        members=tuple(end.member for end in ends),
        timestamps=all(end.node.facts.get("net.ipv4.tcp_timestamps") != "0" for end in ends),
        burst_bytes=max((shaper.burst_bytes for shaper in shapers), default=0),
        link=max(links, default=(0.0, ""))[1],
        mode=modes.pop() if is_ipoib and len(modes) == 1 else "",
        tunnel_bytes=max(map(_tunnel_bytes, ends)),
    )


def _shapers(end: Endpoint) -> Iterator[Shaper]:
    """Yield the token buckets that an end sends through: its own, and those of what it is on.

    The only port of a bridge is such a part even if it is a veth: a lab's nodes have no other port.
    """
    name, interfaces = end.interface.name, end.node.interfaces
    ports = [port.name for port in interfaces if port.master == name]
    below = {name, *end.node.below(name), *(ports if len(ports) == 1 else ())}
    for interface in interfaces:
        if interface.name in below and isinstance(interface.shaper, Shaper):
            yield interface.shaper


def _tunnel_bytes(end: Endpoint) -> int:
    """What VXLAN puts around a packet, over IPv4 unless the port below has IPv6 alone."""
    if end.interface.driver != "vxlan":
        return 0
    below = end.node.interface(end.node.parent_of(end.interface.name))
    addresses = () if isinstance(below, Skipped) else below.addresses
    only_ipv6 = bool(addresses) and all(":" in one.ip for one in addresses)
    return VXLAN_BYTES[6 if only_ipv6 else 4]


def _rate(
    ends: list[Endpoint], declared: DeclaredNetwork | None, stated: StatedRates
) -> tuple[float | Skipped, str]:
    """The nominal rate: declared, else the fastest port's, which a port that fell back misses.

    A port that is up and does not say its rate may be faster; one without a link has none.
    """
    if declared:
        return declared.rate_bit_s, declared.origin
    speeds = [(*_speed(end, stated), end) for end in ends]
    known = [(speed, origin) for speed, origin, _ in speeds if not isinstance(speed, Skipped)]
    for speed, _, end in speeds:
        if isinstance(speed, Skipped) and (end.interface.carrier is True or not known):
            return speed, "no driver and no declaration gives the rate"
    fastest, origin = max(known, key=lambda pair: pair[0])
    return fastest, f"{origin}, the fastest port of the network"


def _speed(end: Endpoint, stated: StatedRates) -> tuple[float | Skipped, str]:
    """What an interface's driver reports; of a bridge or tunnel, the rate of the one port below."""
    node, speed = end.node, end.interface.speed_bit_s
    if not isinstance(speed, Skipped):
        where = f"{node.name}:{end.interface.name}"
        return speed, f"{where}'s driver reports {link_rate(speed)}"
    below = node.below(end.interface.name)
    cables = [one for one in below if not node.below(one)]
    if len(cables) != 1:
        return speed, ""
    cable, where = cables[0], f"{node.name}:{cables[0]}, below {end.interface.name}"
    own = node.interface(cable)
    if not isinstance(own, Skipped) and not isinstance(own.speed_bit_s, Skipped):
        return own.speed_bit_s, f"{where}: its driver reports {link_rate(own.speed_bit_s)}"
    if (node.name, cable) not in stated:
        return speed, ""
    rate, origin = stated[node.name, cable]
    return rate, f"{where}: {origin}"


def is_narrow(subnet: Subnet) -> bool:
    """Whether it holds one address, or the two ends of a link (RFC 3021, 6164)."""
    return subnet.prefixlen >= subnet.max_prefixlen - 1


#: Drivers of a bridge's ports behind which is a container or a guest of the node. Linux 6.12,
#: drivers/net: veth.c, tun.c, dummy.c, ifb.c. A tunnel (vxlan) may lead to other nodes.
INSIDE = frozenset({"veth", "tun", "tap", "dummy", "ifb"})


def _joins_none(ends: Sequence[Endpoint]) -> bool:
    """Whether these ends are all bridges that lead out of no node.

    Where a bridge's ports are not known, one address on bridges of several nodes tells it.
    """
    if any(end.interface.driver != "bridge" for end in ends):
        return False
    leading = [_leads_out(end.node, end.interface) for end in ends]
    if True in leading:
        return False
    return not any(one is None for one in leading) or len({end.ip for end in ends}) < len(ends)


def _leads_out(node: Node, bridge: Interface) -> bool | None:
    """``None`` where the node does not say what the bridge's ports are. One without any has no
    carrier."""
    ports = [one for one in node.interfaces if one.master == bridge.name]
    if ports:
        return any(one.driver not in INSIDE for one in ports)
    return None if bridge.carrier is True else False
