"""Is every address one interface's alone? Addresses that each node has to itself are left out."""

import ipaddress
from collections import Counter
from collections.abc import Iterator

import msgspec

from fabricgauge.doctor.places import (
    Check,
    KnownNode,
    fault,
    has_cable,
    leads_out,
    memberships,
    nodes,
    rate,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, IpoibPort
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.words.sentences import listed

#: On more nodes the wrong neighbour is left to fade: that takes the kernel some 10 s
#: (Documentation/networking/ip-sysctl.rst, neigh: delay_first_probe_time, retrans_time_ms).
MOST_FORGET = 8


class AddressHolder(msgspec.Struct, frozen=True):
    """An interface that has an address."""

    seen: KnownNode
    interface: Interface

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.interface.name}"


def look_at_addresses(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every, twins = _apart(nodes(preflight))
    if not every:
        return Skipped("no node answered")
    found = [_twin(preflight, names) for names in twins]
    private = Private(preflight, every)
    for ip, holders in _by_ip(every).items():
        if len(holders) > 1 and not all(_is_private(private, ip, one) for one in holders):
            found.append(_same_ip(preflight, ip, holders))
    return (*found, *_same_macs(preflight, every, private))


def _apart(
    every: tuple[KnownNode, ...],
) -> tuple[tuple[KnownNode, ...], tuple[tuple[str, ...], ...]]:
    """Nodes that are really different ones, and the names that mean one and the same.

    Nodes with the same boot and the same network namespace are one, reached by two names.
    """
    same: dict[tuple[str, str], list[KnownNode]] = {}
    for seen in every:
        same.setdefault((seen.node.boot_id, seen.node.net_namespace), []).append(seen)
    first = tuple(group[0] for group in same.values())
    return first, tuple(
        tuple(one.name for one in group) for group in same.values() if len(group) > 1
    )


def _twin(preflight: Preflight, names: tuple[str, ...]) -> Finding:
    return fault(
        Severity.WARN, listed(names), "are names of one and the same node",
        (f"{listed(names)} have one boot id and one network namespace",),
        "name each node once; a measurement between them would be of its memory",
        names,
    )  # fmt: skip


def _by_ip(every: tuple[KnownNode, ...]) -> dict[str, list[AddressHolder]]:
    found: dict[str, list[AddressHolder]] = {}
    for seen in every:
        for interface in seen.node.interfaces:
            for address in interface.addresses:
                if leads_out(address.ip) and interface.driver != "loopback":
                    found.setdefault(address.ip, []).append(AddressHolder(seen, interface))
    return found


class Private:
    """Which addresses are private, for ``every`` node of a preflight."""

    def __init__(self, preflight: Preflight, every: tuple[KnownNode, ...]) -> None:
        networks = preflight.fabric.networks
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
        alike = (interface.name, address) in self._alike and not _is_fast(interface)
        return (interface.driver in USB or alike) and not self._in_network(address)

    def all_of(self, interface: Interface) -> bool:
        """Whether the interface has no address by which others are meant to reach the node."""
        return all(
            self.has(interface, one) for one in interface.addresses if leads_out(one.ip)
        )  # fmt: skip

    def _in_network(self, address: Address) -> bool:
        own = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
        return any(own.version == one.version and own.overlaps(one) for one in self._subnets)


def _is_private(private: Private, ip: str, holder: AddressHolder) -> bool:
    own = (one for one in holder.interface.addresses if one.ip == ip)
    return all(private.has(holder.interface, one) for one in own)


def _same_ip(preflight: Preflight, ip: str, holders: list[AddressHolder]) -> Finding:
    guilty = _guilty(preflight, ip, holders)
    named = [one for one in holders if not guilty or one.seen.name in guilty]
    network = memberships(preflight).get((named[0].seen.name, named[0].interface.name), "")
    evidence = [f"{one.where} ({one.interface.mac}) has {ip}" for one in holders]
    evidence += [
        f"{lookup.node}: the name {lookup.name} means {listed(lookup.addresses)}"
        for lookup in preflight.lookups
        if ip in lookup.addresses and any(lookup.name == one.seen.name for one in holders)
    ][:3]
    others = [one.where for one in holders if one not in named]
    what = f"has the address {ip}" + (f" of {listed(others)}" if others else " twice")
    return fault(
        Severity.FAIL, listed([one.where for one in named]), what, tuple(evidence),
        "give each interface an address of its own, where it is configured as well; the other nodes"
        " find the right holder after some seconds",
        tuple(dict.fromkeys(one.seen.name for one in named)), network,
        mends=_mends(preflight, ip, named) if len(named) == 1 else (),
        affects=tuple(one.seen.name for one in holders),
    )  # fmt: skip


def _mends(preflight: Preflight, ip: str, named: list[AddressHolder]) -> tuple[Command, ...]:
    """The address that the node's own name means, where it is in the same subnet and free."""
    (one,) = named
    length = next(a.prefix_length for a in one.interface.addresses if a.ip == ip)
    subnet = ipaddress.ip_interface(f"{ip}/{length}").network
    meant = {
        own
        for lookup in preflight.lookups
        if lookup.name == one.seen.name
        for own in lookup.addresses
        if ipaddress.ip_address(own) in subnet
    }
    taken = {a.ip for node in preflight.fabric.nodes for i in node.interfaces for a in i.addresses}
    if len(meant) != 1 or meant & taken:
        return ()
    words = (f"{ip}/{length}", f"{meant.pop()}/{length}", one.interface.name)
    exchange = Command(one.seen.name, ("sh", "-c", EXCHANGE, "sh", *words))
    return (exchange, *_forget(preflight, ip, one.seen.name))


def _forget(preflight: Preflight, ip: str, exchanged: str) -> Iterator[Command]:
    """What has the others ask anew who has the address: for seconds they send to the wrong node."""
    others = [name for one in preflight.fabric.nodes if (name := one.name) != exchanged]
    if len(others) <= MOST_FORGET:
        yield from (Command(name, ("ip", "neigh", "flush", "to", ip)) for name in others)


#: A second address of the same subnet goes with the first one (ip-sysctl.rst,
#: promote_secondaries), so the wrong one goes first; in one command, since the node may be
#: reached by that very interface.
EXCHANGE = 'ip addr del "$1" dev "$3" && ip addr add "$2" brd + dev "$3"'


def _guilty(preflight: Preflight, ip: str, holders: list[AddressHolder]) -> tuple[str, ...]:
    """Those whose own name means another address, if the address is that of another's name."""
    owners = {lookup.name for lookup in preflight.lookups if ip in lookup.addresses}
    rightful = [one.seen.name for one in holders if one.seen.name in owners]
    others = [one.seen.name for one in holders if one.seen.name not in owners]
    known = {lookup.name for lookup in preflight.lookups if lookup.addresses}
    return tuple(others) if len(rightful) == 1 and set(others) <= known else ()


def _same_macs(
    preflight: Preflight, every: tuple[KnownNode, ...], private: Private
) -> Iterator[Finding]:
    """On different nodes: a bond and its members, or a VLAN and its parent, share one by right.

    Ends of containers' links (veth of Calico: ee:ee:ee:ee:ee:ee) and of a BMC's USB network have
    one MAC everywhere; their addresses are link-local or private.
    """
    found: dict[str, list[AddressHolder]] = {}
    for seen in every:
        own: set[str] = set()
        for interface in seen.node.interfaces:
            usable = has_cable(interface) and not private.all_of(interface)
            if usable and interface.mac.strip("0:") and interface.mac not in own:
                own.add(interface.mac)
                found.setdefault(interface.mac, []).append(AddressHolder(seen, interface))
    for mac, holders in found.items():
        if len(holders) > 1:
            yield _same_mac(preflight, mac, holders)


def _same_mac(preflight: Preflight, mac: str, holders: list[AddressHolder]) -> Finding:
    names = [one.where for one in holders]
    return fault(
        Severity.FAIL, listed(names), f"have one MAC address, {mac}",
        tuple(f"{name} has MAC {mac}" for name in names),
        "a cloned image or a locally set MAC: remove the setting, or exchange the adapter",
        tuple(one.seen.name for one in holders),
        memberships(preflight).get((holders[0].seen.name, holders[0].interface.name), ""),
    )  # fmt: skip


ADDRESSES = Check(
    "addresses",
    "No two interfaces have the same IP or MAC address",
    "Packets for that address go to the node that answered last: connections hang, break, or reach"
    " the wrong node.",
    look_at_addresses,
)

#: Drivers of networks over USB, by which management controllers speak with their own host: Linux
#: 6.12, drivers/net/usb.
USB = frozenset({"cdc_ether", "cdc_ncm", "cdc_eem", "rndis_host"})

#: Two nodes with one address may be a mistake; what more of them have alike was made so.
LEAST_ALIKE = 3

#: Ports of this rate are there for the nodes' traffic: alike addresses are a cloned image's.
FAST_BIT_S = 10e9


def _is_fast(interface: Interface) -> bool:
    return rate(interface) >= FAST_BIT_S or isinstance(interface.ipoib, IpoibPort)
