"""Which nodes and pairs carry nothing, from the connections that failed; pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

import msgspec

from fabricgauge.model.connectivity import Connectivity, FailedConnection
from fabricgauge.model.groups import grouped

#: A node is named when it fails with more than this share of its partners. Of three nodes a dead
#: pair fails with one of two each, so exactly half names the pair.
NODE_SHARE = 0.5


class Dead(msgspec.Struct, frozen=True):
    """What carries nothing, in words, and the nodes to touch.

    It is a node that fails with most of its partners; a pair that does not connect, while each
    reaches most others; an address of the first of ``nodes`` at which the second answers; or a
    network in which no pair of three or more nodes works: no node is more at fault than another.
    """

    kind: Literal["node", "pair", "address", "network"]
    nodes: tuple[str, ...]
    what: str = ""
    evidence: tuple[FailedConnection, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Those at which it shows."""
        return self.nodes[:1] if self.kind == "address" else self.nodes


def dead(of: Connectivity) -> tuple[Dead, ...]:
    """The fewest nodes and pairs that explain every failure: addresses, then nodes, then pairs.

    The node that fails with the largest share of its partners is named first, and its failures
    are explained by it; so two dead nodes do not accuse their healthy partners.
    """
    taken = tuple(_taken(of.failures))
    wrong = {failure.target_ip for one in taken for failure in one.evidence}
    rest = [one for one in of.failures if not {one.source_ip, one.target_ip} & wrong]
    everybody = tuple(node for node, tried in of.tried.items() if tried)
    pairs = {frozenset((one.source, one.target)) for one in rest}
    if len(everybody) > 2 and 2 * len(pairs) == sum(of.tried.values()):
        what = _what("between any two nodes", rest)
        return (*taken, Dead("network", everybody, what, tuple(rest)))
    nodes: list[Dead] = []
    while found := _worst(of, rest, len(nodes)):
        nodes.append(found)
        rest = [one for one in rest if found.nodes[0] not in (one.source, one.target)]
    return (*taken, *nodes, *_pairs(rest))


def _taken(failures: Iterable[FailedConnection]) -> Iterator[Dead]:
    taken = (one for one in failures if one.how == "other node")
    by = grouped(taken, lambda one: (one.target, one.target_ip, one.answered_by))
    for (node, ip, other), same in sorted(by.items()):
        yield Dead("address", (node, other), f"{other} answers at its address {ip}", same)


def _worst(of: Connectivity, failures: list[FailedConnection], named: int) -> Dead | None:
    """The node that fails with the largest share of partners that are not named, if with most."""
    partners: dict[str, set[str]] = defaultdict(set)
    for one in failures:
        partners[one.source].add(one.target)
        partners[one.target].add(one.source)
    left = {node: max(1, of.tried.get(node, 0) - named) for node in partners}
    share = {node: len(failing) / left[node] for node, failing in partners.items()}
    if not share:
        return None
    node = max(sorted(share), key=lambda one: (share[one], len(partners[one])))
    if share[node] <= NODE_SHARE or len(partners[node]) < 2:
        return None
    own = tuple(one for one in failures if node in (one.source, one.target))
    failing = f"{len(partners[node])} of {left[node]} nodes"
    away = sum(one.source == node for one in own)
    what = _what(f"between it and {failing}", own)
    if away in (0, len(own)) and not _are_cut(own):
        what = f"{failing} cannot connect to it; it can connect to them"
        if away:
            what = f"it cannot connect to {failing}; they can connect to it"
    return Dead("node", (node,), what, own)


def _pairs(failures: Iterable[FailedConnection]) -> Iterator[Dead]:
    """The source of the first failure comes first."""
    by = grouped(failures, lambda one: tuple(sorted((one.source, one.target))))
    for _, same in sorted(by.items()):
        source, target = same[0].source, same[0].target
        what = _what("between them", same)
        if len({one.source for one in same}) == 1 and not _are_cut(same):
            what = f"{source} cannot connect to {target}; the other way works"
        yield Dead("pair", (source, target), what, same)


def _what(between: str, failures: Iterable[FailedConnection]) -> str:
    """What does not work: connections, or only the data on connections that open."""
    if _are_cut(failures):
        return f"TCP connects {between}, but data do not arrive: an MTU on the way may be too small"
    return f"no TCP connection works {between}"


def _are_cut(failures: Iterable[FailedConnection]) -> bool:
    """Check whether all connections opened, and then no data arrived."""
    return all(one.how == "no data" for one in failures)


def left_out(nodes: Collection[str], found: Collection[Dead]) -> tuple[str, ...]:
    """The fewest nodes without which all others can be measured together, most pairs first."""
    gone, pairs = _gone(nodes, found)
    while pairs:
        count = Counter(node for pair in pairs for node in pair)
        node = max(sorted(count), key=lambda one: count[one])
        gone.add(node)
        pairs = [pair for pair in pairs if node not in pair]
    return tuple(node for node in nodes if node in gone)


def partner(node: str, nodes: Collection[str], found: Collection[Dead]) -> str:
    """A node that ``node`` can be measured with although it is in a dead pair; "" where none is."""
    gone, pairs = _gone(nodes, found)
    good = (one for one in nodes if one != node and one not in gone and {node, one} not in pairs)
    return "" if node in gone else next(good, "")


def _gone(nodes: Collection[str], found: Collection[Dead]) -> tuple[set[str], list[set[str]]]:
    """Nodes that work with nobody, and dead pairs of others."""
    if any(one.kind == "network" for one in found):
        return {*nodes}, []
    gone = {node for one in found if one.kind != "pair" for node in one.nodes}
    pairs = [{*one.nodes} for one in found if one.kind == "pair"]
    return gone, [pair for pair in pairs if not pair & gone]
