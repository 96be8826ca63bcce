"""Do echoes come back: small and whole ones, from everybody, in time? pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.checks.path_mtu import path_ends, path_mtus
from fabricgauge.doctor.places import Cluster, by_network
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.finding import Command, Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.preflight import Ping
from fabricgauge.words.figures import duration

#: Echoes of at most this many bytes count; larger ones are for other checks.
SMALL_BYTES = 1000

#: Of three echoes on a way that loses this share, all are lost by chance once in a thousand.
CHANCE_LOSS = 0.1

#: A round trip is far above the others' when it is this many times their quartile and this much
#: longer: sleeping processors and interrupt moderation make some 0.1 ms of difference.
TIMES, EXCESS_S = 5.0, 0.5e-3

#: Where a neighbour answers ARP and no echo, cable, switch and VLAN are sound.
FILTERED_WHY = (
    "What stops echoes may stop MPI's connections as well; and loss, MTU and rate of this network"
    " could not be tried."
)
FILTERED = (
    "let ICMP echoes pass, at least among the nodes (firewall rules; sysctl"
    " net.ipv4.icmp_echo_ignore_all=0); where a policy forbids it, fabricgauge check tries TCP"
)


def _pings(cluster: Cluster, small: list[Ping]) -> Iterator[Finding]:
    for network in dict.fromkeys(ping.network for ping in small):
        own = [ping for ping in small if ping.network == network]
        yield from _ping_lost(cluster, network, own)
        yield from _late(cluster, network, own)


def _counts(ping: Ping) -> bool:
    return not ping.whole and ping.payload_bytes <= SMALL_BYTES and ping.sent > 0


Pair = tuple[str, str]


def _by_pair(pings: Iterable[Ping]) -> dict[Pair, tuple[Ping, ...]]:
    return grouped(pings, lambda one: pair(one.source, one.target))


def _ping_lost(cluster: Cluster, network: str, pings: list[Ping]) -> Iterator[Finding]:
    pairs = _by_pair(pings)
    failed = {name: any(p.received < p.sent for p in own) for name, own in pairs.items()}
    for who in blamed(failed, twins(pings)):
        bad = [name for name in pairs if failed[name] and concerns(who, name)]
        own = [ping for name in bad for ping in pairs[name]]
        sent, back = sum(p.sent for p in own), sum(p.received for p in own)
        severity = Severity.WARN if sent - back == 1 else Severity.FAIL
        what, remedy, why = "loses echoes" if back else "answers no echo", "", ""
        if all(p.heard for p in own if p.received < p.sent):
            severity, what = Severity.WARN, "answers no echo, though its link answers"
            remedy, why = FILTERED, FILTERED_WHY
        yield found(
            severity, cluster.where(network, who), what, f"{back} of {sent} echoes came back",
            *map(_told, own), remedy=remedy, why=why, nodes=who, network=network,
        )  # fmt: skip


def _told(ping: Ping) -> str:
    words = f"; ping: {ping.told}" if ping.told and not ping.received else ""
    words += "; ARP or neighbour discovery was answered" * ping.heard
    return (
        f"{ping.source}:{ping.source_interface} ({ping.source_ip}) → {ping.target}"
        f" ({ping.target_ip}): {ping.received} of {ping.sent} came back{words}"
    )


def _late(cluster: Cluster, network: str, pings: list[Ping]) -> Iterator[Finding]:
    known = _by_pair(ping for ping in pings if not isinstance(ping.rtt_s, Skipped))
    times = {name: min(rtts(own)) for name, own in known.items()}
    if len(times) < 3:
        return  # nothing to compare with
    usual = sorted(times.values())[len(times) // 4]  # one of few nodes is in most pairs
    late = {name: t > TIMES * usual and t - usual > EXCESS_S for name, t in times.items()}
    for who in blamed(late):
        own_times = {n: t for n, t in times.items() if late[n] and concerns(who, n)}
        yield found(
            Severity.WARN, cluster.where(network, who), "echoes take far longer than the others'",
            f"usual round trip in {network}: {duration(usual)}",
            *(f"{a} ↔ {b}: round trip {duration(t)}" for (a, b), t in own_times.items()),
            remedy="look for a longer way (a switch too many, a router, a tunnel), for power saving"
            " and interrupt moderation (ethtool -c), and for other load on the node",
            nodes=who, network=network,
        )  # fmt: skip


def rtts(pings: Iterable[Ping]) -> Iterator[float]:
    """The round trips that are known, in seconds."""
    return (one.rtt_s for one in pings if not isinstance(one.rtt_s, Skipped))


PING = Check(
    "ping",
    "Small echoes come back over each network, none lost, none late",
    "Each lost packet costs TCP milliseconds at least; where all are lost, MPI cannot start.",
    lambda cluster: [ping for ping in cluster.preflight.pings if _counts(ping)],
    untried("ping", "no echo was sent"),
    _pings,
    "look at error counters of both ends (ethtool -S) and of the switch's ports, exchange cable and"
    " transceiver, then the port; where nothing comes back, look at firewall, address and VLAN",
    reads=("echoes", "losses"),
)


def _mtus(cluster: Cluster, _: object) -> Iterator[Finding]:
    yield from _different(cluster)
    yield from _mtu_lost(cluster)
    yield from path_mtus(cluster)


def _different(cluster: Cluster) -> Iterator[Finding]:
    for members in by_network(cluster.ends):
        counts = Counter(end.interface.mtu_bytes for end in members)
        usual = max(counts, key=lambda mtu: (counts[mtu], mtu))
        other = next(end for end in members if end.interface.mtu_bytes == usual)
        for end in members:
            own = end.interface.mtu_bytes
            argv = ("ip", "link", "set", "dev", end.interface.name, "mtu", str(usual))
            if own != usual:
                yield found(
                    Severity.FAIL, end, f"has MTU {own}, {end.net} has {usual} elsewhere",
                    f"{end.where} has MTU {own}", f"{other.where} has MTU {usual}",
                    remedy="set the network's MTU, here and where the interface is configured at"
                    " each start",
                    mends=[Command(end.seen.name, argv)],
                )  # fmt: skip


def _mtu_lost(cluster: Cluster) -> Iterator[Finding]:
    """Whole echoes of the full MTU that all vanish where no small one does.

    Of two nodes with one address, whichever a neighbour remembers gets the answers: they
    prove nothing.
    """
    for network in cluster.networks:
        pings = [ping for ping in cluster.preflight.pings if ping.network == network.name]
        small, twice = _small(pings), {*twins(pings)}
        whole = _by_pair(
            p for p in pings if p.whole and p.sent and not {p.source, p.target} & twice
        )  # fmt: skip
        failed = {
            name: any(not p.received for p in own) for name, own in whole.items() if small.get(name)
        }
        for who in blamed(failed):
            lost = [
                p for name in failed if concerns(who, name) for p in whole[name] if not p.received
            ]  # fmt: skip
            yield _not_whole(network, who, cluster.where(network.name, who), lost)


def _small(pings: list[Ping]) -> dict[Pair, bool]:
    """By pair, whether few small echoes were lost: then chance does not lose three whole ones."""
    return {
        name: all(p.sent - p.received <= CHANCE_LOSS * p.sent for p in own)
        for name, own in _by_pair(filter(_counts, pings)).items()
    }


def _not_whole(network: Network, who: tuple[str, ...], where: str, lost: list[Ping]) -> Finding:
    evidence = [
        f"{p.source} → {p.target} ({p.target_ip}): {p.received} of {p.sent} whole echoes of"
        f" {p.payload_bytes} bytes came back, all small ones did"
        + (f"; ping: {p.told}" if p.told else "")
        for p in lost
    ]
    return found(
        Severity.FAIL, where, f"packets of the full MTU ({network.mtu_bytes}) do not pass",
        *evidence,
        remedy="raise the MTU of the switch's ports on the way (jumbo frames), or lower that of all"
        " members to what passes: ping -M do -s BYTES finds it",
        nodes=who, network=network.name,
    )  # fmt: skip


MTU = Check(
    "mtu",
    "All members of a network have one MTU, packets of that size pass, and RDMA ports use it",
    "A packet that is larger than the next hop takes is lost or cut: large messages hang or crawl,"
    " small ones pass. Small RDMA packets waste the link on headers.",
    lambda cluster: (*cluster.ends, *path_ends(cluster)),
    "no network joins these nodes, and no RDMA port tells its MTU",
    _mtus,
    reads=("echoes", "wholes"),
)

#: A node is a suspect once this many of its pairs fail; a single one may be the other's fault.
LEAST_PAIRS = 2


def pair(one: str, other: str) -> Pair:
    """The pair's name, whichever of them came first."""
    return (one, other) if one <= other else (other, one)


def twins(pings: Iterable[Ping]) -> list[str]:
    """Nodes that send from another's address: answers to one of them reach the other."""
    senders: dict[str, set[str]] = defaultdict(set)
    for ping in pings:
        senders[ping.source_ip].add(ping.source)
    return sorted({node for nodes in senders.values() if len(nodes) > 1 for node in nodes})


def concerns(who: tuple[str, ...], name: Pair) -> bool:
    """Whether a pair is among those that ``who`` was blamed for: all of one node's, else only
    those between the nodes blamed together."""
    return who[0] in name if len(who) == 1 else set(name) <= set(who)


def blamed(
    failed: Mapping[Pair, bool], suspects: Iterable[str] = ()
) -> tuple[tuple[str, ...], ...]:
    """Groups of nodes at fault: one node, the two of a pair, or all of them.

    ``suspects``, known to be at fault, are taken first; then the node that fails with most
    partners. What each explains is set aside. Where every pair of three or more nodes fails,
    no node is more at fault than another.
    """
    bad = {name for name, fails in failed.items() if fails}
    found: list[tuple[str, ...]] = []
    for node in suspects:
        if any(node in name for name in bad):
            found.append((node,))
            bad = {name for name in bad if node not in name}
    everybody = sorted({node for name in failed for node in name})
    if bad and bad == set(failed) and len(everybody) > LEAST_PAIRS:
        return (tuple(everybody),)
    while bad:
        counts = Counter(node for name in bad for node in name)
        most = max(counts.values())
        if most < LEAST_PAIRS:
            break
        worst = min(node for node, count in counts.items() if count == most)
        found.append((worst,))
        bad = {name for name in bad if worst not in name}
    well = {node for name, fails in failed.items() if not fails for node in name}
    return (*found, *(_of_pair(name, well) for name in sorted(bad)))


def _of_pair(name: Pair, well: Collection[str]) -> tuple[str, ...]:
    """Of two nodes, the one that works with no partner, if the other works with some."""
    alone = [node for node in name if node not in well]
    return (alone[0],) if len(alone) == 1 else name
