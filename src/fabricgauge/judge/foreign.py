"""Find other traffic on the nodes' links, and decide what it explains."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from fabricgauge.judge.evidence.connections import CARRIED, address_of
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.stats.series import node_of
from fabricgauge.judge.streams import NEAREST_RATE, Stream, rechecked_streams, streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.groups import group_by
from fabricgauge.model.measurement import Measurement, NodeCounters, Rise, Socket
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import PAIR_PATTERNS, Pattern
from fabricgauge.model.run import Launch
from fabricgauge.model.words import figures

#: Ethernet, IP and TCP headers with timestamps, as an interface counts them (IEEE 802.3, RFC 791,
#: 8200, 9293, 7323).
HEADERS_V4, HEADERS_V6 = 14 + 20 + 32, 14 + 40 + 32

#: Estimate: a transport other than TCP adds at most this share to the payload, and so many bytes
#: to each message: headers of packets of 1 KiB or more, control messages and acknowledgements.
ADDED_SHARE, ADDED_BYTES = 0.1, 256

#: The payload of a packet that every host accepts (RFC 9293, 3.7.1).
LEAST_SEGMENT = 536

#: Cause and remedy of a figure that other traffic spoils.
CAUSE = "other traffic used the same links during the measurement"
REMEDY = (
    "find the sender (ss -tnp, nethogs, iftop on the named node), wait for it or stop it, then"
    " measure again"
)


def foreign_of(
    subject: Subject, cases: Iterable[tuple[Launch, Measurement]]
) -> dict[str, ForeignTraffic]:
    """Return foreign traffic by node over these cases; unknown nodes are left out."""
    fabric, network = subject.run.fabric, subject.network
    sent, received, line = Counter[str](), Counter[str](), dict[str, float]()
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return {}
    for launch, case in cases:
        benchmark = _CaseTraffic(launch, case)
        for counters in case.counters:
            node = node_of(launch, counters.rank)
            crossed = _find_crossing(fabric, network, node, counters)
            own_bytes = None if crossed is None else benchmark.find_bytes(network, node, crossed)
            if crossed is None or own_bytes is None:
                continue
            times = counters.read_utc_s
            seconds = max(case.wall_s, times[-1] - times[0] if times else 0.0)
            sent[node] += max(0, crossed.sent_bytes - own_bytes[0])
            received[node] += max(0, crossed.received_bytes - own_bytes[1])
            links = len(network.rails_of(node)) * network.rate_bit_s / 8
            line[node] = line.get(node, 0.0) + links * seconds
    return {
        node: ForeignTraffic(node, sent[node], received[node], line[node])
        for node in sorted(line)
        if line[node] > 0
    }


def foreign_in(subject: Subject, *patterns: Pattern) -> dict[str, ForeignTraffic]:
    """Return foreign traffic by node in all completed cases, or in those of these patterns."""
    return foreign_of(subject, subject.cases(*patterns))


def foreign_beside(stream: Stream) -> dict[str, ForeignTraffic]:
    """Return foreign traffic by node in the cases behind a figure."""
    ids = {id(case) for case in (*stream.measurements, *stream.round_robins)}
    launches = stream.subject.launches
    cases = ((launch, case) for launch in launches for case in launch.measurements)
    return foreign_of(stream.subject, (item for item in cases if id(item[1]) in ids))


def sentence(traffic: ForeignTraffic, limit: float) -> str:
    parts = [
        f"{word} {figures.amount(octets)} of other traffic"
        f" ({figures.percent(share)} of the line rate)"
        for word, octets, share in (
            ("sent", traffic.sent_bytes, traffic.sent_share),
            ("received", traffic.received_bytes, traffic.received_share),
        )
        if share >= limit
    ]
    return f"{traffic.node} {' and '.join(parts)} during the measurement"


def accounts(stream: Stream) -> Iterator[str]:
    """Yield other traffic that fills the link together with the stream."""
    limit, foreign = stream.limit("foreign-traffic.share"), foreign_beside(stream)
    if stream.series.of_pairs:
        ahead, back = median_or_zero(traffic.share for traffic in foreign.values()), 0.0
        traffic_of_ends = list(foreign.values())
    else:
        ahead, back = _shares(foreign, stream.series.way)
        traffic_of_ends = [foreign[node] for node in stream.series.way if node in foreign]
    if explains(stream, stream.fraction, ahead, back):
        yield from (
            sentence(traffic, limit) for traffic in traffic_of_ends if traffic.share >= limit
        )


def on_ways(subject: Subject, directions: Collection[Ends]) -> tuple[str, ...]:
    """Return other traffic that, with streams, fills at least half of these ways."""
    pair_streams = (*streams(subject, "bandwidth"), *rechecked_streams(subject, "bandwidth", 0.0))
    own_streams = [stream for stream in pair_streams if stream.series.way in directions]
    full_streams = [stream for stream in own_streams if any(accounts(stream))]
    if not full_streams or 2 * len(full_streams) < len(own_streams):
        return ()
    limit = subject.limit("foreign-traffic.share")
    end_nodes = {node for stream in full_streams for node in stream.series.way}
    traffic = foreign_in(subject, "bandwidth").values()
    return tuple(
        sentence(node_traffic, limit)
        for node_traffic in traffic
        if node_traffic.node in end_nodes and node_traffic.share >= limit
    )


def explains(stream: Stream, rate_share: float, ahead: float, back: float) -> bool:
    """Check whether other traffic takes the missing part of a rate, ``rate_share`` of the usual.

    ``ahead`` is its share of the line rate in the stream's direction, ``back`` in the other one,
    which acknowledgements share. Streams that compete leave gaps, but no lower standard rate is
    as near to the line rate as what they carry together.
    """
    limit = stream.limit("foreign-traffic.share")
    if max(ahead, back) < limit:
        return False
    both_ways = back >= limit or stream.directions == 2
    return rate_share + ahead >= (stream.limit("fraction.both_warn") if both_ways else NEAREST_RATE)


def beside_good(
    suspects: Sequence[Stream], good_streams: Sequence[Stream], rate_share: float, *, latency: bool
) -> Iterator[str]:
    """Yield other traffic on the links of suspect pairs that good pairs do not have."""
    usual = median_or_zero(
        max(_shares(foreign_beside(stream), stream.series.way)) for stream in good_streams
    )
    named: dict[str, ForeignTraffic] = {}
    explained = 0
    for stream in suspects:
        foreign = foreign_beside(stream)
        limit = stream.limit("foreign-traffic.share")
        ahead, back = (max(0.0, share - usual) for share in _shares(foreign, stream.series.way))
        busy = max(ahead, back) >= limit
        if busy and (latency or explains(stream, rate_share, ahead, back)):
            explained += 1
            named |= {
                node: foreign[node]
                for node in stream.series.way
                if node in foreign and foreign[node].share >= limit
            }
    if explained and 2 * explained >= len(suspects):
        limit = suspects[0].limit("foreign-traffic.share")
        yield from (sentence(share, limit) for share in named.values())


def _shares(foreign: dict[str, ForeignTraffic], direction: tuple[str, str]) -> tuple[float, float]:
    """Return shares of the line rate: in the stream's direction at either end, and back."""
    sender, receiver = (foreign.get(node, ForeignTraffic(node, 0, 0, 1.0)) for node in direction)
    return (
        max(sender.sent_share, receiver.received_share),
        max(sender.received_share, receiver.sent_share),
    )


def _find_crossing(
    fabric: Fabric, network: Network, name: str, counters: NodeCounters
) -> Rise | None:
    """Return what crossed a member's cables; those below a VLAN or a bridge carry more."""
    node, total = fabric.node(name), Rise()
    # An interface with two addresses in the network is two members, and counts once.
    interfaces = dict.fromkeys(member.interface for member in network.rails_of(name))
    for interface in interfaces:
        cables: list[str] = []
        if not isinstance(node, Skipped):
            cables = [below for below in node.below(interface) if not node.below(below)]
        both = _sum_rises(counters, [interface]), _sum_rises(counters, cables)
        rises = [rise for rise in both if rise is not None]
        if not rises:
            return None
        total = Rise(*map(sum, zip(total, max(rises), strict=True)))
    return total if interfaces else None


def _sum_rises(counters: NodeCounters, interfaces: Iterable[str]) -> Rise | None:
    total = Rise()
    for rise in map(counters.rise, interfaces):
        if rise is None or min(rise) < 0:
            return None
        total = Rise(*map(sum, zip(total, rise, strict=True)))
    return total


class _CaseTraffic:
    """The share of the nodes' links that a case's messages took."""

    def __init__(self, launch: Launch, case: Measurement) -> None:
        self._case = case
        self._ranks = group_by(range(len(launch.nodes)), launch.nodes.__getitem__)
        sent_bytes = sum(connection.sent_bytes for connection in case.all_sockets)
        self._by_tcp = sent_bytes > 0 and sent_bytes >= CARRIED * sum(case.payload_sent_bytes)
        self._unseen = any(isinstance(connections, Skipped) for connections in case.sockets)

    def find_bytes(self, network: Network, node: str, crossed: Rise) -> tuple[int, int] | None:
        """Return the most that the messages took of a node's traffic, sent and received."""
        case, ranks = self._case, self._ranks.get(node, ())
        if self._by_tcp:
            if self._unseen:
                return None
            ips = {member.ip for member in network.rails_of(node)}
            connections = (connection for rank in ranks for connection in case.sockets_of(rank))
            members = [socket for socket in connections if address_of(socket.local) in ips]
            return _add_tcp_headers(members, network, crossed)
        if case.pattern not in PAIR_PATTERNS:
            return None
        joining_ranks = [rank for rank in ranks if rank in (case.origin, case.target)]
        sent = sum(_estimate_bytes(case, rank) for rank in joining_ranks)
        both_bytes = _estimate_bytes(case, case.origin) + _estimate_bytes(case, case.target)
        return sent, both_bytes - sent if joining_ranks else 0


def _add_tcp_headers(
    connections: Sequence[Socket], network: Network, crossed: Rise
) -> tuple[int, int]:
    """Return bytes of connections with the headers of their packets, sent and received."""
    headers = HEADERS_V6 if ":" in network.subnet else HEADERS_V4
    sent = sum(max(0, connection.sent_bytes) for connection in connections)
    received = sum(max(0, connection.received_bytes) for connection in connections)
    outgoing = incoming = 0.0
    for connection in connections:
        segments = max(0.0, connection.segments) if connection.segment_bytes > 0 else 0.0
        segments_received = max(0, connection.received_bytes) / max(
            LEAST_SEGMENT, connection.segment_bytes
        )
        answers = connection.acknowledgements
        outgoing += segments + (segments_received if isinstance(answers, Skipped) else answers)
        incoming += segments_received + segments
    # An interface counts a packet that it splits itself once.
    return (
        sent + round(headers * min(outgoing, crossed.sent_packets)),
        received + round(headers * min(incoming, crossed.received_packets)),
    )


def _estimate_bytes(case: Measurement, rank: int) -> int:
    sent_by_rank = case.payload_sent_bytes
    payload = sent_by_rank[rank] if 0 <= rank < len(sent_by_rank) else 0
    messages = payload // max(1, case.message_bytes)
    return round((1.0 + ADDED_SHARE) * payload) + ADDED_BYTES * messages
