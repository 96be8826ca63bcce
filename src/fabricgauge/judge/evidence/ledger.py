"""Share out a link's time in each stream: payload, headers, acknowledgements, resent, idle.

Only TCP is covered, because its connections count what they send. Frames are TCP's segments: an
interface that splits segments itself may count each of them once.
"""

from collections.abc import Iterator, Mapping

from fabricgauge.judge.evidence.connections import CARRIED
from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import WireLedger, WireShares
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run

STREAMS = ("bandwidth", "put_bandwidth", "get_bandwidth", "bidirectional_bandwidth")

#: Preamble and start of frame, check sequence, gap (IEEE 802.3), which interfaces do not count.
UNCOUNTED_BYTES = 8 + 4 + 12

#: Octets on the wire in one direction, in the order of ``WireShares``; the last, in place of idle
#: time, is what the line could have carried meanwhile.
_Octets = tuple[float, ...]
#: Network, pattern, message size, origin, target and sender, as in ``WireLedger``.
_Stream = tuple[str, str, int, str, str, str]


def compute_ledgers(run: Run, ceilings: Mapping[str, Ceiling | Skipped]) -> tuple[WireLedger, ...]:
    """Return a ledger per stream, message size and sending end, over all launches, in order."""
    octets_by_stream: dict[_Stream, list[_Octets]] = {}
    for launch in run.launches:
        limit = ceilings.get(launch.network or "")
        if isinstance(limit, Ceiling):
            for key, octets in _launch_octets(launch, run.fabric, limit):
                octets_by_stream.setdefault(key, []).append(octets)
    ledgers = []
    for key, all_octets in octets_by_stream.items():
        *parts, line = map(sum, zip(*all_octets, strict=True))
        used = sum(parts)
        # With a token bucket's burst above the line nothing was idle.
        shares = (part / max(line, used) for part in (*parts, max(0.0, line - used)))
        ledgers.append(WireLedger(*key, cases=len(all_octets), shares=WireShares(*shares)))
    return tuple(ledgers)


def _launch_octets(
    launch: Launch, fabric: Fabric, limit: Ceiling
) -> Iterator[tuple[_Stream, _Octets]]:
    for case in launch.completed:
        # The wire is idle while a case fills and compares its messages.
        if case.pattern not in STREAMS or case.data_check.requested:
            continue
        origin, target = node_of(launch, case.origin), node_of(launch, case.target)
        for rank, sender in ((case.origin, origin), (case.target, target)):
            counted = _count_frame_bytes(case, launch, fabric, sender)
            if octets := _count_octets(case, rank, counted, limit):
                ends = origin, target, sender
                yield (limit.network, case.pattern, case.message_bytes, *ends), octets


def _count_frame_bytes(case: Measurement, launch: Launch, fabric: Fabric, node: str) -> int:
    """Return what the node's interface on the network sent, in whole frames; 0 if not counted."""
    rails = {
        member.interface
        for network in fabric.networks
        if network.name == launch.network
        for member in network.rails_of(node)
    }
    readings = (counters for counters in case.counters if node_of(launch, counters.rank) == node)
    rises = (counters.rise(name) for counters in readings for name in rails)
    return sum(
        rise.sent_bytes + UNCOUNTED_BYTES * rise.sent_packets for rise in rises if rise is not None
    )


def _count_octets(case: Measurement, rank: int, counted: int, limit: Ceiling) -> _Octets | None:
    """Return the octets; None if TCP did not carry the payload or its segments are not counted."""
    sent_by = case.payload_sent_bytes
    payload = sent_by[rank] if 0 <= rank < len(sent_by) else 0
    overhead = limit.wire_bytes_per_packet - limit.payload_per_packet_bytes
    sent = segments = acknowledgements = resent = resent_bytes = 0
    for socket in case.sockets_of(rank):
        if isinstance(socket.data_segments, Skipped) or isinstance(
            socket.acknowledgements, Skipped
        ):
            return None
        sent += max(0, socket.sent_bytes)
        segments += max(0, socket.data_segments)
        acknowledgements += max(0, socket.acknowledgements)
        resent += max(0, socket.retransmitted_segments)
        resent_bytes += max(0, socket.retransmitted_segments * socket.segment_bytes)
    # The kernel counts retransmitted bytes among the sent bytes (tcp_info, Linux 4.19).
    once = max(0, sent - resent_bytes)
    if sent == 0 or once < CARRIED * payload or case.wall_s <= 0:
        return None
    carried = min(payload, once)
    parts = (
        carried, max(0, segments - resent) * overhead, acknowledgements * overhead,
        resent_bytes + resent * overhead, once - carried,
    )  # fmt: skip
    line = limit.payload_bytes_per_s * limit.wire_bytes_per_packet / limit.payload_per_packet_bytes
    return (*parts, max(0, counted - sum(parts)), line * case.wall_s)
