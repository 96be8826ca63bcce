"""``ip route`` and ``ip rule``, as text or with ``-j`` → routes, and which table is asked; pure.

As iproute2 6.1 prints them. Routes that lead nowhere (``blackhole``, ``unreachable``) and
those to the node itself are left out; one with several next hops gives a route for each. A rule
that looks at more than the addresses of a packet (its interface, mark, port, user) or leads to no
table is left out: what a program sends by itself has none of these.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.lines import entries, lines, table, word
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Route, RoutingRule

_IP_ROUTE = "ip route"
#: Types of ip-route(8) that stand in front of the destination; the first may be left out.
_UNICAST = "unicast"
_TYPES = frozenset(
    {"local", "broadcast", "multicast", "anycast", "nat", "blackhole", "unreachable", "prohibit",
     "throw", "unspec"}
)  # fmt: skip
#: A destination is an address, a subnet or ``default``; anything else is a message.
_ROUTE = re.compile(
    rf"(?:({'|'.join((_UNICAST, *sorted(_TYPES)))})\s+)?"
    r"(default|(?=\S*[0-9])[0-9a-fA-F:./]{1,60})(?!\S)"
)
#: Numbers and names of two tables (iproute2, etc/iproute2/rt_tables).
_MAIN, _OWN = ("", "main", "254"), ("local", "255")
#: Words behind which no value stands (iproute2, ip/iproute.c).
_ALONE = frozenset(
    {"onlink", "pervasive", "dead", "linkdown", "offload", "trap", "rt_offload", "unresolved"}
)


def routes(text: str, argument: str = "") -> Parts:
    """Routes in the order of the table; a metric that is not shown is 0."""
    told, troubles = entries(_IP_ROUTE, text, _json_route, _text_routes)
    found = [route for entry, hops in told for route in _routes(entry, hops)]
    return Parts(
        routes=tuple(route for route in found if route.table == "main"),
        tables=tuple(route for route in found if route.table != "main"),
        troubles=troubles,
    )


_Words = dict[str, str]


def _json_route(entry: dict[str, object]) -> Iterator[tuple[_Words, list[_Words]]]:
    hops, via = entry.get("nexthops"), entry.get("via")
    gateway = {"gateway": table(via).get("host", "")} if via else {}
    yield (
        {**table(entry), **gateway},
        [table(hop) for hop in hops] if isinstance(hops, list) else [],
    )


def _routes(entry: dict[str, str], hops: Iterable[dict[str, str]]) -> Iterator[Route]:
    name = entry.get("table", "")
    if entry.get("type", _UNICAST) != _UNICAST or name in _OWN:
        return
    known = "main" if name in _MAIN else name
    for one in hops or [entry]:
        metric = figures.whole(entry.get("metric", "0"), "the metric", most=(1 << 32) - 1)
        if one.get("dev") and entry.get("dst") and isinstance(metric, int):
            yield Route(
                entry["dst"], one["dev"], one.get("gateway", ""), entry.get("prefsrc", ""), metric,
                known,
            )  # fmt: skip


def _text_routes(text: str) -> Iterator[tuple[_Words, list[_Words]]]:
    last: tuple[_Words, list[_Words]] | None = None
    for line in lines(text):
        found = _ROUTE.match(line)
        if last and line.split()[:1] == ["nexthop"]:
            last[1].append(_route_values(line.split()[1:]))
        elif found:
            known = {"dst": found[2], **({"type": found[1]} if found[1] else {})}
            last = {**_route_values(line[found.end() :].split()), **known}, []
            yield last


def _route_values(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = iter(word for word in words if word not in _ALONE)
    for first in left:
        key = {"via": "gateway", "src": "prefsrc"}.get(first, first)
        value = next(left, "")
        if first == "via" and value in ("inet", "inet6"):
            value = next(left, "")
        found.setdefault(key, value)
    return found


_IP_RULE = "ip rule"

#: What a rule on addresses alone has; ``protocol`` is who made it (iproute2, ip/iprule.c).
_JSON_KEYS = frozenset({"priority", "src", "srclen", "dst", "dstlen", "table", "protocol"})
_WORDS = frozenset({"from", "to", "lookup", "proto"})
_ALL = "all"


def rules(text: str, argument: str = "") -> Parts:
    """Rules in the order in which they are asked."""
    told, troubles = entries(_IP_RULE, text, _json_rule, _text_rules)
    found = sorted((rule for one in told for rule in one), key=lambda rule: rule.priority)
    return Parts(rules=tuple(found), troubles=troubles)


def _json_rule(entry: dict[str, object]) -> Iterator[Iterable[RoutingRule]]:
    values = table(entry)
    if set(map(word, entry)) <= _JSON_KEYS:
        lengths = {key: values.get(f"{key}len", "") for key in ("src", "dst")}
        source, destination = (
            values.get(key, _ALL) + (f"/{n}" if n else "") for key, n in lengths.items()
        )
        yield _rule(values.get("priority", ""), source, destination, values.get("table", ""))


def _text_rules(text: str) -> Iterator[Iterable[RoutingRule]]:
    """``32766:	from all lookup main``; anything else is no rule."""
    for line in lines(text):
        number, colon, rest = line.partition(":")
        words = rest.split()
        values = dict(zip(words[::2], words[1::2], strict=False))
        if not colon or not number.isascii() or not number.isdigit():
            continue
        known = len(words) % 2 == 0 and set(values) <= _WORDS
        source, destination = values.get("from", _ALL), values.get("to", _ALL)
        yield _rule(number, source, destination, values.get("lookup", "")) if known else ()


def _rule(priority: str, source: str, destination: str, name: str) -> Iterator[RoutingRule]:
    number = figures.whole(priority, "the priority", most=(1 << 32) - 1)
    if not isinstance(number, Skipped) and name:
        yield RoutingRule(number, source, destination, name)
