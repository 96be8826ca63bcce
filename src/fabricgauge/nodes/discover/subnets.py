"""Addresses of several nodes → the networks that join them; pure.

Interfaces are matched by subnet, never by name: eth0 of one node may be cabled to eth1 of another.
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
from fabricgauge.model.groups import group_by
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.networks import rail_of


def join_networks(
    nodes: tuple[Node, ...], declared: tuple[DeclaredNetwork, ...], by_rail: bool = False
) -> tuple[Network, ...]:
    """Return networks that at least two of ``nodes`` share: the declared first, then by subnet.

    An address belongs to exactly one network, the first of these: the most specific declared
    subnet that contains it; the subnet of its own mask, if another node is in it as well; the most
    specific subnet so far that contains it (a node with a wrong mask); the most specific subnet of
    any other address.

    Left out are loopback and link-local addresses, and host routes in another subnet of the same
    interface (a service that moves between nodes). Unless declared, subnets in which all nodes
    have the same address, and subnets of bridges that lead out of no node, are left out as well.
    If nodes have several interfaces in a subnet, it is one network, or with ``by_rail`` one for
    each rail that can be distinguished.

    Raises:
        UsageError: a declared subnet is not valid.
    """
    declared_subnets = _parse_declared(declared)
    endpoints = _list_endpoints(nodes, declared_subnets)
    free = FreeEndpoints(endpoints)
    stated_rates = {
        (endpoint.node.name, endpoint.interface.name): (
            declared_subnets[subnet].rate_bit_s,
            declared_subnets[subnet].origin,
        )
        for subnet in reversed(_sort_most_specific_first(declared_subnets))
        for endpoint in endpoints
        if endpoint.ip.version == subnet.version and endpoint.ip in subnet
    }
    groups: dict[Subnet, list[AddressEndpoint]] = {}
    for subnet in _sort_most_specific_first(declared_subnets):
        if len({endpoint.node.name for endpoint in free.find(subnet)}) > 1:
            groups[subnet] = free.take(subnet)
    by_mask = group_by(free.endpoints, lambda endpoint: endpoint.subnet)
    groups.update((mask, [*group]) for mask, group in by_mask.items() if _is_network(group))
    free = FreeEndpoints([endpoint for endpoint in free.endpoints if endpoint.subnet not in groups])
    for subnet in _sort_most_specific_first(groups):
        groups[subnet] += free.take(subnet)
    for subnet in _sort_most_specific_first(endpoint.subnet for endpoint in free.endpoints):
        if _is_network(free.find(subnet)):
            groups[subnet] = free.take(subnet)
    positions = {subnet: number for number, subnet in enumerate(declared_subnets)}
    ordered = sorted(
        groups,
        key=lambda subnet: (positions.get(subnet, len(declared_subnets)), _get_sort_key(subnet)),
    )
    return tuple(
        network
        for subnet in ordered
        for network in _make_networks(
            subnet, groups[subnet], declared_subnets.get(subnet), by_rail, stated_rates
        )
    )


Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


def _parse_declared(declared: tuple[DeclaredNetwork, ...]) -> dict[Subnet, DeclaredNetwork]:
    by_subnet: dict[Subnet, DeclaredNetwork] = {}
    for network in declared:
        try:
            by_subnet.setdefault(ipaddress.ip_network(network.subnet, strict=False), network)
        except ValueError as error:
            raise UsageError(
                f"network {network.name} ({network.origin}): {error}; "
                "give its subnet as, for example, 10.0.0.0/24"
            ) from error
    return by_subnet


Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressEndpoint(msgspec.Struct, frozen=True):
    """One address of one interface of one node, with the subnet of its own mask."""

    node: Node
    interface: Interface
    ip: Ip
    subnet: Subnet

    @property
    def member(self) -> Member:
        return Member(self.node.name, self.interface.name, str(self.ip), self.interface.mtu_bytes)


def _list_endpoints(nodes: tuple[Node, ...], declared: Iterable[Subnet]) -> list[AddressEndpoint]:
    endpoints = (
        AddressEndpoint(node, interface, address.ip, address.network)
        for node in nodes
        for interface in node.interfaces
        for address in map(_parse_address, interface.addresses)
    )
    return [
        endpoint
        for endpoint in endpoints
        if _is_usable(endpoint, declared) and not _is_service_address(endpoint)
    ]


#: Rates that were stated for networks, with their origin, by node and interface.
StatedRates = Mapping[tuple[str, str], tuple[float, str]]


def _parse_address(address: Address) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}")


def _is_usable(endpoint: AddressEndpoint, declared: Iterable[Subnet]) -> bool:
    """Check for an address that may join nodes.

    IPv6 on an interface with IPv4 uses the same wire, so it counts only if it was declared.
    """
    ip = endpoint.ip
    if ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        return False
    if endpoint.interface.driver == "loopback":
        return False
    if ip.version == 4 or any(ip in subnet for subnet in declared):
        return True
    return all(":" in address.ip for address in endpoint.interface.addresses)


def _is_service_address(endpoint: AddressEndpoint) -> bool:
    """Check for a host route on an interface with another address in the same subnet.

    It is a service's: keepalived and kube-vip add it as /32, DHCPv6 as /128.
    """
    if not is_narrow(endpoint.subnet):
        return False
    subnets = (_parse_address(address).network for address in endpoint.interface.addresses)
    return any(not is_narrow(subnet) and endpoint.ip in subnet for subnet in subnets)


def _get_sort_key(subnet: Subnet) -> tuple[int, int, int]:
    return subnet.version, int(subnet.network_address), subnet.prefixlen


def _sort_most_specific_first(subnets: Iterable[Subnet]) -> list[Subnet]:
    return sorted(set(subnets), key=lambda subnet: (-subnet.prefixlen, _get_sort_key(subnet)))


class FreeEndpoints:
    """Endpoints without a network, in order of address: those of a subnet are adjacent.

    If each link is routed there are as many subnets as endpoints, and each is looked up.
    """

    def __init__(self, endpoints: Sequence[AddressEndpoint]) -> None:
        self._all = endpoints
        self._taken = set[int]()
        self._sorted = sorted(
            (endpoint.ip.version, int(endpoint.ip), number)
            for number, endpoint in enumerate(endpoints)
        )

    @property
    def endpoints(self) -> list[AddressEndpoint]:
        """The free endpoints, in their original order."""
        return [endpoint for number, endpoint in enumerate(self._all) if number not in self._taken]

    def find(self, subnet: Subnet) -> list[AddressEndpoint]:
        return [self._all[number] for number in self._find_numbers(subnet)]

    def take(self, subnet: Subnet) -> list[AddressEndpoint]:
        endpoints = self.find(subnet)
        self._taken.update(self._find_numbers(subnet))
        return endpoints

    def _find_numbers(self, subnet: Subnet) -> list[int]:
        version, first = subnet.version, int(subnet.network_address)
        start = bisect_left(self._sorted, (version, first, 0))
        end = bisect_left(self._sorted, (version, first + subnet.num_addresses, 0))
        return sorted({number for *_, number in self._sorted[start:end]} - self._taken)


def _is_network(endpoints: Sequence[AddressEndpoint]) -> bool:
    """Check for several nodes; the same address on all of them does not join them."""
    node_count = len({endpoint.node.name for endpoint in endpoints})
    ip_count = len({endpoint.ip for endpoint in endpoints})
    return node_count > 1 and ip_count > 1 and not _are_inner_bridges(endpoints)


def _make_networks(
    subnet: Subnet, endpoints: list[AddressEndpoint], declared: DeclaredNetwork | None,
    by_rail: bool, stated_rates: StatedRates,
) -> Iterator[Network]:  # fmt: skip
    rails = _split_rails(endpoints) if by_rail else [endpoints]
    for number, rail in enumerate(rails, 1):
        network = _make_network(subnet, rail, declared, stated_rates)
        name = rail_of(network.name, number) if len(rails) > 1 else network.name
        yield msgspec.structs.replace(network, name=name)


def _split_rails(endpoints: list[AddressEndpoint]) -> list[list[AddressEndpoint]]:
    """Split by the interfaces' names, if the node with most of them has every name.

    Else, if all nodes have as many and all are alike, the first interface of each node, the second
    ones, …; else one list.
    """
    by_node: dict[str, dict[str, list[AddressEndpoint]]] = {}
    for endpoint in endpoints:
        interfaces = by_node.setdefault(endpoint.node.name, {})
        interfaces.setdefault(endpoint.interface.name, []).append(endpoint)
    largest = max(by_node.values(), key=len)
    if all(interfaces.keys() <= largest.keys() for interfaces in by_node.values()):
        return [
            [endpoint for interfaces in by_node.values() for endpoint in interfaces.get(name, ())]
            for name in largest
        ]
    kinds = {(endpoint.interface.driver, endpoint.interface.speed_bit_s) for endpoint in endpoints}
    counts = {len(interfaces) for interfaces in by_node.values()}
    if len(kinds) == 1 and counts == {len(largest)}:
        rails = zip(*(interfaces.values() for interfaces in by_node.values()), strict=True)
        return [
            [endpoint for node_endpoints in rail for endpoint in node_endpoints] for rail in rails
        ]
    return [endpoints]


def _make_network(
    subnet: Subnet, endpoints: list[AddressEndpoint], declared: DeclaredNetwork | None,
    stated_rates: StatedRates,
) -> Network:  # fmt: skip
    """Return a network; it is IP over InfiniBand if all endpoints are.

    Then the link is the fastest port's, as the rate is; the mode is the one that all have, because
    different modes use the smaller packets of the two.
    """
    rate, origin = _choose_rate(endpoints, declared, stated_rates)
    interfaces = [endpoint.interface for endpoint in endpoints]
    ipoib_ports = [
        (interface.ipoib, interface.speed_bit_s)
        for interface in interfaces
        if isinstance(interface.ipoib, IpoibPort)
    ]
    is_ipoib = len(ipoib_ports) == len(endpoints)
    links = [
        (0.0 if isinstance(speed, Skipped) else speed, port.link)
        for port, speed in ipoib_ports
        if is_ipoib and isinstance(port.link, str)
    ]
    modes = {port.mode if isinstance(port.mode, str) else "" for port, _ in ipoib_ports}
    shapers = [shaper for endpoint in endpoints for shaper in _list_shapers(endpoint)]
    return Network(
        name=declared.name if declared else str(subnet),
        subnet=str(subnet),
        technology="ipoib" if is_ipoib else "ethernet",
        rate_bit_s=rate,
        rate_origin=origin,
        members=tuple(endpoint.member for endpoint in endpoints),
        timestamps=all(
            endpoint.node.facts.get("net.ipv4.tcp_timestamps") != "0" for endpoint in endpoints
        ),
        burst_bytes=max((shaper.burst_bytes for shaper in shapers), default=0),
        link=max(links, default=(0.0, ""))[1],
        mode=modes.pop() if is_ipoib and len(modes) == 1 else "",
        tunnel_bytes=max(map(_count_tunnel_bytes, endpoints)),
    )


def _list_shapers(endpoint: AddressEndpoint) -> Iterator[Shaper]:
    """Yield the token buckets that an endpoint sends through: its own and those below it.

    The only port of a bridge is below it even if it is a veth: a lab's nodes have no other port.
    """
    name, node = endpoint.interface.name, endpoint.node
    ports = [port.name for port in node.interfaces if port.master == name]
    names = {name, *node.below(name), *(ports if len(ports) == 1 else ())}
    for interface in node.interfaces:
        if interface.name in names and isinstance(interface.shaper, Shaper):
            yield interface.shaper


def _count_tunnel_bytes(endpoint: AddressEndpoint) -> int:
    """Return VXLAN's octets around a packet, over IPv4 unless the port below has IPv6 alone."""
    if endpoint.interface.driver != "vxlan":
        return 0
    below = endpoint.node.interface(endpoint.node.parent_of(endpoint.interface.name))
    addresses = () if isinstance(below, Skipped) else below.addresses
    is_ipv6 = bool(addresses) and all(":" in address.ip for address in addresses)
    return VXLAN_BYTES[6 if is_ipv6 else 4]


def _choose_rate(
    endpoints: list[AddressEndpoint], declared: DeclaredNetwork | None, stated_rates: StatedRates
) -> tuple[float | Skipped, str]:
    """Return the nominal rate: declared, else the fastest port's.

    A port that fell back is slower than that. An active port without a known rate may be faster;
    a port without a link has no rate.
    """
    if declared:
        return declared.rate_bit_s, declared.origin
    speeds = [(*_read_speed(endpoint, stated_rates), endpoint) for endpoint in endpoints]
    rates = [(speed, origin) for speed, origin, _ in speeds if not isinstance(speed, Skipped)]
    for speed, _, endpoint in speeds:
        if isinstance(speed, Skipped) and (endpoint.interface.carrier is True or not rates):
            return speed, "no driver and no declaration gives the rate"
    fastest, origin = max(rates, key=lambda item: item[0])
    return fastest, f"{origin}, the fastest port of the network"


def _read_speed(
    endpoint: AddressEndpoint, stated_rates: StatedRates
) -> tuple[float | Skipped, str]:
    """Return the driver's rate of an interface, or of the only port below a bridge or tunnel."""
    node, name, speed = endpoint.node, endpoint.interface.name, endpoint.interface.speed_bit_s
    if not isinstance(speed, Skipped):
        return speed, f"{node.name}:{name}'s driver reports {link_rate(speed)}"
    below = node.below(name)
    lowest = [lower for lower in below if not node.below(lower)]
    if len(lowest) != 1:
        return speed, ""
    port_name, label = lowest[0], f"{node.name}:{lowest[0]}, below {name}"
    port = node.interface(port_name)
    if not isinstance(port, Skipped) and not isinstance(port.speed_bit_s, Skipped):
        return port.speed_bit_s, f"{label}: its driver reports {link_rate(port.speed_bit_s)}"
    if (node.name, port_name) not in stated_rates:
        return speed, ""
    rate, origin = stated_rates[node.name, port_name]
    return rate, f"{label}: {origin}"


def is_narrow(subnet: Subnet) -> bool:
    """Check for a subnet of one address, or of the two ends of a link (RFC 3021, 6164)."""
    return subnet.prefixlen >= subnet.max_prefixlen - 1


#: Drivers of a bridge's ports that lead to a container or a guest of the node. Linux 6.12,
#: drivers/net: veth.c, tun.c, dummy.c, ifb.c. A tunnel (vxlan) may lead to other nodes.
INSIDE = frozenset({"veth", "tun", "tap", "dummy", "ifb"})


def _are_inner_bridges(endpoints: Sequence[AddressEndpoint]) -> bool:
    """Check whether these endpoints are all bridges that lead out of no node.

    If a bridge's ports are unknown, one address on bridges of several nodes shows it.
    """
    if any(endpoint.interface.driver != "bridge" for endpoint in endpoints):
        return False
    leads_out = [_leads_out(endpoint.node, endpoint.interface) for endpoint in endpoints]
    if True in leads_out:
        return False
    ip_count = len({endpoint.ip for endpoint in endpoints})
    return not any(answer is None for answer in leads_out) or ip_count < len(endpoints)


def _leads_out(node: Node, bridge: Interface) -> bool | None:
    """Check whether a bridge leads out of its node; None if its ports are unknown.

    A bridge without ports has no carrier.
    """
    ports = [interface for interface in node.interfaces if interface.master == bridge.name]
    if ports:
        return any(port.driver not in INSIDE for port in ports)
    return None if bridge.carrier is True else False
