"""Do packets to a network leave by the interface that is in it?"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.doctor.checks.arp import setting
from fabricgauge.doctor.places import End, ends
from fabricgauge.doctor.routing import chosen_route
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Route
from fabricgauge.model.preflight import Preflight

ID = "reverse-path"
TITLE = "Packets to a network's members leave by the interface that is in it"
WHY = (
    "Traffic meant for the fast network takes another one, and where rp_filter is strict the kernel"
    " drops what comes in."
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


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    known = [end for end in ends(preflight) if end.seen.inventory.routes]
    if not known:
        return Skipped("no node says its routes")
    rails = {
        (network.name, member.node, member.interface)
        for network in preflight.fabric.networks
        for member in network.members
    }
    answered = {
        (ping.source, ping.source_ip)
        for ping in preflight.pings
        if ping.received and not ping.whole
    }
    return tuple(found for end in known for found in _look(end, rails, answered))


def _look(
    end: End, rails: set[tuple[str, str, str]], answered: set[tuple[str, str]]
) -> Iterator[Finding]:
    """Of rails in one subnet the main table prefers one. Where a node did not say its rules
    (``ip rule``), they may choose another table by the source: those that get answers pass."""
    for member in end.network.members:
        if member.node == end.seen.name or member.ip == end.ip:
            continue
        route = chosen_route(end.seen.inventory, end.ip, member.ip)
        if route is not None and route.interface != end.interface.name:
            tried = (end.seen.name, end.ip) in answered
            rail = (end.network.name, end.seen.name, route.interface) in rails
            if end.seen.inventory.rules or not (tried and rail):
                yield _finding(end, member.ip, route, rail)
        return  # one partner stands for the subnet


def _finding(end: End, ip: str, route: Route, rail: bool) -> Finding:
    """``rail``: the packets leave by another link into the same network."""
    strict = setting(end.seen, end.interface.name, "rp_filter") == STRICT
    told = [f"{end.where} {end.ip} is in {end.network.name}; {ip} is reached by {route.interface}"]
    table = "" if route.table == "main" else f" table {route.table}"
    told.append(f"route {route.destination} dev {route.interface} metric {route.metric}{table}")
    told += [f"{end.where}: rp_filter is strict (1)"] * strict
    whose = f"packets of {end.interface.name}" if rail else "packets"
    return Finding(
        ID, Severity.FAIL if strict else Severity.WARN, end.where,
        f"{whose} to {end.network.name} leave by {route.interface}", tuple(told),
        WHY_OF_RAILS if rail else WHY, RULES if rail else ROUTES,
        (end.seen.name,), end.network.name, tuple(_own_table(end)) if rail else (),
    )  # fmt: skip


def _own_table(end: End) -> Iterator[Command]:
    """A table for the interface, asked for what comes from its address."""
    inventory = end.seen.inventory
    taken = {rule.table for rule in inventory.rules} | {one.table for one in inventory.tables}
    places = [one.name for one in end.seen.node.interfaces]
    free = [str(number) for number in range(LEAST_TABLE, LEAST_TABLE + len(taken) + len(places))]
    table = [number for number in free if number not in taken][places.index(end.interface.name)]
    length = next((one.prefix_length for one in end.interface.addresses if one.ip == end.ip), 0)
    subnet = str(ipaddress.ip_interface(f"{end.ip}/{length}").network)
    route = (subnet, "dev", end.interface.name, "src", end.ip, "table", table)
    rule = ("from", end.ip, "lookup", table, "priority", table)
    yield Command(end.seen.name, ("ip", "route", "replace", *route))
    yield Command(end.seen.name, ("ip", "rule", "add", *rule))
