"""Name the nodes and pairs that carry nothing, from the connections that failed; pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

import msgspec

from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Connectivity, FailedConnection

#: A node is named if it fails with more than this share of its partners. With three nodes, a dead
#: pair fails with one partner of two each: exactly half names the pair.
NODE_SHARE = 0.5


class ConnectionFault(msgspec.Struct, frozen=True):
    """A node, pair, address or network that carries nothing, and the nodes to touch.

    ``node``: it fails with most of its partners. ``pair``: it does not connect, while each of its
    nodes reaches most others. ``address``: the second of ``nodes`` answers at an address of the
    first. ``network``: no pair of three or more nodes works, and no node stands out.
    """

    kind: Literal["node", "pair", "address", "network"]
    nodes: tuple[str, ...]
    summary: str = ""
    evidence: tuple[FailedConnection, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The nodes that reports name."""
        return self.nodes[:1] if self.kind == "address" else self.nodes


def find_connection_faults(connectivity: Connectivity) -> tuple[ConnectionFault, ...]:
    """Return the fewest faults that explain every failure: addresses, then nodes, then pairs.

    The node that fails with the largest share of its partners is named first. It explains its
    failures, so two dead nodes do not accuse their healthy partners.
    """
    address_faults = tuple(_find_address_faults(connectivity.failures))
    wrong_ips = {failure.target_ip for fault in address_faults for failure in fault.evidence}
    unexplained = [
        failure
        for failure in connectivity.failures
        if not {failure.source_ip, failure.target_ip} & wrong_ips
    ]
    tried_nodes = tuple(node for node, tried in connectivity.tried.items() if tried)
    pairs = {frozenset((failure.source, failure.target)) for failure in unexplained}
    if len(tried_nodes) > 2 and 2 * len(pairs) == sum(connectivity.tried.values()):
        summary = _describe_failures("between any two nodes", unexplained)
        network_fault = ConnectionFault("network", tried_nodes, summary, tuple(unexplained))
        return (*address_faults, network_fault)
    node_faults: list[ConnectionFault] = []
    while fault := _find_worst_node(connectivity, unexplained, len(node_faults)):
        node_faults.append(fault)
        node = fault.nodes[0]
        unexplained = [f for f in unexplained if node not in (f.source, f.target)]
    return (*address_faults, *node_faults, *_find_pair_faults(unexplained))


def _find_address_faults(failures: Iterable[FailedConnection]) -> Iterator[ConnectionFault]:
    misdirected = (failure for failure in failures if failure.how == "other node")
    groups = group_by(misdirected, lambda failure: (
        failure.target, failure.target_ip, failure.answered_by
    ))  # fmt: skip
    for (node, ip, impostor), group in sorted(groups.items()):
        summary = f"{impostor} answers at its address {ip}"
        yield ConnectionFault("address", (node, impostor), summary, group)


def _find_worst_node(
    connectivity: Connectivity, failures: list[FailedConnection], named_count: int
) -> ConnectionFault | None:
    """Return the node that fails with the largest share of unnamed partners, if with most."""
    failed_partners: dict[str, set[str]] = defaultdict(set)
    for failure in failures:
        failed_partners[failure.source].add(failure.target)
        failed_partners[failure.target].add(failure.source)
    partner_count = {
        node: max(1, connectivity.tried.get(node, 0) - named_count) for node in failed_partners
    }
    share = {
        node: len(partners) / partner_count[node] for node, partners in failed_partners.items()
    }
    if not share:
        return None
    node = max(sorted(share), key=lambda name: (share[name], len(failed_partners[name])))
    if share[node] <= NODE_SHARE or len(failed_partners[node]) < 2:
        return None
    node_failures = tuple(f for f in failures if node in (f.source, f.target))
    failing = f"{len(failed_partners[node])} of {partner_count[node]} nodes"
    outgoing = sum(failure.source == node for failure in node_failures)
    summary = _describe_failures(f"between it and {failing}", node_failures)
    if outgoing in (0, len(node_failures)) and not _all_lost_data(node_failures):
        summary = f"{failing} cannot connect to it; it can connect to them"
        if outgoing:
            summary = f"it cannot connect to {failing}; they can connect to it"
    return ConnectionFault("node", (node,), summary, node_failures)


def _find_pair_faults(failures: Iterable[FailedConnection]) -> Iterator[ConnectionFault]:
    """Yield each failing pair; the source of its first failure comes first."""
    groups = group_by(failures, lambda failure: tuple(sorted((failure.source, failure.target))))
    for _, group in sorted(groups.items()):
        source, target = group[0].source, group[0].target
        summary = _describe_failures("between them", group)
        if len({failure.source for failure in group}) == 1 and not _all_lost_data(group):
            summary = f"{source} cannot connect to {target}; {target} can connect to {source}"
        yield ConnectionFault("pair", (source, target), summary, group)


def _describe_failures(between: str, failures: Iterable[FailedConnection]) -> str:
    if _all_lost_data(failures):
        return (
            f"TCP connects {between}, but data do not arrive: an MTU on the path may be too small"
        )
    return f"no TCP connection works {between}"


def _all_lost_data(failures: Iterable[FailedConnection]) -> bool:
    """Check whether all connections opened, and then no data arrived."""
    return all(failure.how == "no data" for failure in failures)


def choose_excluded_nodes(
    nodes: Collection[str], faults: Collection[ConnectionFault]
) -> tuple[str, ...]:
    """Return the fewest nodes to exclude so that the rest can be measured together.

    Nodes in the most dead pairs go first.
    """
    excluded, pairs = _split_faults(nodes, faults)
    while pairs:
        pair_count = Counter(node for pair in pairs for node in pair)
        node = max(sorted(pair_count), key=lambda name: pair_count[name])
        excluded.add(node)
        pairs = [pair for pair in pairs if node not in pair]
    return tuple(node for node in nodes if node in excluded)


def find_partner(node: str, nodes: Collection[str], faults: Collection[ConnectionFault]) -> str:
    """Return a node that ``node``, which is in a dead pair, can be measured with, or ""."""
    unreachable, pairs = _split_faults(nodes, faults)
    partners = (
        name
        for name in nodes
        if name != node and name not in unreachable and {node, name} not in pairs
    )
    return "" if node in unreachable else next(partners, "")


def _split_faults(
    nodes: Collection[str], faults: Collection[ConnectionFault]
) -> tuple[set[str], list[set[str]]]:
    """Return the nodes that work with no partner, and the dead pairs of other nodes."""
    if any(fault.kind == "network" for fault in faults):
        return {*nodes}, []
    unreachable = {node for fault in faults if fault.kind != "pair" for node in fault.nodes}
    pairs = [{*fault.nodes} for fault in faults if fault.kind == "pair"]
    return unreachable, [pair for pair in pairs if not pair & unreachable]
