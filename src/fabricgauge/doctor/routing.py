"""Which route a node's packets take: its rules, then the tables that they name."""

import ipaddress
from collections.abc import Iterable

from fabricgauge.model.inventory import Inventory, Route

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


def chosen_route(inventory: Inventory, source: str, ip: str) -> Route | None:
    """The route of packets from ``source``, an own address, to ``ip``; None where there is none.

    Rules are asked in their order, and the first whose table has a route decides (Linux 6.12,
    net/core/fib_rules.c). Without known rules the main table is all there is.
    """
    if not inventory.rules:
        return best_route(inventory.routes, ip)
    for rule in inventory.rules:
        if _within(source, rule.source) and _within(ip, rule.destination):
            found = best_route(_of_table(inventory, rule.table), ip)
            if found is not None:
                return found
    return None


def _of_table(inventory: Inventory, name: str) -> Iterable[Route]:
    if name == "main":
        return inventory.routes
    return (route for route in inventory.tables if route.table == name)


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
