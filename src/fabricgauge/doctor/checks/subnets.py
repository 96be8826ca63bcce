"""Are like nodes in the same networks, in separate subnets, with one netmask? pure."""

import ipaddress
from collections.abc import Iterator
from itertools import chain, combinations

from fabricgauge.doctor.checks import Check, explain_no_answer, make_finding
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    MemberInterface,
    Place,
    find_outliers,
    get_rate,
    group_by_network,
    has_cable,
    is_routable,
    list_places,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, Network
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.words.sentences import listed


def _examine_subnets(cluster: Cluster, nodes: tuple[KnownNode, ...]) -> Iterator[Finding]:
    odd_masks = list(_find_odd_masks(cluster))
    right_lengths = {(endpoint.node.name, endpoint.ip): length for endpoint, length in odd_masks}
    overlaps = [finding for node in nodes for finding in _find_overlaps(node, right_lengths)]
    yield from overlaps
    named_nodes = {node for finding in overlaps for node in finding.nodes}
    for endpoint, length in odd_masks:
        if endpoint.node.name not in named_nodes:
            yield make_finding(
                Severity.FAIL, endpoint,
                f"has netmask /{endpoint.prefix_length}, {endpoint.network_name} has /{length}",
                endpoint.description, f"the other members have /{length}",
                remedy=f"set netmask /{length} now and in the interface's configuration",
                mends=_make_mends(endpoint, length),
            )  # fmt: skip


def list_subnet_places(node: KnownNode) -> Iterator[Place]:
    """Yield addresses with a subnet of other nodes: a /31 or /32 has none."""
    return (
        place for place in list_places(node) if place.prefix_length < place.subnet.max_prefixlen - 1
    )


def overlap(a: Place, b: Place) -> bool:
    """Check whether two different interfaces claim some of the same addresses."""
    return (
        a.interface.name != b.interface.name
        and a.subnet.version == b.subnet.version
        and a.subnet.overlaps(b.subnet)
    )


def are_rails(a: Place, b: Place) -> bool:
    """Check for two rails of one network: same subnet, driver and rate; ``arp`` checks those."""
    return (
        a.subnet == b.subnet
        and a.interface.driver == b.interface.driver
        and get_rate(a.interface) == get_rate(b.interface)
        and has_cable(a.interface)
        and _have_rail_numbers(a, b)
    )


def _have_rail_numbers(a: Place, b: Place) -> bool:
    """Check whether the numbers of two addresses fit rails of one network.

    In a subnet wider than /16, numbers like 10.10.1.x and 10.10.40.x are meant to be apart;
    smaller ones are flat networks of clusters and clouds, whose rails have any numbers.
    """
    if a.subnet.version != 4 or a.subnet.prefixlen >= 16:
        return True
    return a.ip.rpartition(".")[0] == b.ip.rpartition(".")[0]


def _find_overlaps(node: KnownNode, right_lengths: dict[tuple[str, str], int]) -> Iterator[Finding]:
    places = tuple(list_subnet_places(node))
    pairs = [(a, b) for a, b in combinations(places, 2) if overlap(a, b) and not are_rails(a, b)]
    involved = [place for place in places if any(place in pair for pair in pairs)]
    if not involved:
        return
    wrong = [place for place in involved if (node.name, place.ip) in right_lengths]
    subnets = [str(subnet) for subnet in dict.fromkeys(place.subnet for place in involved)]
    overlap_words = f"{len(involved)} interfaces in one subnet"
    if len(subnets) > 1:
        overlap_words = "interfaces in overlapping subnets"
    length = find_separating_length([place.ip for place in involved])
    mask = f", /{length} would separate them" if length else ""
    mends = (_make_mends(place, right_lengths[node.name, place.ip]) for place in wrong)
    yield make_finding(
        Severity.FAIL, listed([place.label for place in wrong]) or node.name,
        f"has {overlap_words}, {listed(subnets)}", *(place.description for place in involved),
        remedy=f"give each network its own netmask on all nodes{mask}, now and in the"
        " configuration",
        nodes=(node.name,), mends=chain.from_iterable(mends),
    )  # fmt: skip


def find_separating_length(ips: list[str]) -> int:
    """Return the shortest whole-octet prefix length that puts each address into its own subnet.

    0 if there is none, and for IPv6.
    """
    if any(":" in ip for ip in ips):
        return 0
    for length in (8, 16, 24):
        subnets = {ipaddress.ip_interface(f"{ip}/{length}").network for ip in ips}
        if len(subnets) == len(set(ips)):
            return length
    return 0


def _find_odd_masks(cluster: Cluster) -> Iterator[tuple[MemberInterface, int]]:
    """Yield members whose netmask differs from most of their network, with the right length."""
    masked = (endpoint for endpoint in cluster.endpoints if not _is_service_address(endpoint))
    for members in group_by_network(masked):
        by_key = {(endpoint.node.name, endpoint.ip): endpoint for endpoint in members}
        common, outliers = find_outliers(
            {key: endpoint.prefix_length for key, endpoint in by_key.items()}
        )
        stated = ipaddress.ip_network(members[0].network.subnet).prefixlen
        right_length = common if isinstance(common, int) else stated
        for key, length in outliers.items():
            if length != right_length:
                yield by_key[key], right_length


def _is_service_address(endpoint: MemberInterface) -> bool:
    """Check for a host route (/31, /32) on an interface with another address in the network."""
    network = ipaddress.ip_network(endpoint.network.subnet)
    is_narrow = endpoint.prefix_length >= network.max_prefixlen - 1
    return is_narrow and any(
        ipaddress.ip_address(address.ip) in network
        and address.prefix_length < network.max_prefixlen - 1
        for address in endpoint.interface.addresses
    )


def _make_mends(place: Place, length: int) -> tuple[Command, ...]:
    """Add the new address before removing the old one, so that the node stays reachable."""
    node, device = place.node.name, ("dev", place.interface.name)
    add = ("ip", "addr", "add", f"{place.ip}/{length}", "brd", "+", *device)
    remove = ("ip", "addr", "del", f"{place.ip}/{place.subnet.prefixlen}", *device)
    return (Command(node, add), Command(node, remove))


SUBNETS = Check(
    "subnets",
    "No two interfaces of a node are in overlapping subnets, and netmasks agree",
    "The kernel and MPI distinguish networks by subnet: if subnets overlap, MPI takes several"
    " networks for one and uses them all, and answers may leave by another interface than requests"
    " arrived at.",
    lambda cluster: cluster.addressed_nodes,
    explain_no_answer,
    _examine_subnets,
)


def _examine_members(cluster: Cluster, networks: tuple[Network, ...]) -> Iterator[Finding]:
    for peers in cluster.peer_groups:
        for network in networks:
            yield from _find_missing_members(network, peers)


def _find_missing_members(network: Network, peers: tuple[KnownNode, ...]) -> Iterator[Finding]:
    known = [node for node in peers if node.has_addresses]
    members = [node for node in known if _is_cabled_member(network, node)]
    missing = [node for node in known if isinstance(network.member(node.name), Skipped)]
    for node in missing if 2 * len(members) > len(known) else ():
        yield make_finding(
            Severity.FAIL if len(missing) == 1 else Severity.WARN, node,
            "has no address in this network, like nodes have one",
            *_describe_missing_member(network, node, members), network=network.name,
        )  # fmt: skip


def _is_cabled_member(network: Network, node: KnownNode) -> bool:
    member = network.member(node.name)
    if isinstance(member, Skipped):
        return False
    interface = node.probe.interface(member.interface)
    return isinstance(interface, Interface) and has_cable(interface)


def _describe_missing_member(
    network: Network, node: KnownNode, members: list[KnownNode]
) -> Iterator[str]:
    names = listed([member.name for member in members])
    yield f"{network.name} is {network.subnet}; {names} are in it"
    interfaces = []
    for interface in node.probe.interfaces:
        ips = [address.ip for address in interface.addresses]
        if has_cable(interface) and (not ips or any(map(is_routable, ips))):
            interfaces.append(f"{interface.name} {listed(ips) or 'without address'}")
    yield f"{node.name} has {listed(interfaces) or 'no interface with a cable'}"


MEMBERS = Check(
    "members",
    "Like nodes are in the same networks",
    "A rank on that node cannot use the network: MPI hangs, or takes another network for all.",
    lambda cluster: cluster.networks if cluster.preflight.inventories else (),
    lambda cluster: (
        "no network joins these nodes"
        if cluster.preflight.inventories
        else "it is unknown which nodes should be alike"
    ),
    _examine_members,
    "give the adapter that is cabled to the network the node's address in it, now and in the"
    " configuration: fabricgauge configure plans the commands",
)
