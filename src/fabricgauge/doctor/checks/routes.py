"""Do packets leave and arrive by the interface that is in the network? pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import combinations

from fabricgauge.doctor.checks import Check, examine_separately, make_finding
from fabricgauge.doctor.checks.subnets import list_subnet_places, overlap
from fabricgauge.doctor.places import Cluster, KnownNode, MemberInterface, Place, Subnet
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.inventory import Inventory, Route
from fabricgauge.model.words.sentences import listed

#: Required ARP settings: the interface answers for its own address only, and its requests have its
#: own address as their source (Linux, Documentation/networking/ip-sysctl.rst).
REQUIRED = (("arp_ignore", 1), ("arp_announce", 2))


Rails = tuple[KnownNode, tuple[Place, ...]]


def _find_rails(cluster: Cluster) -> list[Rails]:
    """Return nodes with several interfaces in one subnet, and these interfaces."""
    rails = []
    for node in cluster.nodes:
        places = tuple(list_subnet_places(node))
        pairs = [pair for pair in combinations(places, 2) if overlap(*pair)]
        node_rails = tuple(place for place in places if any(place in pair for pair in pairs))
        rails += [(node, node_rails)] if node_rails else []
    return rails


def get_setting(node: KnownNode, interface: str, name: str) -> float | Skipped:
    """Return the larger of the interface's own value and that of ``all`` (ip-sysctl.rst)."""
    values = [node.get_number(f"net.ipv4.conf.{scope}.{name}") for scope in (interface, "all")]
    numbers = [value for value in values if not isinstance(value, Skipped)]
    return max(numbers) if numbers else values[0]


def _find_rails_with_settings(cluster: Cluster) -> list[Rails]:
    rails = []
    for node, places in _find_rails(cluster):
        keys = ((place.interface.name, name) for place in places for name, _ in REQUIRED)
        if not any(isinstance(get_setting(node, *key), Skipped) for key in keys):
            rails.append((node, places))
    return rails


def _has_own_route(node: KnownNode, place: Place) -> bool:
    route = choose_route(node.inventory, place.ip, str(place.subnet.network_address))
    is_own = route is not None and route.interface == place.interface.name
    return bool(node.inventory.rules) and is_own


def _examine_arp(rails: Rails) -> Iterator[Finding]:
    """Report rails that answer ARP for each other.

    If rules make each interface send the packets from its address, its ARP requests have that
    address too, and arp_announce has nothing to correct.
    """
    node, places = rails
    if all(get_setting(node, place.interface.name, "arp_filter") == 1.0 for place in places):
        return
    has_rules = all(_has_own_route(node, place) for place in places)
    too_low = [
        (place.interface.name, name, minimum)
        for place in places
        for name, minimum in (REQUIRED[:1] if has_rules else REQUIRED)
        if get_setting(node, place.interface.name, name) < minimum  # type: ignore[operator]
    ]
    names = listed(list(dict.fromkeys(place.interface.name for place in places)))
    if too_low:
        yield make_finding(
            Severity.WARN, node, f"answers ARP for {names} on any of them",
            *(place.description for place in places),
            *(f"{node.name}: {name} of {interface} is below {minimum}"
              for interface, name, minimum in too_low),
            mends=(
                Command(node.name, ("sysctl", "-w", f"net.ipv4.conf.{interface}.{name}={minimum}"))
                for interface, name, minimum in dict.fromkeys(too_low)
                if "=" not in interface
            ),
        )  # fmt: skip


ARP = Check(
    "arp",
    "Interfaces in one subnet answer ARP for their own addresses only",
    "Linux answers for all of a node's addresses on any interface: traffic for one rail then goes"
    " to another one.",
    _find_rails_with_settings,
    lambda cluster: (
        "no node with two interfaces in one subnet reports its ARP settings"
        if _find_rails(cluster)
        else "no node has two interfaces in one subnet"
    ),
    examine_separately(_examine_arp),
    "set arp_ignore=1 and arp_announce=2 for these interfaces, also in /etc/sysctl.d, or put each"
    " rail into its own subnet",
)

RAILS_WHY = (
    "This rail's packets leave by another rail: this one sends nothing, and the other one twice its"
    " part; if rp_filter is strict the kernel drops incoming packets."
)

CHANGE_ROUTE = "remove the other route, or give it a higher metric; look at ip route get ADDRESS"
ADD_RULES = (
    "give each rail its own table and a rule for its address (ip rule), also in the configuration"
    " of routes, or put each rail into its own subnet"
)

#: Tables that the mending commands make are numbered from here: the first 256 may have names
#: (iproute2, etc/iproute2/rt_tables).
MIN_TABLE = 1001

#: rp_filter 1 drops what would not leave by the same interface, 2 what has no route at all
#: (Linux, Documentation/networking/ip-sysctl.rst; RFC 3704).
STRICT = 1.0


def _examine_reverse_paths(cluster: Cluster, endpoints: list[MemberInterface]) -> Iterator[Finding]:
    """Report endpoints whose packets leave by another interface.

    The main table prefers one of several rails in one subnet. Rules (``ip rule``) may choose
    another table by source: if a node's rules are unknown, rails that get answers are not reported.
    """
    rails = {
        (network.name, member.node, member.interface)
        for network in cluster.networks
        for member in network.members
    }
    answered = {
        (ping.source, ping.source_ip)
        for ping in cluster.preflight.pings
        if ping.received and not ping.whole
    }
    for endpoint in endpoints:
        node = endpoint.node
        reported: set[str] = set()
        for ip in _list_partner_ips(endpoint):
            route = choose_route(node.inventory, endpoint.ip, ip)
            if route is None or route.interface in (endpoint.interface.name, *reported):
                continue
            is_answered = (node.name, endpoint.ip) in answered
            is_rail = (endpoint.network_name, node.name, route.interface) in rails
            if node.inventory.rules or not (is_answered and is_rail):
                reported.add(route.interface)
                yield _report_wrong_route(endpoint, ip, route, is_rail)


def _list_partner_ips(endpoint: MemberInterface) -> Iterator[str]:
    """Yield one partner's address for the subnet, and each address with a narrower route."""
    partner_ips = [
        member.ip
        for member in endpoint.network.members
        if member.node != endpoint.node.name and member.ip != endpoint.ip
    ]
    yield from partner_ips[:1]
    subnet = ipaddress.ip_network(endpoint.network.subnet)
    inventory = endpoint.node.inventory
    destinations = {route.destination for route in (*inventory.routes, *inventory.tables)}
    targets = (_parse_subnet(destination, subnet.version) for destination in destinations)
    narrower = [target for target in targets if target and target.prefixlen > subnet.prefixlen]
    for ip in partner_ips[1:] if narrower else ():
        address = ipaddress.ip_address(ip)
        if any(address in target for target in narrower):
            yield ip


def _report_wrong_route(endpoint: MemberInterface, ip: str, route: Route, is_rail: bool) -> Finding:
    """Report the interface by which packets leave.

    ``is_rail``: it is a link into the same network. By a link into another network MPI cannot
    start: peers refuse connections from an address that they do not expect.
    """
    node, interface, network = endpoint.node, endpoint.interface.name, endpoint.network_name
    has_rules = bool(node.inventory.rules)
    is_strict = get_setting(node, interface, "rp_filter") == STRICT
    table = "" if route.table == "main" else f" table {route.table}"
    packets = f"packets of {interface} to {network}" if is_rail else f"packets to {network}"
    return make_finding(
        Severity.FAIL if is_strict or (has_rules and not is_rail) else Severity.WARN, endpoint,
        f"{packets} leave by {route.interface}",
        f"{endpoint.label} {endpoint.ip} is in {network}; {ip} is reached by {route.interface}",
        f"route {route.destination} dev {route.interface} metric {route.metric}{table}",
        *[f"{endpoint.label}: rp_filter is strict (1)"] * is_strict,
        remedy=ADD_RULES if is_rail else CHANGE_ROUTE, why=RAILS_WHY if is_rail else "",
        mends=_make_table(endpoint) if is_rail else (),
    )  # fmt: skip


def _make_table(endpoint: MemberInterface) -> Iterator[Command]:
    """Yield the commands for a table of the interface, and a rule for packets from its address."""
    node, inventory = endpoint.node, endpoint.node.inventory
    used_tables = {rule.table for rule in inventory.rules}
    used_tables |= {route.table for route in inventory.tables}
    interfaces = [interface.name for interface in node.probe.interfaces]
    numbers = range(MIN_TABLE, MIN_TABLE + len(used_tables) + len(interfaces))
    free_tables = [str(number) for number in numbers if str(number) not in used_tables]
    table = free_tables[interfaces.index(endpoint.interface.name)]
    route = (
        str(endpoint.subnet), "dev", endpoint.interface.name, "src", endpoint.ip, "table", table
    )  # fmt: skip
    rule = ("from", endpoint.ip, "lookup", table, "priority", table)
    yield Command(node.name, ("ip", "route", "replace", *route))
    yield Command(node.name, ("ip", "rule", "add", *rule))


REVERSE_PATH = Check(
    "reverse-path",
    "Packets to a network's members leave by the interface that is in it",
    "Traffic for the fast network takes another one, and if rp_filter is strict the kernel drops"
    " incoming packets.",
    lambda cluster: [endpoint for endpoint in cluster.endpoints if endpoint.node.inventory.routes],
    "no node reports its routes",
    _examine_reverse_paths,
    trials=("echoes",),
)


def choose_route(inventory: Inventory, source: str, ip: str) -> Route | None:
    """Return the route of packets from the node's address ``source`` to ``ip``, if any.

    The first rule whose table has a route decides (Linux 6.12, net/core/fib_rules.c). If rules are
    unknown, only the main table counts.
    """
    if not inventory.rules:
        return find_best_route(inventory.routes, ip)
    for rule in inventory.rules:
        if _is_within(source, rule.source) and _is_within(ip, rule.destination):
            table = [route for route in inventory.tables if route.table == rule.table]
            route = find_best_route(inventory.routes if rule.table == "main" else table, ip)
            if route is not None:
                return route
    return None


def find_best_route(routes: Iterable[Route], ip: str) -> Route | None:
    """Return the most specific route to an address, with the lowest metric."""
    address = ipaddress.ip_address(ip)
    candidates = [
        (-subnet.prefixlen, route.metric, index, route)
        for index, route in enumerate(routes)
        if (subnet := _parse_subnet(route.destination, address.version)) is not None
        and address in subnet
    ]
    return min(candidates)[3] if candidates else None


def _is_within(ip: str, subnet: str) -> bool:
    address = ipaddress.ip_address(ip)
    network = _parse_subnet(subnet, address.version)
    return subnet == "all" or (network is not None and address in network)


def _parse_subnet(destination: str, version: int) -> Subnet | None:
    """Parse ``default`` or a subnet; return None for other text or the other IP version."""
    text = ("0.0.0.0/0" if version == 4 else "::/0") if destination == "default" else destination
    try:
        subnet = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    return subnet if subnet.version == version else None
