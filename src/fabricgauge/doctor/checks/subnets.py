"""Are nodes in the networks of their like, in subnets that are apart, with one netmask? pure."""

import ipaddress
from collections.abc import Iterator
from itertools import combinations

import msgspec

from fabricgauge.doctor.places import (
    Check,
    KnownNode,
    MemberPort,
    Subnet,
    by_network,
    ends,
    fault,
    has_cable,
    leads_out,
    like,
    nodes,
    rate,
    unusual,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Network
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.words.sentences import listed


class Place(msgspec.Struct, frozen=True):
    """An interface with one of its addresses and the subnet that its netmask makes."""

    seen: KnownNode
    interface: Interface
    ip: str
    subnet: Subnet

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.interface.name}"

    @property
    def told(self) -> str:
        return f"{self.where} {self.ip}/{self.subnet.prefixlen}"


def look_at_subnets(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = nodes(preflight)
    if not every:
        return Skipped("no node answered")
    odd = {(end.seen.name, end.ip): common for end, common in _odd_masks(preflight)}
    overlapping = [found for seen in every for found in _overlap(seen, odd)]
    named = {node for found in overlapping for node in found.nodes}
    masks = [
        _odd_mask(end, common) for end, common in _odd_masks(preflight)
        if end.seen.name not in named
    ]  # fmt: skip
    return (*overlapping, *masks)


def places(seen: KnownNode) -> Iterator[Place]:
    """Addresses that lead to other nodes; a /31 or /32 reaches no subnet."""
    for interface in seen.node.interfaces:
        for address in interface.addresses:
            own = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}")
            narrow = own.network.prefixlen >= own.network.max_prefixlen - 1
            if not (own.ip.is_loopback or own.ip.is_link_local or narrow):
                yield Place(seen, interface, str(own.ip), own.network)


def overlaps(one: Place, other: Place) -> bool:
    """Whether two different interfaces claim some of the same addresses."""
    return (
        one.interface.name != other.interface.name
        and one.subnet.version == other.subnet.version
        and one.subnet.overlaps(other.subnet)
    )


def alike(one: Place, other: Place) -> bool:
    """Two rails of one network: the same subnet, driver and rate. ``arp`` sees to them."""
    return (
        one.subnet == other.subnet
        and one.interface.driver == other.interface.driver
        and rate(one.interface) == rate(other.interface)
        and has_cable(one.interface)
        and _meant_as_one(one, other)
    )


def _meant_as_one(one: Place, other: Place) -> bool:
    """In a subnet wider than /16, numbers like 10.10.1.x and 10.10.40.x were meant to be apart;
    smaller ones are flat networks of clusters and clouds, whose rails are numbered as they come."""
    if one.subnet.version != 4 or one.subnet.prefixlen >= 16:
        return True
    return one.ip.rpartition(".")[0] == other.ip.rpartition(".")[0]


def _overlap(seen: KnownNode, odd: dict[tuple[str, str], int]) -> Iterator[Finding]:
    every = tuple(places(seen))
    pairs = [
        (one, other)
        for one, other in combinations(every, 2)
        if overlaps(one, other) and not alike(one, other)
    ]
    involved = [place for place in every if any(place in pair for pair in pairs)]
    if not involved:
        return
    wrong = [place for place in involved if (seen.name, place.ip) in odd]
    subnets = listed([str(net) for net in dict.fromkeys(place.subnet for place in involved)])
    what = (
        f"has {len(involved)} interfaces in one subnet, {subnets}"
        if len({place.subnet for place in involved}) == 1
        else f"has interfaces in overlapping subnets, {subnets}"
    )
    where = listed([place.where for place in wrong]) if wrong else seen.name
    yield fault(
        Severity.FAIL, where, what, tuple(place.told for place in involved),
        _remedy(involved), (seen.name,), "",
        tuple(mend for place in wrong for mend in _mends(place, odd[seen.name, place.ip])),
    )  # fmt: skip


def _remedy(involved: list[Place]) -> str:
    length = parting_length([place.ip for place in involved])
    mask = f", /{length} would part them" if length else ""
    return (
        f"give each network a netmask of its own on all nodes{mask}; set it where it is configured"
    )


def parting_length(ips: list[str]) -> int:
    """The shortest whole-octet prefix length at which all addresses are in different subnets."""
    if any(":" in ip for ip in ips):
        return 0
    for length in (8, 16, 24):
        nets = {ipaddress.ip_interface(f"{ip}/{length}").network for ip in ips}
        if len(nets) == len(set(ips)):
            return length
    return 0


def _odd_masks(preflight: Preflight) -> Iterator[tuple[MemberPort, int]]:
    """Members whose netmask is not that of most in their network, with the usual length."""
    every = tuple(end for end in ends(preflight) if not _is_extra(end))
    for own in by_network(every):
        members = {(end.seen.name, end.ip): end for end in own}
        lengths = {end.where + " " + end.ip: _length(end) for end in members.values()}
        common, odd = unusual(lengths)
        stated = ipaddress.ip_network(own[0].network.subnet).prefixlen
        wanted = common if isinstance(common, int) else stated
        for end in members.values():
            if end.where + " " + end.ip in odd and _length(end) != wanted:
                yield end, wanted


def _is_extra(end: MemberPort) -> bool:
    """An address of its own alone beside the interface's other one in the network: a service's."""
    network = ipaddress.ip_network(end.network.subnet)
    narrow = _length(end) >= network.max_prefixlen - 1
    return narrow and any(
        ipaddress.ip_address(one.ip) in network and one.prefix_length < network.max_prefixlen - 1
        for one in end.interface.addresses
    )


def _length(end: MemberPort) -> int:
    return next((one.prefix_length for one in end.interface.addresses if one.ip == end.ip), 0)


def _odd_mask(end: MemberPort, common: int) -> Finding:
    own = _length(end)
    subnet = ipaddress.ip_interface(f"{end.ip}/{own}").network
    return fault(
        Severity.FAIL, end.where, f"has netmask /{own}, {end.network.name} has /{common}",
        (f"{end.where} {end.ip}/{own}", f"the other members have /{common}"),
        "give the interface its network's netmask, where it is configured as well",
        (end.seen.name,), end.network.name,
        _mends(Place(end.seen, end.interface, end.ip, subnet), common),
    )  # fmt: skip


def _mends(place: Place, length: int) -> tuple[Command, ...]:
    """The new address before the old one goes, so that the node stays reachable."""
    node, device = place.seen.name, ("dev", place.interface.name)
    add = ("ip", "addr", "add", f"{place.ip}/{length}", "brd", "+", *device)
    remove = ("ip", "addr", "del", f"{place.ip}/{place.subnet.prefixlen}", *device)
    return (Command(node, add), Command(node, remove))


SUBNETS = Check(
    "subnets",
    "No two interfaces of a node are in overlapping subnets, and netmasks agree",
    "The kernel and MPI tell networks apart by subnet: where they overlap, MPI takes several"
    " networks for one and uses them all, and answers may leave by another interface than requests"
    " came in.",
    look_at_subnets,
)


def look_at_members(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    if not preflight.inventories:
        return Skipped("nothing is known of which nodes are alike")
    if not preflight.fabric.networks:
        return Skipped("no network joins these nodes")
    return tuple(
        finding
        for group in like(preflight)
        for network in preflight.fabric.networks
        for finding in _members_findings(network, group)
    )


def _members_findings(network: Network, group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Of a few like nodes in a network of others nothing follows, nor of bridges inside nodes."""
    there = [seen for seen in group if _cabled(network, seen)]
    missing = [seen for seen in group if isinstance(network.member(seen.name), Skipped)]
    if 2 * len(there) <= len(group):
        return
    for seen in missing:
        severity = Severity.FAIL if len(missing) == 1 else Severity.WARN
        yield fault(
            severity, seen.name, "has no address in this network, like nodes have",
            tuple(_told(network, seen, there)), nodes=(seen.name,), network=network.name,
        )  # fmt: skip


def _cabled(network: Network, seen: KnownNode) -> bool:
    member = network.member(seen.name)
    if isinstance(member, Skipped):
        return False
    interface = seen.node.interface(member.interface)
    return isinstance(interface, Interface) and has_cable(interface)


def _told(network: Network, seen: KnownNode, there: list[KnownNode]) -> Iterator[str]:
    yield f"{network.name} is {network.subnet}; {listed([one.name for one in there])} are in it"
    own = [
        f"{one.name} {listed([address.ip for address in one.addresses]) or 'without address'}"
        for one in seen.node.interfaces
        if has_cable(one) and (not one.addresses or any(leads_out(a.ip) for a in one.addresses))
    ]
    yield f"{seen.name} has {listed(own) or 'no interface with a cable'}"


MEMBERS = Check(
    "members",
    "Like nodes are in the same networks",
    "A rank there cannot use the network: MPI hangs, or takes another network for all.",
    look_at_members,
    "give the adapter that is cabled to it the node's address in the network, where it is"
    " configured as well: fabricgauge configure plans the commands",
)
