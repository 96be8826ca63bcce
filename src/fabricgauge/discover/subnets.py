"""Addresses of several nodes → the networks that join them; pure.

Interfaces are matched by subnet, never by name: eth0 here may be cabled to eth1 there.
"""

import ipaddress
from collections.abc import Iterable

from fabricgauge.discover.addresses import End, Free, Subnet, is_narrow
from fabricgauge.discover.bridges import joins_none
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import (
    Address,
    DeclaredNetwork,
    Interface,
    IpoibPort,
    Network,
    Node,
    Shaper,
)


def networks(nodes: tuple[Node, ...], declared: tuple[DeclaredNetwork, ...]) -> tuple[Network, ...]:
    """Networks that at least two of ``nodes`` share: the declared first, then by subnet.

    An address belongs to exactly one network. It is given to, in this order: the most
    specific declared subnet that contains it; the subnet of its own mask, if another
    node is in it as well; the most specific subnet found so far that contains it (a
    node with a wrong mask); the most specific subnet of any other address. Loopback
    and link-local addresses are left out, those beside another one of the same subnet
    that stand for themselves alone (a service that moves between nodes), and a subnet in
    which all nodes have one and the same address. Where nobody declared them, subnets of
    bridges alone that lead out of no node are left out as well.

    Raises:
        UsageError: a declared subnet is none.
    """
    named = _declared(declared)
    free = Free(_ends(nodes, named))
    groups: dict[Subnet, list[End]] = {}
    for subnet in _most_specific_first(named):
        if _join_nodes(free.inside(subnet)):
            groups[subnet] = free.take(subnet)
    free = _take_by_own_mask(groups, free)
    for subnet in _most_specific_first(groups):
        groups[subnet] += free.take(subnet)
    for subnet in _most_specific_first(end.subnet for end in free.left):
        _take(groups, free, subnet)
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
        if _counts(end, named) and not _beside(end)
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


def _beside(end: End) -> bool:
    """Whether the interface's own address is another one, and this is a service's: keepalived and
    kube-vip add it as /32, DHCPv6 as /128."""
    if not is_narrow(end.subnet):
        return False
    others = (ipaddress.ip_interface(f"{a.ip}/{a.prefix_length}") for a in end.interface.addresses)
    return any(not is_narrow(one.network) and end.ip in one.network for one in others)


def _key(subnet: Subnet) -> tuple[int, int, int]:
    return subnet.version, int(subnet.network_address), subnet.prefixlen


def _most_specific_first(subnets: Iterable[Subnet]) -> list[Subnet]:
    return sorted(set(subnets), key=lambda subnet: (-subnet.prefixlen, _key(subnet)))


def _take(groups: dict[Subnet, list[End]], free: Free, subnet: Subnet) -> None:
    """Make a network that nobody declared of the free ends in ``subnet``, if they join nodes."""
    inside = free.inside(subnet)
    if _join_nodes(inside) and not joins_none(inside):
        groups[subnet] = free.take(subnet)


def _take_by_own_mask(groups: dict[Subnet, list[End]], free: Free) -> Free:
    """Networks of ends with one and the same subnet; those that stay free."""
    by_mask: dict[Subnet, list[End]] = {}
    for end in free.left:
        by_mask.setdefault(end.subnet, []).append(end)
    groups.update(
        (subnet, ends)
        for subnet, ends in by_mask.items()
        if _join_nodes(ends) and not joins_none(ends)
    )
    return Free([end for end in free.left if end.subnet not in groups])


def _join_nodes(ends: list[End]) -> bool:
    """Several nodes that all have one and the same address are not joined by it."""
    return len({end.node.name for end in ends}) > 1 and len({end.ip for end in ends}) > 1


def _network(subnet: Subnet, ends: list[End], declared: DeclaredNetwork | None) -> Network:
    rate, origin = _rate(ends, declared)
    behind = _ipoib(ends)
    return Network(
        name=declared.name if declared else str(subnet),
        subnet=str(subnet),
        technology="ipoib" if behind else "ethernet",
        rate_bit_s=rate,
        rate_origin=origin,
        members=tuple(end.member for end in ends),
        timestamps=all(end.node.facts.get("net.ipv4.tcp_timestamps") != "0" for end in ends),
        burst_bytes=max(_burst_bytes(end.interface) for end in ends),
        link=_link(behind),
        mode=_mode(behind),
    )


def _rate(ends: list[End], declared: DeclaredNetwork | None) -> tuple[float | Skipped, str]:
    """The nominal rate: declared, else the fastest port's, which a port that fell back misses.

    A port that is up and does not say its rate may be faster; one without a link has none.
    """
    if declared:
        return declared.rate_bit_s, declared.origin
    speeds = [
        (end.interface.speed_bit_s, end)
        for end in ends
        if not isinstance(end.interface.speed_bit_s, Skipped)
    ]
    for end in ends:
        is_missed = end.interface.carrier is True or not speeds
        if isinstance(end.interface.speed_bit_s, Skipped) and is_missed:
            return end.interface.speed_bit_s, "no driver and no declaration gives the rate"
    fastest, end = max(speeds, key=lambda pair: pair[0])
    where = f"{end.node.name}:{end.interface.name}"
    return (
        fastest,
        f"{where}'s driver reports {fastest / 1e9:g} Gb/s, the fastest port of the network",
    )


def _ipoib(ends: list[End]) -> list[tuple[float, IpoibPort]]:
    """Rate and port behind each end; empty unless all are of IP over InfiniBand."""
    found = [
        (end.interface.speed_bit_s, end.interface.ipoib)
        for end in ends
        if isinstance(end.interface.ipoib, IpoibPort)
    ]
    if len(found) < len(ends):
        return []
    return [(0.0 if isinstance(rate, Skipped) else rate, port) for rate, port in found]


def _link(behind: list[tuple[float, IpoibPort]]) -> str:
    """The fastest port's link, as the rate is the fastest one's."""
    named = [(rate, one.link) for rate, one in behind if isinstance(one.link, str)]
    return max(named, default=(0.0, ""))[1]


def _mode(behind: list[tuple[float, IpoibPort]]) -> str:
    """The mode that all have; with another one at the other end, both speak as that one can."""
    modes = {one.mode if isinstance(one.mode, str) else "" for _, one in behind}
    return modes.pop() if len(modes) == 1 else ""


def _burst_bytes(interface: Interface) -> int:
    return interface.shaper.burst_bytes if isinstance(interface.shaper, Shaper) else 0
