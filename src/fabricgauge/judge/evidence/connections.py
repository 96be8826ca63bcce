"""Figures of the ranks' TCP connections in a run's cases, from the kernel's TCP_INFO."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from operator import attrgetter

from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LostSegments
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Measurement, Socket
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.run import Launch

#: TCP carried the payload if TCP connections sent at least this share of it.
CARRIED = 0.5

#: A connection that sent fewer bytes may not have sent a full segment yet.
FULL_SEGMENT_BYTES = 1 << 20


def carried_by_tcp(launches: Iterable[Launch]) -> bool:
    """Check whether TCP connections carried the payload of the launches' ok cases."""
    launches = tuple(launches)
    payload = sum(sum(case.payload_sent_bytes) for launch in launches for case in launch.completed)
    sent = sum(socket.sent_bytes for launch in launches for socket in _sockets(launch))
    return sent > 0 and sent >= CARRIED * payload


def _sockets(launch: Launch) -> Iterator[Socket]:
    return (socket for case in launch.completed for socket in case.all_sockets)


def address_of(endpoint: str) -> str:
    """Return the IP address of ``10.77.0.11:4711`` or ``[fd00::1]:4711``, without scope."""
    host = endpoint.rpartition(":")[0].strip("[]")
    return host.removeprefix("::ffff:").partition("%")[0]


def lost_segments(measurement: Measurement) -> tuple[int, float]:
    """Return how many TCP segments of a case's sender were lost, and about how many it sent."""
    return count_segments(measurement, measurement.sender)


def count_retransmissions(
    launches: Iterable[Launch], addresses: Container[str] | None
) -> tuple[LostSegments, ...]:
    """Return the losses of each direction, over all ok cases of pairs.

    ``addresses`` are the local addresses that count, None for all. Cases of many ranks are left
    out: their records do not show in which direction a segment was lost.
    """
    lost, segments = Counter[Ends](), dict[Ends, float]()
    for launch in launches:
        for case in (case for case in launch.completed if case.pattern in PAIR_PATTERNS):
            for rank in range(len(case.sockets)):
                peer = case.target if rank == case.origin else case.origin
                ends = (node_of(launch, rank), node_of(launch, peer))
                missed, sent_segments = count_segments(case, rank, addresses)
                lost[ends] += missed
                segments[ends] = segments.get(ends, 0.0) + sent_segments
    return tuple(LostSegments(*ends, max(0, lost[ends]), segments[ends]) for ends in sorted(lost))


def find_retransmitted_shares(
    launches: Iterable[Launch], addresses: Container[str] | None
) -> dict[str, float]:
    """Return the share of its segments that each node sent again in all-pairs streams, 0 to 1."""
    lost, segments = Counter[str](), dict[str, float]()
    for launch in launches:
        for case in (case for case in launch.completed if case.pattern == "all_pairs_bandwidth"):
            for rank in range(len(case.sockets)):
                node = node_of(launch, rank)
                missed, sent_segments = count_segments(case, rank, addresses)
                lost[node] += missed
                segments[node] = segments.get(node, 0.0) + sent_segments
    return {node: max(0, lost[node]) / sent for node, sent in segments.items() if sent > 0}


def count_segments(
    measurement: Measurement, rank: int, addresses: Container[str] | None = None
) -> tuple[int, float]:
    """Return how many TCP segments of a rank were lost, and about how many it sent."""
    lost, segments = 0, 0.0
    for connection in measurement.sockets_of(rank):
        if connection.segment_bytes > 0 and (
            addresses is None or address_of(connection.local) in addresses
        ):
            lost += connection.lost_segments
            segments += max(0.0, connection.segments)
    return lost, segments


def find_largest_segments(launches: Iterable[Launch], network: Network | Skipped) -> dict[str, int]:
    """Return each member's largest TCP segment in bytes, by ``node:interface``."""
    members = () if isinstance(network, Skipped) else network.members
    names = {member.ip: f"{member.node}:{member.interface}" for member in members}
    largest: dict[str, int] = {}
    for launch in launches if names else ():
        for socket in _sockets(launch):
            name = names.get(address_of(socket.local))
            if name and socket.sent_bytes >= FULL_SEGMENT_BYTES and socket.segment_bytes > 0:
                largest[name] = max(largest.get(name, 0), socket.segment_bytes)
    return largest


def acknowledged(measurement: Measurement) -> float | None:
    """Return acknowledgements per segment with payload, over both ends; None if not counted.

    Records before format 2.1 do not count them. Transports other than TCP have none.
    """
    segments = acknowledgements = 0
    for socket in measurement.all_sockets:
        if isinstance(socket.data_segments, int) and isinstance(socket.acknowledgements, int):
            segments += socket.data_segments
            acknowledgements += socket.acknowledgements
    return acknowledgements / segments if segments else None


def busy_share(measurement: Measurement) -> float | None:
    """Return the share of a case's time with data under way from its sender; None if unknown.

    It is unknown if messages were filled and compared, which takes time without data under way.
    """
    connections = measurement.sockets_of(measurement.sender)
    busy_s = sum(connection.busy_s for connection in connections if connection.sent_bytes > 0)
    if measurement.data_check.requested or busy_s <= 0 or measurement.wall_s <= 0:
        return None
    return busy_s / measurement.wall_s


def held_by_receiver(measurement: Measurement) -> float:
    """Return the share of the time with data waiting in which the receiver's window was full."""
    return _share_of_busy(measurement, attrgetter("rwnd_limited_s"))


def held_by_sender(measurement: Measurement) -> float:
    """Return the share of the time with data waiting in which the sender's buffer was full."""
    return _share_of_busy(measurement, attrgetter("sndbuf_limited_s"))


def _share_of_busy(measurement: Measurement, limited_s: Callable[[Socket], float]) -> float:
    connections = measurement.sockets_of(measurement.sender)
    busy_s = sum(connection.busy_s for connection in connections)
    return sum(map(limited_s, connections)) / busy_s if busy_s > 0 else 0.0
