"""Are nodes in the networks of their like, in subnets that are apart, with one netmask? pure."""

import ipaddress
from collections.abc import Iterator
from itertools import combinations

from fabricgauge.doctor.check import Check, found, no_answer
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    MemberPort,
    Place,
    by_network,
    has_cable,
    leads_out,
    places_of,
    rate,
    unusual,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Network
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.words.sentences import listed


def _subnets(cluster: Cluster, every: tuple[KnownNode, ...]) -> Iterator[Finding]:
    masks = list(_odd_masks(cluster))
    odd = {(end.seen.name, end.ip): common for end, common in masks}
    overlapping = [one for seen in every for one in _overlap(seen, odd)]
    yield from overlapping
    named = {node for one in overlapping for node in one.nodes}
    for end, common in masks:
        if end.seen.name not in named:
            yield found(
                Severity.FAIL, end, f"has netmask /{end.length}, {end.net} has /{common}",
                end.told, f"the other members have /{common}",
                remedy="give the interface its network's netmask, where it is configured as well",
                mends=_mends(end, common),
            )  # fmt: skip


def places(seen: KnownNode) -> Iterator[Place]:
    """Addresses that lead to other nodes; a /31 or /32 reaches no subnet."""
    return (place for place in places_of(seen) if place.length < place.subnet.max_prefixlen - 1)


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
    yield found(
        Severity.FAIL, where, what, *(place.told for place in involved), remedy=_remedy(involved),
        nodes=(seen.name,),
        mends=[mend for place in wrong for mend in _mends(place, odd[seen.name, place.ip])],
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


def _odd_masks(cluster: Cluster) -> Iterator[tuple[MemberPort, int]]:
    """Members whose netmask is not that of most in their network, with the usual length."""
    for own in by_network(end for end in cluster.ends if not _is_extra(end)):
        members = {(end.seen.name, end.ip): end for end in own}
        common, odd = unusual({at: end.length for at, end in members.items()})
        stated = ipaddress.ip_network(own[0].network.subnet).prefixlen
        wanted = common if isinstance(common, int) else stated
        yield from ((members[at], wanted) for at, length in odd.items() if length != wanted)


def _is_extra(end: MemberPort) -> bool:
    """An address of its own alone beside the interface's other one in the network: a service's."""
    network = ipaddress.ip_network(end.network.subnet)
    narrow = end.length >= network.max_prefixlen - 1
    return narrow and any(
        ipaddress.ip_address(one.ip) in network and one.prefix_length < network.max_prefixlen - 1
        for one in end.interface.addresses
    )


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
    lambda cluster: cluster.asked,
    no_answer,
    _subnets,
)


def _members(cluster: Cluster, networks: tuple[Network, ...]) -> Iterator[Finding]:
    for group in cluster.alike:
        for network in networks:
            yield from _members_findings(network, group)


def _members_findings(network: Network, group: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Of a few like nodes in a network of others nothing follows, nor of bridges inside nodes."""
    there = [seen for seen in group if _cabled(network, seen)]
    missing = [seen for seen in group if isinstance(network.member(seen.name), Skipped)]
    if 2 * len(there) <= len(group):
        return
    for seen in missing:
        severity = Severity.FAIL if len(missing) == 1 else Severity.WARN
        what = "has no address in this network, like nodes have"
        told = _told(network, seen, there)
        yield found(severity, seen, what, *told, network=network.name)


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
    lambda cluster: cluster.networks if cluster.preflight.inventories else (),
    lambda cluster: (
        "no network joins these nodes"
        if cluster.preflight.inventories
        else "it is not known which nodes are alike"
    ),
    _members,
    "give the adapter that is cabled to it the node's address in the network, where it is"
    " configured as well: fabricgauge configure plans the commands",
)
