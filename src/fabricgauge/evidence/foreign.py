"""How much of what the nodes' interfaces carried during cases was not the benchmark's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fabricgauge.evidence.connections import CARRIED, address_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.measurement import Measurement, NodeCounters, Socket
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of

#: Ethernet, IP and TCP headers with timestamps, as an interface counts them (IEEE 802.3, RFC 791,
#: 8200, 9293, 7323).
HEADERS_V4, HEADERS_V6 = 14 + 20 + 32, 14 + 40 + 32

#: A transport other than TCP adds at most this share, and this to each message, by our reckoning:
#: packets of 1 KiB or more, control messages and acknowledgements.
ADDED_SHARE, ADDED_BYTES = 0.1, 256

#: The payload of a packet that every host accepts (RFC 9293, 3.7.1).
LEAST_SEGMENT = 536


class _Crossed(NamedTuple):
    """Octets and packets of a node's interfaces during one case."""

    sent_bytes: int = 0
    sent_packets: int = 0
    received_bytes: int = 0
    received_packets: int = 0


def foreign_traffic(
    fabric: Fabric, network: Network, cases: Iterable[tuple[Launch, Measurement]]
) -> dict[str, ForeignTraffic]:
    """By node, over these cases. Nodes of which nothing can be known are left out."""
    sent, received, line = Counter[str](), Counter[str](), dict[str, float]()
    if isinstance(network.rate_bit_s, Skipped):
        return {}
    for launch, case in cases:
        for counters in case.counters:
            node = node_of(launch, counters.rank)
            crossed = _crossed(fabric, network, node, counters)
            if crossed is None or (ours := _ours(launch, case, network, node, crossed)) is None:
                continue
            times = counters.read_utc_s
            seconds = max(case.wall_s, times[-1] - times[0] if times else 0.0)
            sent[node] += max(0, crossed.sent_bytes - ours[0])
            received[node] += max(0, crossed.received_bytes - ours[1])
            links = len(network.rails_of(node)) * network.rate_bit_s / 8
            line[node] = line.get(node, 0.0) + links * seconds
    return {
        node: ForeignTraffic(node, sent[node], received[node], line[node])
        for node in sorted(line)
        if line[node] > 0
    }


def _crossed(
    fabric: Fabric, network: Network, name: str, counters: NodeCounters
) -> _Crossed | None:
    """What crossed the cables of a member. Those below a VLAN or a bridge carry more than it."""
    node, total = fabric.node(name), _Crossed()
    for member in network.rails_of(name):
        below = () if isinstance(node, Skipped) else node.below(member.interface)
        cables = [one for one in below if isinstance(node, Skipped) or not node.below(one)]
        known = [
            rise
            for names in ([member.interface], cables)
            if (rise := _rise(counters, names)) is not None
        ]
        if not known:
            return None
        total = _Crossed(*map(sum, zip(total, max(known), strict=True)))
    return total if network.rails_of(name) else None


def _rise(counters: NodeCounters, interfaces: Iterable[str]) -> _Crossed | None:
    total = _Crossed()
    for name in interfaces:
        before, after = counters.before.get(name), counters.after.get(name)
        if before is None or after is None:
            return None
        rise = _Crossed(
            after.tx_bytes - before.tx_bytes, after.tx_packets - before.tx_packets,
            after.rx_bytes - before.rx_bytes, after.rx_packets - before.rx_packets,
        )  # fmt: skip
        if min(rise) < 0:
            return None
        total = _Crossed(*map(sum, zip(total, rise, strict=True)))
    return total


def _ours(
    launch: Launch, case: Measurement, network: Network, node: str, crossed: _Crossed
) -> tuple[int, int] | None:
    """The most that the case's own messages took of it, sent and received."""
    ranks = [rank for rank in range(len(launch.nodes)) if node_of(launch, rank) == node]
    every = [one for rank in range(len(case.sockets)) for one in case.sockets_of(rank)]
    sent_bytes = sum(one.sent_bytes for one in every)
    if sent_bytes > 0 and sent_bytes >= CARRIED * sum(case.payload_sent_bytes):
        if any(isinstance(one, Skipped) for one in case.sockets):
            return None
        ips = {member.ip for member in network.rails_of(node)}
        connections = [one for rank in ranks for one in case.sockets_of(rank)]
        return _of_connections(
            [one for one in connections if address_of(one.local) in ips], network, crossed
        )
    if case.pattern not in PAIR_PATTERNS:
        return None
    took_part = [rank for rank in ranks if rank in (case.origin, case.target)]
    sent = sum(_with_headers(case, rank) for rank in took_part)
    both = _with_headers(case, case.origin) + _with_headers(case, case.target)
    return sent, both - sent if took_part else 0


def _of_connections(
    connections: Sequence[Socket], network: Network, crossed: _Crossed
) -> tuple[int, int]:
    """Bytes of the connections with the headers of their packets, sent and received.

    An interface counts a packet that it splits itself once. Each segment has one acknowledgement at
    most.
    """
    headers = HEADERS_V6 if ":" in network.subnet else HEADERS_V4
    sent = sum(max(0, one.sent_bytes) for one in connections)
    received = sum(max(0, one.received_bytes) for one in connections)
    outgoing = incoming = 0.0
    for one in connections:
        segments = max(0.0, one.segments) if one.segment_bytes > 0 else 0.0
        segments_received = max(0, one.received_bytes) / max(LEAST_SEGMENT, one.segment_bytes)
        answers = one.acknowledgements
        outgoing += segments + (segments_received if isinstance(answers, Skipped) else answers)
        incoming += segments_received + segments
    return (
        sent + round(headers * min(outgoing, crossed.sent_packets)),
        received + round(headers * min(incoming, crossed.received_packets)),
    )


def _with_headers(case: Measurement, rank: int) -> int:
    each = case.payload_sent_bytes
    payload = each[rank] if 0 <= rank < len(each) else 0
    messages = payload // max(1, case.message_bytes)
    return round((1.0 + ADDED_SHARE) * payload) + ADDED_BYTES * messages
