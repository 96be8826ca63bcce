"""Where a link's time went in each stream: payload, headers, acknowledgements, resent, idle.

Of TCP alone, whose connections count what they send. Frames are TCP's segments, because an
interface that splits segments itself may count each of them once.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fabricgauge.evidence.connections import CARRIED
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.evidence import WireLedger, WireShares
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.stats.series import node_of

STREAMS = ("bandwidth", "put_bandwidth", "get_bandwidth", "bidirectional_bandwidth")

#: Preamble and start of frame, check sequence, gap (IEEE 802.3): no interface counts them.
UNCOUNTED_BYTES = 8 + 4 + 12


class _Octets(NamedTuple):
    """On the wire in one direction; ``line`` is what it could have carried meanwhile."""

    payload: float
    headers: float
    acknowledgements: float
    resent: float
    mpi: float
    other: float
    line: float


class _Sent(NamedTuple):
    network: str
    pattern: str
    message_bytes: int
    origin: str
    target: str
    sender: str


def ledgers(run: Run, ceilings: Mapping[str, Ceiling | Skipped]) -> tuple[WireLedger, ...]:
    """One per stream, message size and sending end, over all launches, in the order measured."""
    found: dict[_Sent, list[_Octets]] = {}
    for launch in run.launches:
        limit = ceilings.get(launch.network or "")
        if isinstance(limit, Ceiling):
            for key, octets in _of_launch(launch, run.fabric, limit):
                found.setdefault(key, []).append(octets)
    return tuple(
        WireLedger(*key, cases=len(each), shares=_shares(each)) for key, each in found.items()
    )


def _of_launch(launch: Launch, fabric: Fabric, limit: Ceiling) -> Iterator[tuple[_Sent, _Octets]]:
    for one in launch.completed:
        # Filling and comparing messages takes time in which the wire is idle.
        if one.pattern not in STREAMS or one.data_check.requested:
            continue
        origin, target = node_of(launch, one.origin), node_of(launch, one.target)
        for rank, sender in ((one.origin, origin), (one.target, target)):
            octets = _octets(one, rank, _counted_bytes(one, launch, fabric, rank), limit)
            if octets is not None:
                yield (
                    _Sent(limit.network, one.pattern, one.message_bytes, origin, target, sender),
                    octets,
                )


def _counted_bytes(one: Measurement, launch: Launch, fabric: Fabric, rank: int) -> int:
    """What the sender's interface on the network sent, frames whole; 0 where nobody counted."""
    members = {
        (member.node, member.interface)
        for network in fabric.networks
        for member in network.members
        if network.name == launch.network
    }
    node = node_of(launch, rank)
    return sum(
        after.tx_bytes
        - counters.before[name].tx_bytes
        + UNCOUNTED_BYTES * (after.tx_packets - counters.before[name].tx_packets)
        for counters in one.counters
        if node_of(launch, counters.rank) == node
        for name, after in counters.after.items()
        if (node, name) in members and name in counters.before
    )


def _octets(one: Measurement, rank: int, counted: int, limit: Ceiling) -> _Octets | None:
    """None where TCP did not carry the payload, or its segments were not counted."""
    sent_by = one.payload_sent_bytes
    payload = sent_by[rank] if 0 <= rank < len(sent_by) else 0
    overhead = limit.wire_bytes_per_packet - limit.payload_per_packet_bytes
    sent = segments = acknowledgements = again = again_bytes = 0
    for socket in one.sockets_of(rank):
        if isinstance(socket.data_segments, Skipped) or isinstance(
            socket.acknowledgements, Skipped
        ):
            return None
        sent += max(0, socket.sent_bytes)
        segments += max(0, socket.data_segments)
        acknowledgements += max(0, socket.acknowledgements)
        again += max(0, socket.retransmitted_segments)
        again_bytes += max(0, socket.retransmitted_segments * socket.segment_bytes)
    # The kernel counts what is sent again among what is sent (tcp_info, Linux 4.19).
    once = max(0, sent - again_bytes)
    if sent == 0 or once < CARRIED * payload or one.wall_s <= 0:
        return None
    carried = min(payload, once)
    parts = (
        carried, max(0, segments - again) * overhead, acknowledgements * overhead,
        again_bytes + again * overhead, once - carried,
    )  # fmt: skip
    line = limit.payload_bytes_per_s * limit.wire_bytes_per_packet / limit.payload_per_packet_bytes
    return _Octets(*parts, max(0, counted - sum(parts)), line * one.wall_s)


def _shares(each: list[_Octets]) -> WireShares:
    """A token bucket's burst may have carried more than the line does: then nothing was idle."""
    total = _Octets(*map(sum, zip(*each, strict=True)))
    used = sum(total[:-1])
    whole = max(total.line, used)
    idle = max(0.0, total.line - used)
    return WireShares(*(part / whole for part in (*total[:-1], idle)))
