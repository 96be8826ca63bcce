"""What TCP connections of ranks did in the cases of a run, from the kernel's TCP_INFO."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import Lost
from fabricgauge.model.fabric import Network
from fabricgauge.model.measurement import Measurement, Socket
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of

#: From this share of the payload on, TCP connections carried it and no other transport.
CARRIED = 0.5

#: A connection that moved less may not have sent a full segment yet.
ENOUGH_BYTES = 1 << 20


def over_tcp(launches: Iterable[Launch]) -> bool:
    """Whether TCP connections carried the payload of the launches' ok cases."""
    launches = tuple(launches)
    payload = sum(sum(one.payload_sent_bytes) for launch in launches for one in launch.completed)
    sent = sum(socket.sent_bytes for launch in launches for socket in _sockets(launch))
    return sent > 0 and sent >= CARRIED * payload


def _sockets(launch: Launch) -> Iterator[Socket]:
    """Every connection in the launch's ok cases."""
    for measurement in launch.completed:
        for rank in range(len(measurement.sockets)):
            yield from measurement.sockets_of(rank)


def address_of(endpoint: str) -> str:
    """The IP address of ``10.77.0.11:4711`` or ``[fd00::1]:4711``, without scope."""
    host = endpoint.rpartition(":")[0].strip("[]")
    return host.removeprefix("::ffff:").partition("%")[0]


def lost_segments(measurement: Measurement) -> tuple[int, float]:
    """TCP segments of a case's sender that did not arrive, and about how many it sent."""
    return _segments(measurement, measurement.sender)


def retransmissions(launches: Iterable[Launch], ours: Container[str] | None) -> tuple[Lost, ...]:
    """Per direction, over all ok cases of pairs; ``ours`` are the local addresses that count.

    Which way segments were lost where many ranks worked at once, nothing tells.
    """
    lost, segments = Counter[tuple[str, str]](), dict[tuple[str, str], float]()
    for launch in launches:
        for one in (case for case in launch.completed if case.pattern in PAIR_PATTERNS):
            for rank in range(len(one.sockets)):
                peer = one.target if rank == one.origin else one.origin
                way = (node_of(launch, rank), node_of(launch, peer))
                missed, sent = _segments(one, rank, ours)
                lost[way] += missed
                segments[way] = segments.get(way, 0.0) + sent
    return tuple(Lost(*way, max(0, lost[way]), segments[way]) for way in sorted(lost))


def sent_again(launches: Iterable[Launch], ours: Container[str] | None) -> dict[str, float]:
    """Share of its segments that each node sent again in streams of all pairs, 0 to 1."""
    lost, segments = Counter[str](), dict[str, float]()
    for launch in launches:
        for one in (case for case in launch.completed if case.pattern == "all_pairs_bandwidth"):
            for rank in range(len(one.sockets)):
                node, (missed, sent) = node_of(launch, rank), _segments(one, rank, ours)
                lost[node] += missed
                segments[node] = segments.get(node, 0.0) + sent
    return {node: max(0, lost[node]) / sent for node, sent in segments.items() if sent > 0}


def _segments(
    measurement: Measurement, rank: int, ours: Container[str] | None = None
) -> tuple[int, float]:
    lost, segments = 0, 0.0
    for one in measurement.sockets_of(rank):
        if one.segment_bytes > 0 and (ours is None or address_of(one.local) in ours):
            lost += one.lost_segments
            segments += max(0.0, one.segments)
    return lost, segments


def largest_segments(launches: Iterable[Launch], network: Network | Skipped) -> dict[str, int]:
    """Bytes of the largest segment of each member's busy connections, by ``node:interface``."""
    members = () if isinstance(network, Skipped) else network.members
    ours = {member.ip: f"{member.node}:{member.interface}" for member in members}
    largest: dict[str, int] = {}
    for launch in launches if ours else ():
        for socket in _sockets(launch):
            name = ours.get(address_of(socket.local))
            if name and socket.sent_bytes >= ENOUGH_BYTES and socket.segment_bytes > 0:
                largest[name] = max(largest.get(name, 0), socket.segment_bytes)
    return largest


def acknowledged(measurement: Measurement) -> float | None:
    """Acknowledgements per segment with payload, over both ends; None where nothing counted them.

    A record before format 2.1 does not, and another transport than TCP has none.
    """
    segments = acknowledgements = 0
    for connections in measurement.sockets:
        for one in () if isinstance(connections, Skipped) else connections:
            if isinstance(one.data_segments, int) and isinstance(one.acknowledgements, int):
                segments += one.data_segments
                acknowledgements += one.acknowledgements
    return acknowledgements / segments if segments else None


def busy_share(measurement: Measurement) -> float | None:
    """Share of the case's time with data under way from its sender; None where it tells nothing.

    Filling and comparing data take time of their own.
    """
    connections = measurement.sockets_of(measurement.sender)
    busy_s = sum(one.busy_s for one in connections if one.sent_bytes > 0)
    if measurement.data_check.requested or busy_s <= 0 or measurement.wall_s <= 0:
        return None
    return busy_s / measurement.wall_s


def held_by_receiver(measurement: Measurement) -> float:
    """Share of the time with data waiting in which the receiver's window held the sender back."""
    return _held(measurement, [one.rwnd_limited_s for one in _of_sender(measurement)])


def held_by_sender(measurement: Measurement) -> float:
    """Share of the time with data waiting in which the sender's own buffer held it back."""
    return _held(measurement, [one.sndbuf_limited_s for one in _of_sender(measurement)])


def _held(measurement: Measurement, limited_s: Iterable[float]) -> float:
    busy_s = sum(one.busy_s for one in _of_sender(measurement))
    return sum(limited_s) / busy_s if busy_s > 0 else 0.0


def _of_sender(measurement: Measurement) -> tuple[Socket, ...]:
    return measurement.sockets_of(measurement.sender)
