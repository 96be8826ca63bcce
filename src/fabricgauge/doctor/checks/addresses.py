"""Is every address one interface's alone? Addresses that each node has to itself are left out."""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence

from fabricgauge.doctor.check import Check, found, no_answer
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    Place,
    has_cable,
    leads_out,
    places_of,
    rate,
)
from fabricgauge.model.fabric import Address, Interface, IpoibPort
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.words.sentences import listed

#: Drivers of networks over USB, by which management controllers speak with their own host: Linux
#: 6.12, drivers/net/usb.
USB = frozenset({"cdc_ether", "cdc_ncm", "cdc_eem", "rndis_host"})

#: Two nodes with one address may be a mistake; what more of them have alike was made so.
LEAST_ALIKE = 3

#: Ports of this rate are there for the nodes' traffic: alike addresses are a cloned image's.
FAST_BIT_S = 10e9

#: On more nodes the wrong neighbour is left to fade: that takes the kernel some 10 s
#: (Documentation/networking/ip-sysctl.rst, neigh: delay_first_probe_time, retrans_time_ms).
MOST_FORGET = 8


def _addresses(cluster: Cluster, every: tuple[KnownNode, ...]) -> Iterator[Finding]:
    """Nodes with the same boot and the same network namespace are one, reached by two names."""
    by_node = grouped(every, lambda seen: (seen.node.boot_id, seen.node.net_namespace))
    groups = tuple(by_node.values())
    for names in (tuple(one.name for one in group) for group in groups if len(group) > 1):
        yield found(
            Severity.WARN, listed(names), "are names of one and the same node",
            f"{listed(names)} have one boot id and one network namespace",
            remedy="name each node once; a measurement between them would be of its memory",
            nodes=names,
        )  # fmt: skip
    first = tuple(group[0] for group in groups)
    private = Private(cluster, first)
    every_ip = (
        place for seen in first for place in places_of(seen) if place.interface.driver != "loopback"
    )
    for holders in grouped(every_ip, lambda one: one.ip).values():
        bridges = [place for place in holders if not has_cable(place.interface)]
        if len(holders) > 1 and not all(map(private.holds, holders)):
            yield _same_ip(cluster, holders)
        elif len({place.seen.name for place in bridges}) > 1:
            yield _chosen_wrongly(bridges)
    yield from _same_macs(cluster, first, private)


def _chosen_wrongly(holders: Sequence[Place]) -> Finding:
    """Addresses that every node has to itself: an MPI that tries them reaches the node itself."""
    names = listed(sorted({one.interface.name for one in holders}))
    nodes = tuple(dict.fromkeys(one.seen.name for one in holders))
    return found(
        Severity.NOTE, f"{names} of {len(nodes):,} nodes",
        f"has one and the same address, {holders[0].ip}, on each: MPI may choose it",
        *(one.told for one in holders), why=NO_WAY, remedy=EXCLUDE, nodes=nodes,
    )  # fmt: skip


NO_WAY = (
    "Open MPI, Gloo and NCCL use every interface that is up unless told otherwise: they take the"
    " same subnet on two nodes for a way between them, and hang or reach themselves."
)
EXCLUDE = (
    "name the network to MPI (Open MPI: --mca btl_tcp_if_include SUBNET --mca oob_tcp_if_include"
    " SUBNET; UCX_NET_DEVICES; NCCL_SOCKET_IFNAME), or remove the bridge where nothing needs it"
    " (virsh net-autostart default --disable); fabricgauge check names it by itself"
)


class Private:
    """Which addresses are private, for ``every`` node of a preflight."""

    def __init__(self, cluster: Cluster, every: tuple[KnownNode, ...]) -> None:
        networks = cluster.networks
        self._members = {member.ip for network in networks for member in network.members}
        self._subnets = tuple(ipaddress.ip_network(network.subnet) for network in networks)
        counts = Counter(
            (interface.name, address)
            for seen in every
            for interface in seen.node.interfaces
            for address in interface.addresses
        )
        self._alike = {
            place
            for place, count in counts.items()
            if count >= LEAST_ALIKE and 2 * count > len(every)
        }

    def has(self, interface: Interface, address: Address) -> bool:
        """Bridges of containers and guests, networks over USB, and what most nodes have alike on
        the same interface; but nothing of a network of the nodes."""
        if not has_cable(interface):
            return address.ip not in self._members
        fast = rate(interface) >= FAST_BIT_S or isinstance(interface.ipoib, IpoibPort)
        alike = (interface.name, address) in self._alike and not fast
        if interface.driver not in USB and not alike:
            return False
        own = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
        return not any(own.version == one.version and own.overlaps(one) for one in self._subnets)

    def holds(self, place: Place) -> bool:
        own = (one for one in place.interface.addresses if one.ip == place.ip)
        return all(self.has(place.interface, one) for one in own)

    def all_of(self, interface: Interface) -> bool:
        """Whether the interface has no address by which others are meant to reach the node."""
        return all(
            self.has(interface, one) for one in interface.addresses if leads_out(one.ip)
        )  # fmt: skip


def _same_ip(cluster: Cluster, holders: Sequence[Place]) -> Finding:
    ip, lookups = holders[0].ip, cluster.preflight.lookups
    guilty = _guilty(cluster, holders)
    named = [one for one in holders if not guilty or one.seen.name in guilty]
    evidence = [f"{one.where} ({one.interface.mac}) has {ip}" for one in holders]
    evidence += [
        f"{lookup.node}: the name {lookup.name} means {listed(lookup.addresses)}"
        for lookup in lookups
        if ip in lookup.addresses and any(lookup.name == one.seen.name for one in holders)
    ][:3]
    others = [one.where for one in holders if one not in named]
    return found(
        Severity.FAIL, listed([one.where for one in named]),
        f"has the address {ip} of {listed(others)}" if others else f"have the same address {ip}",
        *evidence,
        remedy="give each interface an address of its own, where it is configured as well; the"
        " other nodes find the right holder after some seconds",
        nodes=tuple(dict.fromkeys(one.seen.name for one in named)),
        network=_network(cluster, named[0]), affects=[one.seen.name for one in holders],
        mends=_mends(cluster, named[0]) if len(named) == 1 else (),
    )  # fmt: skip


def _network(cluster: Cluster, place: Place) -> str:
    return cluster.memberships.get((place.seen.name, place.interface.name), "")


def _mends(cluster: Cluster, one: Place) -> tuple[Command, ...]:
    """The address that the node's own name means, where it is in the same subnet and free."""
    node, of = one.seen.name, cluster.preflight
    meant = {
        own
        for lookup in of.lookups
        if lookup.name == node
        for own in lookup.addresses
        if ipaddress.ip_address(own) in one.subnet
    }
    taken = {a.ip for each in of.fabric.nodes for i in each.interfaces for a in i.addresses}
    if len(meant) != 1 or meant & taken:
        return ()
    words = (f"{one.ip}/{one.length}", f"{meant.pop()}/{one.length}", one.interface.name)
    # Else they send to the wrong node for seconds.
    others = [each.name for each in of.fabric.nodes if each.name != node]
    forget = ("ip", "neigh", "flush", "to", one.ip)
    return (
        Command(node, ("sh", "-c", EXCHANGE, "sh", *words)),
        *(Command(name, forget) for name in others if len(others) <= MOST_FORGET),
    )


#: A second address of the same subnet goes with the first one (ip-sysctl.rst,
#: promote_secondaries), so the wrong one goes first; in one command, since the node may be
#: reached by that very interface.
EXCHANGE = 'ip addr del "$1" dev "$3" && ip addr add "$2" brd + dev "$3"'


def _guilty(cluster: Cluster, holders: Sequence[Place]) -> tuple[str, ...]:
    """Those whose own name means another address, if the address is that of another's name."""
    lookups = cluster.preflight.lookups
    owners = {lookup.name for lookup in lookups if holders[0].ip in lookup.addresses}
    names = [one.seen.name for one in holders]
    others = [name for name in names if name not in owners]
    known = {lookup.name for lookup in lookups if lookup.addresses}
    return tuple(others) if len(names) - len(others) == 1 and set(others) <= known else ()


def _same_macs(
    cluster: Cluster, every: tuple[KnownNode, ...], private: Private
) -> Iterator[Finding]:
    """On different nodes: a bond and its members, or a VLAN and its parent, share one by right.

    Ends of containers' links (veth of Calico: ee:ee:ee:ee:ee:ee) and of a BMC's USB network have
    one MAC everywhere; their addresses are link-local or private.
    """
    usable = {
        (seen.name, one.mac): Place(seen, one)
        for seen in every
        for one in reversed(seen.node.interfaces)
        if has_cable(one) and one.mac.strip("0:") and not private.all_of(one)
    }
    for mac, holders in grouped(usable.values(), lambda one: one.interface.mac).items():
        names = [one.where for one in holders]
        if len(holders) > 1:
            yield found(
                Severity.FAIL, listed(names), f"have one MAC address, {mac}",
                *(f"{name} has MAC {mac}" for name in names),
                remedy="a cloned image or a locally set MAC: remove the setting, or exchange the"
                " adapter",
                nodes=[one.seen.name for one in holders], network=_network(cluster, holders[0]),
            )  # fmt: skip


ADDRESSES = Check(
    "addresses",
    "No two interfaces have the same IP or MAC address",
    "Packets for that address go to the node that answered last: connections hang, break, or reach"
    " the wrong node.",
    lambda cluster: cluster.asked,
    no_answer,
    _addresses,
    reads=("names",),
)
