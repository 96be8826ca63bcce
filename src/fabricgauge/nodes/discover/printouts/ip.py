"""``ip addr``, ``link``, ``route``, ``rule`` → interfaces, routes, and the rules of tables; pure.

As iproute2 6.1 prints them, as text or with ``-j``.

Only ``-d`` names the kind of a link. Without it, bridges and links of containers and guests are
known by their ports and by the names that their programs give them.

Routes that lead nowhere (``blackhole``, ``unreachable``) and routes to the node itself are left
out; one with several next hops gives a route for each. A rule that looks at more than the addresses
of a packet (its interface, mark, port, user) or leads to no table is left out: packets that a
program sends by default match none of these.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import ProbeError
from fabricgauge.model.fabric import NO_IPOIB, Interface
from fabricgauge.model.inventory import Route, RoutingRule
from fabricgauge.model.ip_link import IpLink
from fabricgauge.nodes.discover.parse_probe import (
    MEDIUM,
    parse_addresses,
    parse_ipoib_port,
    parse_links_json,
    parse_links_text,
)
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    parse_entries,
    parse_whole,
    split_lines,
    to_table,
    to_word,
)
from fabricgauge.nodes.discover.sections import AnswerSection

_TOOL = "ip addr"
_ABSENT = Skipped(f"{_TOOL} does not give it")

#: Names that programs give to links without a cable: Docker ("Bridge network driver"), libvirt
#: (virbr), Podman, LXD, CNI plugins; Calico, containers' ends; OpenVPN.
_NAMES = (
    (re.compile(r"(?:docker|virbr|lxcbr|lxdbr|podman|cni)\d+|br-[0-9a-f]{12}"), "bridge"),
    (re.compile(r"(?:veth|cali)\w+|vnet\d+"), "veth"),
    (re.compile(r"(?:tun|tap)\d+"), "tun"),
)


def parse_interfaces(text: str, argument: str = "") -> Parts:
    """Return the interfaces in the order of the printout."""
    section = AnswerSection("", _TOOL, 1, tuple(split_lines(text)))
    try:
        is_json = text.lstrip()[:1] == "["
        links = parse_links_json(section) if is_json else parse_links_text(section)
        interfaces = tuple(_build_interface(section, link, links) for link in links)
    except ProbeError as error:
        return Parts(troubles=(str(error).partition("; see")[0].removeprefix(": "),))
    return Parts(printed_interfaces=interfaces)


def _build_interface(section: AnswerSection, link: IpLink, links: Iterable[IpLink]) -> Interface:
    off = Skipped(f"{link.name} is switched off (ip link set {link.name} up)")
    return Interface(
        name=link.name,
        driver=_find_driver(link, links),
        operstate=link.operstate.lower(),
        carrier="LOWER_UP" in link.flags if link.up else off,
        speed_bit_s=_ABSENT,
        mtu_bytes=link.mtu_bytes,
        mac=link.mac,
        addresses=parse_addresses(section, link),
        shaper=_ABSENT,
        numa_node=_ABSENT,
        ipoib=parse_ipoib_port(link.name, {}) if link.medium == MEDIUM else NO_IPOIB,
        master=link.master,
        parent=link.parent,
    )


def _find_driver(link: IpLink, links: Iterable[IpLink]) -> str | Skipped:
    """Return the kind of a link, by its own line, its ports or its name; a bond has MASTER."""
    if link.kind:
        return link.kind
    if "LOOPBACK" in link.flags:
        return "loopback"
    if "MASTER" in link.flags:
        return "bonding"
    if any(port.master == link.name for port in links):
        return "bridge"
    names = (driver for pattern, driver in _NAMES if pattern.fullmatch(link.name))
    return next(names, _ABSENT)


_IP_ROUTE = "ip route"
#: Types of ip-route(8) that precede the destination; the first may be left out.
_UNICAST = "unicast"
_TYPES = frozenset(
    {"local", "broadcast", "multicast", "anycast", "nat", "blackhole", "unreachable", "prohibit",
     "throw", "unspec"}
)  # fmt: skip
#: A destination is an address, a subnet or ``default``; any other word begins a message.
_ROUTE = re.compile(
    rf"(?:({'|'.join((_UNICAST, *sorted(_TYPES)))})\s+)?"
    r"(default|(?=\S*[0-9])[0-9a-fA-F:./]{1,60})(?!\S)"
)
#: Numbers and names of two tables (iproute2, etc/iproute2/rt_tables).
_MAIN, _LOCAL = ("", "main", "254"), ("local", "255")
#: Words without a value (iproute2, ip/iproute.c).
_FLAGS = frozenset(
    {"onlink", "pervasive", "dead", "linkdown", "offload", "trap", "rt_offload", "unresolved"}
)


def parse_routes(text: str, argument: str = "") -> Parts:
    """Return routes in the order of the table; a metric that is not shown is 0."""
    entries, troubles = parse_entries(_IP_ROUTE, text, _parse_route_object, _parse_route_text)
    routes = [route for entry, hops in entries for route in _make_routes(entry, hops)]
    return Parts(
        routes=tuple(route for route in routes if route.table == "main"),
        tables=tuple(route for route in routes if route.table != "main"),
        troubles=troubles,
    )


_Values = dict[str, str]


def _parse_route_object(entry: dict[str, object]) -> Iterator[tuple[_Values, list[_Values]]]:
    hops, via = entry.get("nexthops"), entry.get("via")
    gateway = {"gateway": to_table(via).get("host", "")} if via else {}
    yield (
        {**to_table(entry), **gateway},
        [to_table(hop) for hop in hops] if isinstance(hops, list) else [],
    )


def _make_routes(entry: dict[str, str], hops: Iterable[dict[str, str]]) -> Iterator[Route]:
    name = entry.get("table", "")
    if entry.get("type", _UNICAST) != _UNICAST or name in _LOCAL:
        return
    table = "main" if name in _MAIN else name
    for hop in hops or [entry]:
        metric = parse_whole(entry.get("metric", "0"), "the metric", largest=(1 << 32) - 1)
        if hop.get("dev") and entry.get("dst") and isinstance(metric, int):
            yield Route(
                entry["dst"], hop["dev"], hop.get("gateway", ""), entry.get("prefsrc", ""), metric,
                table,
            )  # fmt: skip


def _parse_route_text(text: str) -> Iterator[tuple[_Values, list[_Values]]]:
    route: tuple[_Values, list[_Values]] | None = None
    for line in split_lines(text):
        match = _ROUTE.match(line)
        if route and line.split()[:1] == ["nexthop"]:
            route[1].append(_parse_route_values(line.split()[1:]))
        elif match:
            head = {"dst": match[2], **({"type": match[1]} if match[1] else {})}
            route = {**_parse_route_values(line[match.end() :].split()), **head}, []
            yield route


def _parse_route_values(words: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    remaining = iter(word for word in words if word not in _FLAGS)
    for word in remaining:
        key = {"via": "gateway", "src": "prefsrc"}.get(word, word)
        value = next(remaining, "")
        if word == "via" and value in ("inet", "inet6"):
            value = next(remaining, "")
        values.setdefault(key, value)
    return values


_IP_RULE = "ip rule"

#: The keys of a rule on addresses alone; ``protocol`` is its origin (iproute2, ip/iprule.c).
_JSON_KEYS = frozenset({"priority", "src", "srclen", "dst", "dstlen", "table", "protocol"})
_WORDS = frozenset({"from", "to", "lookup", "proto"})
_ALL = "all"


def parse_rules(text: str, argument: str = "") -> Parts:
    """Return rules in the order in which the kernel applies them."""
    entries, troubles = parse_entries(_IP_RULE, text, _parse_rule_object, _parse_rule_text)
    rules = sorted((rule for entry in entries for rule in entry), key=lambda rule: rule.priority)
    return Parts(rules=tuple(rules), troubles=troubles)


def _parse_rule_object(entry: dict[str, object]) -> Iterator[Iterable[RoutingRule]]:
    values = to_table(entry)
    if set(map(to_word, entry)) <= _JSON_KEYS:
        lengths = {key: values.get(f"{key}len", "") for key in ("src", "dst")}
        source, destination = (
            values.get(key, _ALL) + (f"/{length}" if length else "")
            for key, length in lengths.items()
        )
        table = values.get("table", "")
        yield _make_rule(values.get("priority", ""), source, destination, table)


def _parse_rule_text(text: str) -> Iterator[Iterable[RoutingRule]]:
    """Read ``32766:	from all lookup main``; any other line is not a rule."""
    for line in split_lines(text):
        number, colon, condition = line.partition(":")
        words = condition.split()
        values = dict(zip(words[::2], words[1::2], strict=False))
        if not colon or not number.isascii() or not number.isdigit():
            continue
        is_by_address = len(words) % 2 == 0 and set(values) <= _WORDS
        source, destination = values.get("from", _ALL), values.get("to", _ALL)
        table = values.get("lookup", "")
        yield _make_rule(number, source, destination, table) if is_by_address else ()


def _make_rule(priority: str, source: str, destination: str, table: str) -> Iterator[RoutingRule]:
    number = parse_whole(priority, "the priority", largest=(1 << 32) - 1)
    if not isinstance(number, Skipped) and table:
        yield RoutingRule(number, source, destination, table)
