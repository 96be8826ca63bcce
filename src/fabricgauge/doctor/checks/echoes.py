"""Do small and whole echoes come back, from every node and in time? pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from fabricgauge.doctor.checks import Check, explain_untried, make_finding
from fabricgauge.doctor.checks.path_mtu import examine_path_mtus, group_mtu_ports
from fabricgauge.doctor.places import Cluster, group_by_network
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Ping
from fabricgauge.model.words.figures import duration

#: Largest payload of an echo that this check counts; larger echoes are for other checks.
MAX_SMALL_BYTES = 1000

#: On a path that loses this share, chance loses all of three echoes once in a thousand.
CHANCE_LOSS = 0.1

#: A round trip is late if it is this many times the other pairs' lower quartile and this much
#: longer: sleeping processors and interrupt moderation make some 0.1 ms of difference.
LATE_FACTOR, LATE_EXCESS_S = 5.0, 0.5e-3

#: If a neighbour answers ARP and no echo, cable, switch and VLAN are sound.
FILTERED_WHY = (
    "A filter that stops echoes may stop MPI's connections as well. Loss, MTU and rate of this"
    " network could not be tested."
)
FILTERED = (
    "let ICMP echoes pass, at least among the nodes (firewall rules; sysctl"
    " net.ipv4.icmp_echo_ignore_all=0); if a policy forbids it, fabricgauge check tries TCP"
)


def _examine_pings(cluster: Cluster, small_pings: list[Ping]) -> Iterator[Finding]:
    for network, pings in group_by(small_pings, lambda ping: ping.network).items():
        yield from _find_losses(cluster, network, pings)
        yield from _find_late_pairs(cluster, network, pings)


def _is_small(ping: Ping) -> bool:
    return not ping.whole and ping.payload_bytes <= MAX_SMALL_BYTES and ping.sent > 0


Pair = tuple[str, str]


def _group_by_pair(pings: Iterable[Ping]) -> dict[Pair, tuple[Ping, ...]]:
    return group_by(pings, lambda ping: make_pair(ping.source, ping.target))


def _find_losses(cluster: Cluster, network: str, pings: Sequence[Ping]) -> Iterator[Finding]:
    by_pair = _group_by_pair(pings)
    failed = {
        pair: any(ping.received < ping.sent for ping in pair_pings)
        for pair, pair_pings in by_pair.items()
    }
    for nodes in find_culprits(failed, find_address_sharers(pings)):
        bad_pairs = [pair for pair in by_pair if failed[pair] and involves(nodes, pair)]
        bad_pings = [ping for pair in bad_pairs for ping in by_pair[pair]]
        sent = sum(ping.sent for ping in bad_pings)
        received = sum(ping.received for ping in bad_pings)
        severity = Severity.WARN if sent - received == 1 else Severity.FAIL
        summary, remedy, why = "loses echoes" if received else "answers no echo", "", ""
        if all(ping.heard for ping in bad_pings if ping.received < ping.sent):
            severity, summary = Severity.WARN, "answers no echo, though its link answers"
            remedy, why = FILTERED, FILTERED_WHY
        yield make_finding(
            severity, cluster.name_nodes(network, nodes), summary,
            f"{received} of {sent} echoes came back", *map(_describe_ping, bad_pings),
            remedy=remedy, why=why, nodes=nodes, network=network,
        )  # fmt: skip


def _describe_ping(ping: Ping) -> str:
    details = f"; ping: {ping.told}" if ping.told and not ping.received else ""
    details += "; ARP or neighbour discovery was answered" * ping.heard
    return (
        f"{ping.source}:{ping.interface} ({ping.source_ip}) → {ping.target}"
        f" ({ping.target_ip}): {ping.received} of {ping.sent} came back{details}"
    )


def _find_late_pairs(cluster: Cluster, network: str, pings: Iterable[Ping]) -> Iterator[Finding]:
    times: dict[Pair, float] = {}
    for ping in pings:
        if not isinstance(ping.rtt_s, Skipped):
            pair = make_pair(ping.source, ping.target)
            times[pair] = min(times.get(pair, ping.rtt_s), ping.rtt_s)
    if len(times) < 3:
        return  # nothing to compare with
    usual_s = sorted(times.values())[len(times) // 4]  # one of few nodes is in most pairs
    late = {
        pair: time_s > LATE_FACTOR * usual_s and time_s - usual_s > LATE_EXCESS_S
        for pair, time_s in times.items()
    }
    for nodes in find_culprits(late):
        late_times = {
            pair: time_s for pair, time_s in times.items() if late[pair] and involves(nodes, pair)
        }
        yield make_finding(
            Severity.WARN, cluster.name_nodes(network, nodes),
            "answers echoes far later than usual",
            f"usual round trip in {network}: {duration(usual_s)}",
            *(
                f"{a} ↔ {b}: round trip {duration(time_s)}"
                for (a, b), time_s in late_times.items()
            ),
            remedy="look for a longer path (a switch too many, a router, a tunnel), power saving"
            " and interrupt moderation (ethtool -c), and other load on the node",
            nodes=nodes, network=network,
        )  # fmt: skip


PING = Check(
    "ping",
    "Small echoes come back over each network, none lost, none late",
    "Each lost packet costs TCP milliseconds at least; if all are lost, MPI cannot start.",
    lambda cluster: [ping for ping in cluster.preflight.pings if _is_small(ping)],
    explain_untried("ping", "no echo was sent"),
    _examine_pings,
    "look at error counters of both ends (ethtool -S) and of the switch's ports, exchange cable and"
    " transceiver, then the port; if nothing comes back, look at firewall, address and VLAN",
    trials=("echoes", "losses"),
)


def _examine_mtus(cluster: Cluster, _: object) -> Iterator[Finding]:
    yield from _find_different_mtus(cluster)
    yield from _find_lost_full_packets(cluster)
    yield from examine_path_mtus(cluster)


def _find_different_mtus(cluster: Cluster) -> Iterator[Finding]:
    for endpoints in group_by_network(cluster.endpoints):
        counts = Counter(endpoint.interface.mtu_bytes for endpoint in endpoints)
        usual_mtu = max(counts, key=lambda mtu: (counts[mtu], mtu))
        example = next(
            endpoint for endpoint in endpoints if endpoint.interface.mtu_bytes == usual_mtu
        )
        for endpoint in endpoints:
            mtu = endpoint.interface.mtu_bytes
            argv = ("ip", "link", "set", "dev", endpoint.interface.name, "mtu", str(usual_mtu))
            if mtu != usual_mtu:
                yield make_finding(
                    Severity.FAIL, endpoint,
                    f"has MTU {mtu}, {endpoint.network_name} has {usual_mtu} elsewhere",
                    f"{endpoint.label} has MTU {mtu}", f"{example.label} has MTU {usual_mtu}",
                    remedy=f"set MTU {usual_mtu} now and in the interface's configuration",
                    mends=[Command(endpoint.node.name, argv)],
                )  # fmt: skip


def _find_lost_full_packets(cluster: Cluster) -> Iterator[Finding]:
    """Report whole echoes of the full MTU that all vanish while small ones come back.

    Nodes that share an address prove nothing: a neighbour answers one of them.
    """
    for network in cluster.networks:
        pings = [ping for ping in cluster.preflight.pings if ping.network == network.name]
        sharers = {*find_address_sharers(pings)}
        # These lose so few small echoes that chance loses no three whole ones.
        passes_small = {
            pair: all(ping.sent - ping.received <= CHANCE_LOSS * ping.sent for ping in pair_pings)
            for pair, pair_pings in _group_by_pair(filter(_is_small, pings)).items()
        }
        whole_pings = _group_by_pair(
            ping
            for ping in pings
            if ping.whole and ping.sent and not {ping.source, ping.target} & sharers
        )
        failed = {
            pair: any(not ping.received for ping in pair_pings)
            for pair, pair_pings in whole_pings.items()
            if passes_small.get(pair)
        }
        for nodes in find_culprits(failed):
            bad_pairs = (pair for pair in failed if involves(nodes, pair))
            lost = [ping for pair in bad_pairs for ping in whole_pings[pair] if not ping.received]
            yield make_finding(
                Severity.FAIL, cluster.name_nodes(network.name, nodes),
                f"packets of the full MTU ({network.mtu_bytes}) do not pass",
                *(
                    f"{ping.source} → {ping.target} ({ping.target_ip}): {ping.received} of"
                    f" {ping.sent} whole echoes of {ping.payload_bytes} bytes came back, all small"
                    f" ones did{f'; ping: {ping.told}' if ping.told else ''}"
                    for ping in lost
                ),
                remedy="raise the MTU of the switch's ports on the path (jumbo frames), or lower"
                " the MTU of all members to a size that passes: ping -M do -s BYTES finds it",
                nodes=nodes, network=network.name,
            )  # fmt: skip


MTU = Check(
    "mtu",
    "All members of a network have one MTU, packets of that size pass, and RDMA ports use it",
    "A packet that is larger than the next hop takes is lost or cut: large messages hang or crawl,"
    " small ones pass. Small RDMA packets waste the link on headers.",
    lambda cluster: (*cluster.endpoints, *group_mtu_ports(cluster)),
    "no network joins these nodes, and no RDMA port reports its MTU",
    _examine_mtus,
    trials=("echoes", "wholes"),
)

#: A node is a suspect if this many of its pairs fail; a single pair may be the partner's fault.
MIN_FAILED_PAIRS = 2


def make_pair(a: str, b: str) -> Pair:
    """Return the pair's name, in the order of its nodes' names."""
    return (a, b) if a <= b else (b, a)


def find_address_sharers(pings: Iterable[Ping]) -> list[str]:
    """Return nodes that send from the same address: answers to one of them reach another."""
    senders: dict[str, set[str]] = defaultdict(set)
    for ping in pings:
        senders[ping.source_ip].add(ping.source)
    return sorted({node for nodes in senders.values() if len(nodes) > 1 for node in nodes})


def involves(culprits: tuple[str, ...], pair: Pair) -> bool:
    """Check whether a pair is among those that ``culprits`` explain.

    One culprit explains all its pairs; several explain only the pairs between them.
    """
    return culprits[0] in pair if len(culprits) == 1 else set(pair) <= set(culprits)


def find_culprits(
    failed: Mapping[Pair, bool], suspects: Iterable[str] = ()
) -> tuple[tuple[str, ...], ...]:
    """Return groups of nodes at fault: one node, the two of a pair, or all of them.

    ``suspects``, known to be at fault, come first; then the node that fails with most partners.
    A culprit's pairs are then left out. If every pair of three or more nodes fails, no node is
    more at fault than another.
    """
    bad_pairs = {pair for pair, has_failed in failed.items() if has_failed}
    culprits: list[tuple[str, ...]] = []
    for node in suspects:
        if any(node in pair for pair in bad_pairs):
            culprits.append((node,))
            bad_pairs = {pair for pair in bad_pairs if node not in pair}
    nodes = sorted({node for pair in failed for node in pair})
    if bad_pairs and bad_pairs == set(failed) and len(nodes) > MIN_FAILED_PAIRS:
        return (tuple(nodes),)
    while bad_pairs:
        counts = Counter(node for pair in bad_pairs for node in pair)
        most = max(counts.values())
        if most < MIN_FAILED_PAIRS:
            break
        worst = min(node for node, count in counts.items() if count == most)
        culprits.append((worst,))
        bad_pairs = {pair for pair in bad_pairs if worst not in pair}
    working = {node for pair, has_failed in failed.items() if not has_failed for node in pair}
    return (*culprits, *(_choose_culprit(pair, working) for pair in sorted(bad_pairs)))


def _choose_culprit(pair: Pair, working: Collection[str]) -> tuple[str, ...]:
    """Return the node that works with no partner, if only one of the pair does; else both."""
    idle = [node for node in pair if node not in working]
    return (idle[0],) if len(idle) == 1 else pair
