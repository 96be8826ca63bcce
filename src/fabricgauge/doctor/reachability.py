"""Which nodes and pairs carry nothing, from the connections that failed; pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from fabricgauge.model.connectivity import Connectivity, FailedConnection

#: A node is named when it fails with more than this share of its partners. Of three nodes a dead
#: pair fails with one of two each, so exactly half names the pair.
NODE_SHARE = 0.5

Way = Literal["both ways", "to it", "from it"]


class DeadNode(msgspec.Struct, frozen=True, tag="node"):
    """A node that fails with most of its ``partners``; ``failing`` are those."""

    node: str
    way: Way
    failing: tuple[str, ...]
    partners: int
    evidence: tuple[FailedConnection, ...]


class DeadPair(msgspec.Struct, frozen=True, tag="pair"):
    """Two nodes that do not reach each other, while each reaches most others.

    ``both_ways`` is whether neither way works; else only ``source`` → ``target`` fails.
    """

    source: str
    target: str
    both_ways: bool
    evidence: tuple[FailedConnection, ...]


class TakenAddress(msgspec.Struct, frozen=True, tag="address"):
    """``answered_by`` answers at an address of ``node``."""

    node: str
    ip: str
    answered_by: str
    evidence: tuple[FailedConnection, ...]


class DeadNetwork(msgspec.Struct, frozen=True, tag="network"):
    """No pair of three or more nodes works: no node is more at fault than another."""

    nodes: tuple[str, ...]
    evidence: tuple[FailedConnection, ...]


Dead = DeadNode | DeadPair | TakenAddress | DeadNetwork


def dead(of: Connectivity) -> tuple[Dead, ...]:
    """The fewest nodes and pairs that explain every failure: addresses, then nodes, then pairs.

    The node that fails with the largest share of its partners is named first, and its failures
    are explained by it; so two dead nodes do not accuse their healthy partners.
    """
    taken = _taken(of.failures)
    wrong = {one.ip for one in taken}
    rest = [one for one in of.failures if not {one.source_ip, one.target_ip} & wrong]
    everybody = tuple(node for node, tried in of.tried.items() if tried)
    pairs = {frozenset((one.source, one.target)) for one in rest}
    if len(everybody) > 2 and 2 * len(pairs) == sum(of.tried.values()):
        return (*taken, DeadNetwork(everybody, tuple(rest)))
    nodes: list[DeadNode] = []
    while found := _worst(of, rest, {one.node for one in nodes}):
        nodes.append(found)
        rest = [one for one in rest if found.node not in (one.source, one.target)]
    return (*taken, *nodes, *_pairs(rest))


def _taken(failures: Iterable[FailedConnection]) -> tuple[TakenAddress, ...]:
    by: dict[tuple[str, str, str], list[FailedConnection]] = defaultdict(list)
    for one in failures:
        if one.how == "other node":
            by[one.target, one.target_ip, one.answered_by].append(one)
    return tuple(TakenAddress(*key, tuple(same)) for key, same in sorted(by.items()))


def _worst(
    of: Connectivity, failures: list[FailedConnection], named: Collection[str]
) -> DeadNode | None:
    """The node that fails with the largest share of partners that are not named, if with most."""
    partners: dict[str, set[str]] = defaultdict(set)
    for one in failures:
        partners[one.source].add(one.target)
        partners[one.target].add(one.source)
    left = {node: max(1, of.tried.get(node, 0) - len(named)) for node in partners}
    share = {node: len(failing) / left[node] for node, failing in partners.items()}
    if not share:
        return None
    node = max(sorted(share), key=lambda one: (share[one], len(partners[one])))
    if share[node] <= NODE_SHARE or len(partners[node]) < 2:
        return None
    own = tuple(one for one in failures if node in (one.source, one.target))
    return DeadNode(node, _way(node, own), tuple(sorted(partners[node])), left[node], own)


def _way(node: str, failures: Collection[FailedConnection]) -> Way:
    away = sum(one.source == node for one in failures)
    if away == 0:
        return "to it"
    return "from it" if away == len(failures) else "both ways"


def _pairs(failures: Iterable[FailedConnection]) -> tuple[DeadPair, ...]:
    by: dict[tuple[str, str], list[FailedConnection]] = defaultdict(list)
    for one in failures:
        by[min(one.source, one.target), max(one.source, one.target)].append(one)
    return tuple(
        DeadPair(
            same[0].source, same[0].target, len({one.source for one in same}) == 2, tuple(same)
        )
        for _, same in sorted(by.items())
    )


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
    if any(isinstance(one, DeadNetwork) for one in found):
        return {*nodes}, []
    gone = {one.node for one in found if isinstance(one, DeadNode | TakenAddress)}
    gone |= {one.answered_by for one in found if isinstance(one, TakenAddress)}
    pairs = [{one.source, one.target} for one in found if isinstance(one, DeadPair)]
    return gone, [pair for pair in pairs if not pair & gone]
