"""Is every address one interface's alone?"""

import ipaddress
from collections.abc import Iterator

import msgspec

from fabricgauge.doctor.places import Seen, has_cable, leads_out, memberships, nodes
from fabricgauge.doctor.private import Private
from fabricgauge.doctor.wording import listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.preflight import Preflight

ID = "addresses"
TITLE = "No two interfaces have the same IP or MAC address"
WHY = (
    "Packets for that address go to whoever answered last: connections hang, break, or reach the"
    " wrong node."
)


#: On more nodes the wrong neighbour is left to fade: that takes the kernel some 10 s
#: (Documentation/networking/ip-sysctl.rst, neigh: delay_first_probe_time, retrans_time_ms).
MOST_FORGET = 8


class Holder(msgspec.Struct, frozen=True):
    """An interface that has an address."""

    seen: Seen
    interface: Interface

    @property
    def where(self) -> str:
        return f"{self.seen.name}:{self.interface.name}"


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every, twins = _apart(nodes(preflight))
    if not every:
        return Skipped("no node answered")
    found = [_twin(preflight, names) for names in twins]
    private = Private(preflight, every)
    for ip, holders in _by_ip(every).items():
        if len(holders) > 1 and not all(_is_private(private, ip, one) for one in holders):
            found.append(_same_ip(preflight, ip, holders))
    return (*found, *_same_macs(preflight, every, private))


def _apart(every: tuple[Seen, ...]) -> tuple[tuple[Seen, ...], tuple[tuple[str, ...], ...]]:
    """Nodes that are really different ones, and the names that mean one and the same.

    Nodes with the same boot and the same network namespace are one, reached by two names.
    """
    same: dict[tuple[str, str], list[Seen]] = {}
    for seen in every:
        same.setdefault((seen.node.boot_id, seen.node.net_namespace), []).append(seen)
    first = tuple(group[0] for group in same.values())
    return first, tuple(
        tuple(one.name for one in group) for group in same.values() if len(group) > 1
    )


def _twin(preflight: Preflight, names: tuple[str, ...]) -> Finding:
    return Finding(
        ID, Severity.WARN, listed(names), "are names of one and the same node",
        (f"{listed(names)} have one boot id and one network namespace",), WHY,
        "name each node once; a measurement between them would be of its memory",
        names,
    )  # fmt: skip


def _by_ip(every: tuple[Seen, ...]) -> dict[str, list[Holder]]:
    found: dict[str, list[Holder]] = {}
    for seen in every:
        for interface in seen.node.interfaces:
            for address in interface.addresses:
                if leads_out(address.ip) and interface.driver != "loopback":
                    found.setdefault(address.ip, []).append(Holder(seen, interface))
    return found


def _is_private(private: Private, ip: str, holder: Holder) -> bool:
    own = (one for one in holder.interface.addresses if one.ip == ip)
    return all(private.has(holder.interface, one) for one in own)


def _same_ip(preflight: Preflight, ip: str, holders: list[Holder]) -> Finding:
    guilty = _guilty(preflight, ip, holders)
    named = [one for one in holders if not guilty or one.seen.name in guilty]
    network = memberships(preflight).get((named[0].seen.name, named[0].interface.name), "")
    evidence = [f"{one.where} ({one.interface.mac}) has {ip}" for one in holders]
    evidence += [
        f"{look.node}: the name {look.name} means {listed(look.addresses)}"
        for look in preflight.lookups
        if ip in look.addresses and any(look.name == one.seen.name for one in holders)
    ][:3]
    others = [one.where for one in holders if one not in named]
    what = f"has the address {ip}" + (f" of {listed(others)}" if others else " twice")
    return Finding(
        ID, Severity.FAIL, listed([one.where for one in named]), what, tuple(evidence), WHY,
        "give each interface an address of its own, where it is configured as well; the other nodes"
        " find the right holder after some seconds",
        tuple(dict.fromkeys(one.seen.name for one in named)), network,
        mends=_mends(preflight, ip, named) if len(named) == 1 else (),
        affects=tuple(one.seen.name for one in holders),
    )  # fmt: skip


def _mends(preflight: Preflight, ip: str, named: list[Holder]) -> tuple[Command, ...]:
    """The address that the node's own name means, where it is in the same subnet and free."""
    (one,) = named
    length = next(a.prefix_length for a in one.interface.addresses if a.ip == ip)
    subnet = ipaddress.ip_interface(f"{ip}/{length}").network
    meant = {
        own
        for look in preflight.lookups
        if look.name == one.seen.name
        for own in look.addresses
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


def _guilty(preflight: Preflight, ip: str, holders: list[Holder]) -> tuple[str, ...]:
    """Those whose own name means another address, if the address is that of another's name."""
    owners = {look.name for look in preflight.lookups if ip in look.addresses}
    rightful = [one.seen.name for one in holders if one.seen.name in owners]
    others = [one.seen.name for one in holders if one.seen.name not in owners]
    known = {look.name for look in preflight.lookups if look.addresses}
    return tuple(others) if len(rightful) == 1 and set(others) <= known else ()


def _same_macs(
    preflight: Preflight, every: tuple[Seen, ...], private: Private
) -> Iterator[Finding]:
    """On different nodes: a bond and its members, or a VLAN and its parent, share one by right.

    Ends of containers' links (veth of Calico: ee:ee:ee:ee:ee:ee) and of a BMC's USB network have
    one MAC everywhere; their addresses are link-local or private.
    """
    found: dict[str, list[Holder]] = {}
    for seen in every:
        own: set[str] = set()
        for interface in seen.node.interfaces:
            usable = has_cable(interface) and not private.all_of(interface)
            if usable and interface.mac.strip("0:") and interface.mac not in own:
                own.add(interface.mac)
                found.setdefault(interface.mac, []).append(Holder(seen, interface))
    for mac, holders in found.items():
        if len(holders) > 1:
            yield _same_mac(preflight, mac, holders)


def _same_mac(preflight: Preflight, mac: str, holders: list[Holder]) -> Finding:
    names = [one.where for one in holders]
    return Finding(
        ID, Severity.FAIL, listed(names), f"have one MAC address, {mac}",
        tuple(f"{name} has MAC {mac}" for name in names), WHY,
        "a cloned image or a locally set MAC: remove the setting, or exchange the adapter",
        tuple(one.seen.name for one in holders),
        memberships(preflight).get((holders[0].seen.name, holders[0].interface.name), ""),
    )  # fmt: skip
