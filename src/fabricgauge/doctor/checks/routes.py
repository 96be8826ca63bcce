"""Do packets leave and arrive by the interface that is in the network? pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import combinations

from fabricgauge.doctor.check import Check, each, found
from fabricgauge.doctor.checks.subnets import overlaps, places
from fabricgauge.doctor.places import Cluster, KnownNode, MemberPort, Place, Subnet
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Inventory, Route
from fabricgauge.words.sentences import listed

#: Linux, Documentation/networking/ip-sysctl.rst: answer for one's own address only; use the
#: interface's own address as the source of requests.
WANTED = (("arp_ignore", 1), ("arp_announce", 2))


Rails = tuple[KnownNode, tuple[Place, ...]]


def _rails(cluster: Cluster) -> list[Rails]:
    """Nodes that have interfaces in one subnet, with these."""
    rails = []
    for seen in cluster.nodes:
        every = tuple(places(seen))
        pairs = [pair for pair in combinations(every, 2) if overlaps(*pair)]
        shared = tuple(one for one in every if any(one in pair for pair in pairs))
        rails += [(seen, shared)] if shared else []
    return rails


def setting(seen: KnownNode, interface: str, name: str) -> float | Skipped:
    """What is in force: the larger of the interface's own and of ``all`` (ip-sysctl.rst)."""
    values = [seen.number(f"net.ipv4.conf.{scope}.{name}") for scope in (interface, "all")]
    numbers = [value for value in values if not isinstance(value, Skipped)]
    return max(numbers) if numbers else values[0]


def _known(cluster: Cluster) -> list[Rails]:
    """Those whose ARP settings are known."""
    return [
        (seen, shared)
        for seen, shared in _rails(cluster)
        if not any(
            isinstance(setting(seen, place.interface.name, name), Skipped)
            for place in shared
            for name, _ in WANTED
        )
    ]


def _sends_its_own(seen: KnownNode, place: Place) -> bool:
    """Whether rules are known, and what comes from its address leaves by it."""
    route = chosen_route(seen.inventory, place.ip, str(place.subnet.network_address))
    mine = route is not None and route.interface == place.interface.name
    return bool(seen.inventory.rules) and mine


def _arp(rails: Rails) -> Iterator[Finding]:
    """Where rules make each interface send what comes from its address, its ARP requests have that
    address too: arp_announce then has nothing to correct."""
    seen, shared = rails
    if all(setting(seen, place.interface.name, "arp_filter") == 1.0 for place in shared):
        return
    needed = WANTED[:1] if all(_sends_its_own(seen, place) for place in shared) else WANTED
    lacking = [
        (place.interface.name, name, wanted)
        for place in shared
        for name, wanted in needed
        if setting(seen, place.interface.name, name) < wanted  # type: ignore[operator]
    ]
    if not lacking:
        return
    below = (f"{seen.name}: {name} of {place} is below {least}" for place, name, least in lacking)
    mends = (
        Command(seen.name, ("sysctl", "-w", f"net.ipv4.conf.{interface}.{name}={wanted}"))
        for interface, name, wanted in dict.fromkeys(lacking)
        if "=" not in interface
    )
    names = listed(list(dict.fromkeys(place.interface.name for place in shared)))
    yield found(
        Severity.WARN, seen, f"answers ARP for {names} on any of them",
        *(place.told for place in shared), *below, mends=mends,
    )  # fmt: skip


ARP = Check(
    "arp",
    "Interfaces in one subnet answer ARP for their own addresses only",
    "Linux answers for all of a node's addresses on any interface: traffic for one rail then goes"
    " to another one.",
    _known,
    lambda cluster: (
        "no node with two interfaces in one subnet says how it answers ARP"
        if _rails(cluster)
        else "no node has two interfaces in one subnet"
    ),
    each(_arp),
    "set arp_ignore=1 and arp_announce=2 for these interfaces, in /etc/sysctl.d as well, or put"
    " each rail into a subnet of its own",
)

WHY_OF_RAILS = (
    "What this rail should send goes by another one: it carries nothing, and the other one twice"
    " its part; where rp_filter is strict the kernel drops what comes in."
)

ROUTES = "remove the other route, or give it a higher metric; look at ip route get ADDRESS"
RULES = (
    "have a table of its own for each rail and a rule for its address (ip rule), where routes are"
    " configured as well, or put each rail into a subnet of its own"
)

#: Tables that the mending commands make are numbered from here: the first 256 may have names
#: (iproute2, etc/iproute2/rt_tables).
LEAST_TABLE = 1001

#: rp_filter 1 drops what would not leave by the same interface, 2 what has no route at all
#: (Linux, Documentation/networking/ip-sysctl.rst; RFC 3704).
STRICT = 1.0


def _reverse_path(cluster: Cluster, known: list[MemberPort]) -> Iterator[Finding]:
    """Of rails in one subnet the main table prefers one. Where a node did not say its rules
    (``ip rule``), they may choose another table by the source: those that get answers pass."""
    rails = {(net.name, one.node, one.interface) for net in cluster.networks for one in net.members}
    answered = {
        (ping.source, ping.source_ip)
        for ping in cluster.preflight.pings
        if ping.received and not ping.whole
    }
    for end in known:
        told: set[str] = set()
        for ip in _asked(end):
            route = chosen_route(end.seen.inventory, end.ip, ip)
            if route is None or route.interface in (end.interface.name, *told):
                continue
            tried = (end.seen.name, end.ip) in answered
            rail = (end.net, end.seen.name, route.interface) in rails
            if end.seen.inventory.rules or not (tried and rail):
                told.add(route.interface)
                yield _finding(end, ip, route, rail)


def _asked(end: MemberPort) -> Iterator[str]:
    """One partner, which stands for the subnet, and those that a route to less of it leads to."""
    others = [
        one.ip for one in end.network.members if one.node != end.seen.name and one.ip != end.ip
    ]
    yield from others[:1]
    whole = ipaddress.ip_network(end.network.subnet)
    inventory = end.seen.inventory
    every = {route.destination for route in (*inventory.routes, *inventory.tables)}
    nets = (_network(destination, whole.version) for destination in every)
    narrow = [net for net in nets if net is not None and net.prefixlen > whole.prefixlen]
    if narrow:
        yield from (
            ip for ip in others[1:] if any(ipaddress.ip_address(ip) in net for net in narrow)
        )


def _finding(end: MemberPort, ip: str, route: Route, rail: bool) -> Finding:
    """``rail``: the packets leave by another link into the same network. By a link into another
    one MPI cannot start: peers refuse what comes from an address that they were not told."""
    known = bool(end.seen.inventory.rules)
    strict = setting(end.seen, end.interface.name, "rp_filter") == STRICT
    table = "" if route.table == "main" else f" table {route.table}"
    whose = f"packets of {end.interface.name}" if rail else "packets"
    return found(
        Severity.FAIL if strict or (known and not rail) else Severity.WARN, end,
        f"{whose} to {end.net} leave by {route.interface}",
        f"{end.where} {end.ip} is in {end.net}; {ip} is reached by {route.interface}",
        f"route {route.destination} dev {route.interface} metric {route.metric}{table}",
        *[f"{end.where}: rp_filter is strict (1)"] * strict,
        remedy=RULES if rail else ROUTES, why=WHY_OF_RAILS if rail else "",
        mends=_own_table(end) if rail else (),
    )  # fmt: skip


def _own_table(end: MemberPort) -> Iterator[Command]:
    """A table for the interface, asked for what comes from its address."""
    inventory = end.seen.inventory
    taken = {rule.table for rule in inventory.rules} | {one.table for one in inventory.tables}
    places = [one.name for one in end.seen.node.interfaces]
    free = [str(number) for number in range(LEAST_TABLE, LEAST_TABLE + len(taken) + len(places))]
    table = [number for number in free if number not in taken][places.index(end.interface.name)]
    route = (str(end.subnet), "dev", end.interface.name, "src", end.ip, "table", table)
    rule = ("from", end.ip, "lookup", table, "priority", table)
    yield Command(end.seen.name, ("ip", "route", "replace", *route))
    yield Command(end.seen.name, ("ip", "rule", "add", *rule))


REVERSE_PATH = Check(
    "reverse-path",
    "Packets to a network's members leave by the interface that is in it",
    "Traffic meant for the fast network takes another one, and where rp_filter is strict the kernel"
    " drops what comes in.",
    lambda cluster: [end for end in cluster.ends if end.seen.inventory.routes],
    "no node says its routes",
    _reverse_path,
    reads=("echoes",),
)


def chosen_route(inventory: Inventory, source: str, ip: str) -> Route | None:
    """The route of packets from ``source``, an own address, to ``ip``; None where there is none.

    Rules are asked in their order, and the first whose table has a route decides (Linux 6.12,
    net/core/fib_rules.c). Without known rules the main table is all there is.
    """
    if not inventory.rules:
        return best_route(inventory.routes, ip)
    for rule in inventory.rules:
        if _within(source, rule.source) and _within(ip, rule.destination):
            own = [route for route in inventory.tables if route.table == rule.table]
            found = best_route(inventory.routes if rule.table == "main" else own, ip)
            if found is not None:
                return found
    return None


def best_route(routes: Iterable[Route], ip: str) -> Route | None:
    """The most specific route to an address, of several the one with the lowest metric."""
    address = ipaddress.ip_address(ip)
    found = [
        (-net.prefixlen, route.metric, place, route)
        for place, route in enumerate(routes)
        if (net := _network(route.destination, address.version)) is not None and address in net
    ]
    return min(found)[3] if found else None


def _within(ip: str, subnet: str) -> bool:
    if subnet == "all":
        return True
    net = _network(subnet, ipaddress.ip_address(ip).version)
    return net is not None and ipaddress.ip_address(ip) in net


def _network(destination: str, version: int) -> Subnet | None:
    """``default`` or a subnet; None for what is neither, or of the other version."""
    text = ("0.0.0.0/0" if version == 4 else "::/0") if destination == "default" else destination
    try:
        net = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    return net if net.version == version else None
