"""Addresses of several nodes → the networks that join them; pure.

Interfaces are matched by subnet, never by name: eth0 here may be cabled to eth1 there.
"""

import ipaddress
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import (
    Address,
    DeclaredNetwork,
    Interface,
    Member,
    Network,
    Node,
    Shaper,
)

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network
Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class End(msgspec.Struct, frozen=True):
    """One address of one interface of one node, with the subnet of its own mask."""

    node: Node
    interface: Interface
    ip: Ip
    subnet: Subnet

    @property
    def member(self) -> Member:
        return Member(self.node.name, self.interface.name, str(self.ip), self.interface.mtu_bytes)


def networks(nodes: tuple[Node, ...], declared: tuple[DeclaredNetwork, ...]) -> tuple[Network, ...]:
    """Networks that at least two of ``nodes`` share: the declared first, then by subnet.

    An address belongs to exactly one network. It is given to, in this order: the most
    specific declared subnet that contains it; the subnet of its own mask, if another
    node is in it as well; the most specific subnet found so far that contains it (a
    node with a wrong mask); the most specific subnet of any other address. Loopback
    and link-local addresses are left out, and a subnet in which all nodes have one and
    the same address (a private bridge on each node).

    Raises:
        UsageError: a declared subnet is none.
    """
    named = _declared(declared)
    free = _ends(nodes, named)
    groups: dict[Subnet, list[End]] = {}
    for subnet in _most_specific_first(named):
        free = _take(groups, free, subnet)
    free = _take_by_own_mask(groups, free)
    for subnet in _most_specific_first(groups):
        inside, free = _split(free, subnet)
        groups[subnet] += inside
    for subnet in _most_specific_first(end.subnet for end in free):
        free = _take(groups, free, subnet)
    position = {subnet: number for number, subnet in enumerate(named)}
    ordered = sorted(groups, key=lambda subnet: (position.get(subnet, len(named)), _key(subnet)))
    return tuple(_network(subnet, groups[subnet], named.get(subnet)) for subnet in ordered)


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


def _ends(nodes: tuple[Node, ...], named: Iterable[Subnet]) -> list[End]:
    return [
        end
        for node in nodes
        for interface in node.interfaces
        for end in (_end(node, interface, address) for address in interface.addresses)
        if _counts(end, named)
    ]


def _end(node: Node, interface: Interface, address: Address) -> End:
    own = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}")
    return End(node, interface, own.ip, own.network)


def _counts(end: End, named: Iterable[Subnet]) -> bool:
    """IPv6 beside IPv4 is the same wire again, so it counts only where it was declared."""
    if end.ip.is_loopback or end.ip.is_link_local or end.ip.is_multicast or end.ip.is_unspecified:
        return False
    if end.interface.driver == "loopback":
        return False
    if end.ip.version == 4 or any(end.ip in subnet for subnet in named):
        return True
    return all(":" in address.ip for address in end.interface.addresses)


def _key(subnet: Subnet) -> tuple[int, int, int]:
    return subnet.version, int(subnet.network_address), subnet.prefixlen


def _most_specific_first(subnets: Iterable[Subnet]) -> list[Subnet]:
    return sorted(set(subnets), key=lambda subnet: (-subnet.prefixlen, _key(subnet)))


def _split(ends: list[End], subnet: Subnet) -> tuple[list[End], list[End]]:
    inside = [end for end in ends if end.ip in subnet]
    return inside, [end for end in ends if end.ip not in subnet]


def _take(groups: dict[Subnet, list[End]], free: list[End], subnet: Subnet) -> list[End]:
    """Make a network of the free ends in ``subnet``, if they join nodes; what stays free."""
    inside, outside = _split(free, subnet)
    if not _join_nodes(inside):
        return free
    groups[subnet] = inside
    return outside


def _take_by_own_mask(groups: dict[Subnet, list[End]], free: list[End]) -> list[End]:
    by_mask: dict[Subnet, list[End]] = {}
    for end in free:
        by_mask.setdefault(end.subnet, []).append(end)
    groups.update((subnet, ends) for subnet, ends in by_mask.items() if _join_nodes(ends))
    return [end for end in free if end.subnet not in groups]


def _join_nodes(ends: list[End]) -> bool:
    """Several nodes that all have one and the same address are not joined by it."""
    return len({end.node.name for end in ends}) > 1 and len({end.ip for end in ends}) > 1


def _network(subnet: Subnet, ends: list[End], declared: DeclaredNetwork | None) -> Network:
    rate, origin = _rate(ends, declared)
    return Network(
        name=declared.name if declared else str(subnet),
        subnet=str(subnet),
        technology=_technology(ends),
        rate_bit_s=rate,
        rate_origin=origin,
        members=tuple(end.member for end in ends),
        timestamps=all(end.node.facts.get("net.ipv4.tcp_timestamps") != "0" for end in ends),
        burst_bytes=max(_burst_bytes(end.interface) for end in ends),
    )


def _rate(ends: list[End], declared: DeclaredNetwork | None) -> tuple[float | Skipped, str]:
    """The nominal rate: declared, else the fastest port's, which a port that fell back misses."""
    if declared:
        return declared.rate_bit_s, declared.origin
    for end in ends:
        if isinstance(end.interface.speed_bit_s, Skipped):
            return end.interface.speed_bit_s, "no driver and no declaration gives the rate"
    speeds = [
        (end.interface.speed_bit_s, end)
        for end in ends
        if not isinstance(end.interface.speed_bit_s, Skipped)
    ]
    fastest, end = max(speeds, key=lambda pair: pair[0])
    where = f"{end.node.name}:{end.interface.name}"
    return (
        fastest,
        f"{where}'s driver reports {fastest / 1e9:g} Gb/s, the fastest port of the network",
    )


def _technology(ends: list[End]) -> str:
    drivers = [end.interface.driver for end in ends]
    if all(isinstance(driver, str) and "ipoib" in driver for driver in drivers):
        return "ipoib"
    return "ethernet"


def _burst_bytes(interface: Interface) -> int:
    return interface.shaper.burst_bytes if isinstance(interface.shaper, Shaper) else 0
