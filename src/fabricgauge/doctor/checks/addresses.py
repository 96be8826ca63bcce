"""Does every address belong to one interface? Addresses private to each node are left out."""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence

from fabricgauge.doctor.checks import Check, explain_no_answer, make_finding
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    Place,
    get_rate,
    has_cable,
    is_routable,
    list_places,
)
from fabricgauge.model.fabric import Address, Interface, IpoibPort
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.words.sentences import listed

#: Drivers of networks over USB, which connect a management controller with its host: Linux 6.12,
#: drivers/net/usb.
USB = frozenset({"cdc_ether", "cdc_ncm", "cdc_eem", "rndis_host"})

#: Two nodes may share an address by mistake; more nodes share it on purpose.
MIN_PRIVATE_NODES = 3

#: Ports of this rate carry the nodes' traffic: if they share an address, an image was cloned.
FAST_BIT_S = 10e9

#: On more nodes no command makes the others forget the wrong neighbour: the kernel does so in some
#: 10 s (Documentation/networking/ip-sysctl.rst, neigh: delay_first_probe_time, retrans_time_ms).
MAX_FLUSHED_NODES = 8


def _examine_addresses(cluster: Cluster, nodes: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Nodes with the same boot and the same network namespace are one node with two names."""
    by_boot = group_by(
        nodes, lambda node: (node.probe.boot_id or node.name, node.probe.net_namespace)
    )
    groups = tuple(by_boot.values())
    for names in (tuple(node.name for node in group) for group in groups if len(group) > 1):
        yield make_finding(
            Severity.WARN, listed(names), "are names of one and the same node",
            f"{listed(names)} have one boot id and one network namespace",
            remedy="name each node once: a measurement between two names of a node would measure"
            " its memory",
            nodes=names,
        )  # fmt: skip
    distinct_nodes = tuple(group[0] for group in groups)
    private = PrivateAddresses(cluster, distinct_nodes)
    places = (
        place
        for node in distinct_nodes
        for place in list_places(node)
        if place.interface.driver != "loopback"
    )
    for holders in group_by(places, lambda place: place.ip).values():
        bridges = [place for place in holders if not has_cable(place.interface)]
        if len(holders) > 1 and not all(map(private.is_private_place, holders)):
            yield _report_same_ip(cluster, holders)
        elif len({place.node.name for place in bridges}) > 1:
            yield _report_bridge(bridges)
    yield from _find_addresses_of_head(cluster, distinct_nodes, private)
    yield from _find_same_macs(cluster, distinct_nodes, private)


def _report_bridge(holders: Sequence[Place]) -> Finding:
    """An MPI that tries an address that each node has for itself reaches its own node."""
    names = listed(sorted({place.interface.name for place in holders}))
    nodes = tuple(dict.fromkeys(place.node.name for place in holders))
    return make_finding(
        Severity.NOTE, f"{names} of {len(nodes):,} nodes",
        f"has the same address, {holders[0].ip}, on each node: MPI may choose it",
        *(place.description for place in holders), why=BRIDGE_WHY, remedy=EXCLUDE, nodes=nodes,
    )  # fmt: skip


BRIDGE_WHY = (
    "Open MPI, Gloo and NCCL use every active interface by default: they take the same subnet on"
    " two nodes for a path between them, and hang or reach their own node."
)
EXCLUDE = (
    "name the network to MPI (Open MPI: --mca btl_tcp_if_include SUBNET --mca oob_tcp_if_include"
    " SUBNET; UCX_NET_DEVICES; NCCL_SOCKET_IFNAME), or remove the bridge if nothing needs it"
    " (virsh net-autostart default --disable); fabricgauge check names the network to MPI"
)


class PrivateAddresses:
    """The addresses that each node of a preflight has for itself."""

    def __init__(self, cluster: Cluster, nodes: tuple[KnownNode, ...]) -> None:
        networks = cluster.networks
        self._member_ips = {member.ip for network in networks for member in network.members}
        self._subnets = tuple(ipaddress.ip_network(network.subnet) for network in networks)
        counts = Counter(
            (interface.name, address)
            for node in nodes
            for interface in node.probe.interfaces
            for address in interface.addresses
        )
        self._repeated = {
            place
            for place, count in counts.items()
            if count >= MIN_PRIVATE_NODES and 2 * count > len(nodes)
        }

    def is_private(self, interface: Interface, address: Address) -> bool:
        """Check for an address that leads to no other node.

        These are bridges of containers and guests, networks over USB, and an address that most
        nodes have on the same interface; but no address in a network of the nodes.
        """
        if not has_cable(interface):
            return address.ip not in self._member_ips
        is_fast = get_rate(interface) >= FAST_BIT_S or isinstance(interface.ipoib, IpoibPort)
        is_repeated = (interface.name, address) in self._repeated and not is_fast
        if interface.driver not in USB and not is_repeated:
            return False
        subnet = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
        return not any(
            subnet.version == network.version and subnet.overlaps(network)
            for network in self._subnets
        )

    def is_private_place(self, place: Place) -> bool:
        addresses = (address for address in place.interface.addresses if address.ip == place.ip)
        return all(self.is_private(place.interface, address) for address in addresses)

    def has_only_private(self, interface: Interface) -> bool:
        """Check whether other nodes are to use none of the interface's addresses."""
        return all(
            self.is_private(interface, address)
            for address in interface.addresses
            if is_routable(address.ip)
        )


def _find_addresses_of_head(
    cluster: Cluster, nodes: tuple[KnownNode, ...], private: PrivateAddresses
) -> Iterator[Finding]:
    """Report the addresses that a node shares with the machine that starts the launches.

    Without a wire in common it is a doubt: a direct cable may have the subnet of an office.
    """
    head = cluster.preflight.head
    if head is None:
        return
    inventory = Inventory(head.node.name, head.node)
    head_node = KnownNode(head.node.name, head.node, inventory, head.node.facts)
    usable_places = (
        place
        for node in nodes
        for place in list_places(node)
        if place.interface.driver != "loopback" and not private.is_private_place(place)
    )
    places = group_by(usable_places, lambda place: place.ip)
    for head_place in list_places(head_node):
        holders = places.get(head_place.ip, ())
        if not holders:
            continue
        is_joined = head_place.interface.name in head.wires
        yield make_finding(
            Severity.FAIL if is_joined else Severity.WARN,
            listed([place.label for place in holders]),
            f"has the address {head_place.ip} of {head_place.label}, the machine that starts the"
            f" launches{'' if is_joined else '; they may be on different wires'}",
            *(
                f"{place.label} ({place.interface.mac}) has {place.ip}"
                for place in (head_place, *holders)
            ),
            remedy="give each interface its own address, also in its configuration",
            nodes=[place.node.name for place in holders],
            network=_get_network(cluster, holders[0]),
        )  # fmt: skip


def _report_same_ip(cluster: Cluster, holders: Sequence[Place]) -> Finding:
    ip, lookups = holders[0].ip, cluster.preflight.lookups
    culprit_names = _find_culprits(cluster, holders)
    culprits = [place for place in holders if not culprit_names or place.node.name in culprit_names]
    evidence = [f"{place.label} ({place.interface.mac}) has {ip}" for place in holders]
    evidence += [
        f"{lookup.node}: the name {lookup.name} means {listed(lookup.addresses)}"
        for lookup in lookups
        if ip in lookup.addresses and any(lookup.name == place.node.name for place in holders)
    ][:3]
    owners = [place.label for place in holders if place not in culprits]
    return make_finding(
        Severity.FAIL, listed([place.label for place in culprits]),
        f"has the address {ip} of {listed(owners)}" if owners else f"have the same address {ip}",
        *evidence,
        remedy="give each interface its own address, also in its configuration; the other nodes"
        " find the right holder after some seconds",
        nodes=tuple(dict.fromkeys(place.node.name for place in culprits)),
        network=_get_network(cluster, culprits[0]),
        affects=[place.node.name for place in holders],
        mends=_make_mends(cluster, culprits[0]) if len(culprits) == 1 else (),
    )  # fmt: skip


def _get_network(cluster: Cluster, place: Place) -> str:
    return cluster.memberships.get((place.node.name, place.interface.name), "")


def _make_mends(cluster: Cluster, place: Place) -> tuple[Command, ...]:
    """Set the address that the node's own name means, if it is free and in the same subnet."""
    node, preflight = place.node.name, cluster.preflight
    own_lookups = (lookup for lookup in preflight.lookups if lookup.name == node)
    named_ips = {ip for lookup in own_lookups for ip in lookup.addresses}
    right_ips = {ip for ip in named_ips if ipaddress.ip_address(ip) in place.subnet}
    interfaces = (port for probe in preflight.fabric.nodes for port in probe.interfaces)
    used_ips = {address.ip for interface in interfaces for address in interface.addresses}
    if len(right_ips) != 1 or right_ips & used_ips:
        return ()
    length = place.prefix_length
    words = (f"{place.ip}/{length}", f"{right_ips.pop()}/{length}", place.interface.name)
    # Without it they send to the wrong node for some seconds.
    peers = [probe.name for probe in preflight.fabric.nodes if probe.name != node]
    flush = ("ip", "neigh", "flush", "to", place.ip)
    return (
        Command(node, ("sh", "-c", EXCHANGE, "sh", *words)),
        *(Command(name, flush) for name in peers if len(peers) <= MAX_FLUSHED_NODES),
    )


#: The kernel removes a second address of a subnet with the first one (ip-sysctl.rst,
#: promote_secondaries): the wrong address is removed first. It is one command, because the node may
#: be reached by that very interface.
EXCHANGE = 'ip addr del "$1" dev "$3" && ip addr add "$2" brd + dev "$3"'


def _find_culprits(cluster: Cluster, holders: Sequence[Place]) -> tuple[str, ...]:
    """Return the nodes whose own name means another address, if one holder's name means this."""
    lookups = cluster.preflight.lookups
    owners = {lookup.name for lookup in lookups if holders[0].ip in lookup.addresses}
    names = [place.node.name for place in holders]
    culprits = [name for name in names if name not in owners]
    resolved = {lookup.name for lookup in lookups if lookup.addresses}
    if len(names) - len(culprits) == 1 and set(culprits) <= resolved:
        return tuple(culprits)
    return ()


def _find_same_macs(
    cluster: Cluster, nodes: tuple[KnownNode, ...], private: PrivateAddresses
) -> Iterator[Finding]:
    """Report a MAC on several nodes.

    On one node a bond and its members, or a VLAN and its parent, rightly share a MAC. Ends of
    containers' links (veth of Calico: ee:ee:ee:ee:ee:ee) and of a BMC's USB network have one MAC
    on all nodes; their addresses are link-local or private.
    """
    usable_places = {
        (node.name, interface.mac): Place(node, interface)
        for node in nodes
        for interface in reversed(node.probe.interfaces)
        if has_cable(interface)
        and interface.mac.strip("0:")
        and not private.has_only_private(interface)
    }
    by_mac = group_by(usable_places.values(), lambda place: place.interface.mac)
    for mac, holders in by_mac.items():
        labels = [place.label for place in holders]
        if len(holders) > 1:
            yield make_finding(
                Severity.FAIL, listed(labels), f"have the same MAC address, {mac}",
                *(f"{label} has MAC {mac}" for label in labels),
                remedy="look for a cloned image or a MAC set by hand: remove that setting, or"
                " exchange the adapter",
                nodes=[place.node.name for place in holders],
                network=_get_network(cluster, holders[0]),
            )  # fmt: skip


ADDRESSES = Check(
    "addresses",
    "No two interfaces have the same IP or MAC address",
    "Packets for that address go to the node that answered last: connections hang, break, or reach"
    " the wrong node.",
    lambda cluster: cluster.addressed_nodes,
    explain_no_answer,
    _examine_addresses,
    trials=("names",),
)
