"""``ip route``, as text or with ``-j`` → routes of the main table and of others; pure.

As iproute2 6.1 prints them. Routes that lead nowhere (``blackhole``, ``unreachable``) and
those to the node itself are left out; one with several next hops gives a route for each.
"""

from collections.abc import Iterable, Iterator

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.json_documents import is_json, objects, table
from fabricgauge.discover.printouts.lines import broken_off, lines, unrecognised
from fabricgauge.model.inventory import Route

TOOL = "ip route"
#: Types of ip-route(8) that stand in front of the destination; the first may be left out.
_UNICAST = "unicast"
_TYPES = frozenset(
    {"local", "broadcast", "multicast", "anycast", "nat", "blackhole", "unreachable", "prohibit",
     "throw", "unspec"}
)  # fmt: skip
#: Numbers and names of two tables (iproute2, etc/iproute2/rt_tables).
_MAIN, _OWN = ("", "main", "254"), ("local", "255")
#: Words behind which no value stands (iproute2, ip/iproute.c).
_ALONE = frozenset(
    {"onlink", "pervasive", "dead", "linkdown", "offload", "trap", "rt_offload", "unresolved"}
)


def parse(text: str, argument: str = "") -> Parts:
    """Routes in the order of the table; a metric that is not shown is 0."""
    if is_json(text):
        read = objects(text)
        found = [route for entry in read.found for route in _of_json(entry)]
        return _parts(found, broken_off(TOOL, read.whole))
    entries = list(_entries(text))
    found = [route for entry, hops in entries for route in _routes(entry, hops)]
    return _parts(found, unrecognised(TOOL, text, entries))


def _parts(found: list[Route], troubles: tuple[str, ...]) -> Parts:
    main = tuple(route for route in found if route.table == "main")
    others = tuple(route for route in found if route.table != "main")
    return Parts(routes=main, tables=others, troubles=troubles)


def _of_json(entry: dict[str, object]) -> Iterator[Route]:
    hops = entry.get("nexthops")
    known = [table(hop) for hop in hops] if isinstance(hops, list) else []
    via = entry.get("via")
    words = {**table(entry), **({"gateway": table(via).get("host", "")} if via else {})}
    return _routes(words, known)


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


def _entries(text: str) -> Iterator[tuple[dict[str, str], list[dict[str, str]]]]:
    last: tuple[dict[str, str], list[dict[str, str]]] | None = None
    for line in lines(text):
        words = line.split()
        if last and words[:1] == ["nexthop"]:
            last[1].append(_values(words[1:]))
        elif words and not line[:1].isspace() and _is_route(words):
            last = _entry(words), []
            yield last


def _is_route(words: list[str]) -> bool:
    """A destination is an address, a subnet or ``default``; anything else is a message."""
    place = 1 if words[0] in _TYPES or words[0] == _UNICAST else 0
    first = words[place][:60] if len(words) > place else ""
    return first == "default" or (
        bool(first)
        and set(first) <= set("0123456789abcdefABCDEF:./")
        and any(map(str.isdigit, first))
    )


def _entry(words: list[str]) -> dict[str, str]:
    head: dict[str, str] = {}
    if words[0] in _TYPES or words[0] == _UNICAST:
        head, words = {"type": words[0]}, words[1:]
    return {**_values(words[1:]), **head, "dst": words[0]}


def _values(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = iter(word for word in words if word not in _ALONE)
    for word in left:
        key = {"via": "gateway", "src": "prefsrc"}.get(word, word)
        value = next(left, "")
        if word == "via" and value in ("inet", "inet6"):
            value = next(left, "")
        found.setdefault(key, value)
    return found
