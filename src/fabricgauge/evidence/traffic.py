"""What the nodes' interfaces and connections carried during a launch."""

from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, is_adapter_port
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters, Socket
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of

_TROUBLE = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")

#: From this share of the payload on, TCP connections carried it and no other transport.
CARRIED = 0.5


class Moved(msgspec.Struct, frozen=True):
    """One node over a launch's ok cases: payload of all its ranks, octets per interface.

    ``rank`` read the counters. ``by_tcp`` is whether TCP carried the payload, ``by_address`` is
    what the ranks' TCP connections sent, by local address. ``left_out`` says which counters could
    not be used, and why.
    """

    node: str
    rank: int
    payload_bytes: int
    sent_bytes: dict[str, int]
    received_bytes: dict[str, int]
    by_tcp: bool
    by_address: dict[str, int]
    left_out: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        return sum(self.sent_bytes.values())


class Trouble(msgspec.Struct, frozen=True):
    """An error or drop counter that rose by ``count`` while ``frames`` passed that way."""

    node: str
    interface: str
    counter: str
    count: int
    frames: int


class Lost(msgspec.Struct, frozen=True):
    """TCP segments of one direction: ``count`` of ``segments`` had to be sent again."""

    origin: str
    target: str
    count: int
    segments: float

    @property
    def share(self) -> float:
        return self.count / self.segments if self.segments > 0 else 0.0


def moved(launch: Launch, fabric: Fabric) -> tuple[Moved, ...]:
    """One value per node whose counters were read, by rank."""
    counted: dict[int, list[tuple[NodeCounters, tuple[int, ...]]]] = {}
    for counters, payload_bytes in launch.counted:
        counted.setdefault(counters.rank, []).append((counters, payload_bytes))
    beside: dict[str, list[int]] = {}
    for rank in range(len(launch.nodes)):
        beside.setdefault(node_of(launch, rank), []).append(rank)
    return tuple(
        _moved(launch, fabric, rank, beside.get(node_of(launch, rank), [rank]), counted[rank])
        for rank in sorted(counted)
    )


def _moved(
    launch: Launch,
    fabric: Fabric,
    rank: int,
    ranks: Sequence[int],
    counted: Iterable[tuple[NodeCounters, tuple[int, ...]]],
) -> Moved:
    """The node's counters, read by ``rank``, and the payload of all its ``ranks``."""
    node = node_of(launch, rank)
    payload, left_out = 0, list[str]()
    sent, received = dict[str, int](), dict[str, int]()
    for counters, payload_bytes in counted:
        if counters.went_backwards:
            where = f"{node}:{counters.went_backwards}"
            left_out.append(f"launch {launch.number}: the counters of {where} went backwards")
            continue
        own = sum(payload_bytes[one] for one in ranks if one < len(payload_bytes))
        seen = _octets(counters, "tx_bytes")
        left_out += _unread(f"launch {launch.number}: {node}", counters)
        # What was not read may have carried what the others did not.
        if counters.absent and sum(seen.values()) < own:
            continue
        payload += own
        for total, more in ((sent, seen), (received, _octets(counters, "rx_bytes"))):
            for name, count in more.items():
                total[name] = total.get(name, 0) + count
    by_address = _by_address(launch.completed, ranks)
    by_tcp = sum(by_address.values()) >= CARRIED * payload
    return Moved(
        node=node,
        rank=rank,
        payload_bytes=payload,
        sent_bytes=path_ends(fabric, node, sent, by_tcp=by_tcp),
        received_bytes=path_ends(fabric, node, received, by_tcp=by_tcp),
        by_tcp=by_tcp,
        by_address=by_address,
        left_out=tuple(dict.fromkeys(left_out)),
    )


def path_ends(fabric: Fabric, node: str, octets: dict[str, int], *, by_tcp: bool) -> dict[str, int]:
    """Where paths end; a port of an adapter counts what TCP sends over its netdev once more."""
    kept = {name: n for name, n in octets.items() if not (by_tcp and is_adapter_port(name))}
    found = fabric.node(node)
    return kept if isinstance(found, Skipped) else found.path_ends(kept)


def _unread(where: str, counters: NodeCounters) -> Iterator[str]:
    for name, reason in sorted(counters.absent.items()):
        yield f"{where}: the counters of {name} could not be read: {reason}"


def over_tcp(launches: Iterable[Launch]) -> bool:
    """Whether TCP connections carried the payload of the launches' ok cases."""
    launches = tuple(launches)
    payload = sum(sum(one.payload_sent_bytes) for launch in launches for one in launch.completed)
    sent = sum(socket.sent_bytes for launch in launches for _, _, socket in sockets(launch))
    return sent > 0 and sent >= CARRIED * payload


def _octets(counters: NodeCounters, counter: str) -> dict[str, int]:
    """By how much a counter of octets rose, by interface."""
    return {
        name: getattr(after, counter) - getattr(counters.before[name], counter)
        for name, after in counters.after.items()
        if name in counters.before
    }


def sockets(launch: Launch) -> Iterator[tuple[int, Measurement, Socket]]:
    """Rank, case and connection of every connection in the launch's ok cases."""
    for measurement in launch.completed:
        for rank in range(len(measurement.sockets)):
            for connection in measurement.sockets_of(rank):
                yield rank, measurement, connection


def _by_address(measurements: tuple[Measurement, ...], ranks: Sequence[int]) -> dict[str, int]:
    sent: dict[str, int] = {}
    for measurement in measurements:
        for socket in (one for rank in ranks for one in measurement.sockets_of(rank)):
            ip = address_of(socket.local)
            sent[ip] = sent.get(ip, 0) + max(0, socket.sent_bytes)
    return sent


def address_of(endpoint: str) -> str:
    """The IP address of ``10.77.0.11:4711`` or ``[fd00::1]:4711``, without scope."""
    host = endpoint.rpartition(":")[0].strip("[]")
    return host.removeprefix("::ffff:").partition("%")[0]


def troubles(launches: Iterable[Launch]) -> tuple[Trouble, ...]:
    """Error and drop counters that rose, summed over all cases, largest first."""
    total: dict[tuple[str, str, str], tuple[int, int]] = {}
    for launch in launches:
        for node_counters in launch.all_counters:
            for name, counter, count, frames in _rises(node_counters):
                key = (node_of(launch, node_counters.rank), name, counter)
                before = total.get(key, (0, 0))
                total[key] = (before[0] + count, before[1] + frames)
    found = (Trouble(*key, *risen) for key, risen in total.items() if risen[0] > 0)
    return tuple(sorted(found, key=lambda one: (-one.count, one.node, one.interface, one.counter)))


def _rises(counters: NodeCounters) -> Iterator[tuple[str, str, int, int]]:
    for name, before in counters.before.items():
        after: InterfaceCounters | None = counters.after.get(name)
        for counter in _TROUBLE if after else ():
            values = getattr(before, counter), getattr(after, counter)
            if any(isinstance(value, Skipped) for value in values):
                continue
            rise = values[1] - values[0]
            passed = f"{counter[:2]}_packets"
            frames = getattr(after, passed) - getattr(before, passed)
            yield name, counter, max(0, rise), max(0, frames)


def lost_segments(measurement: Measurement) -> tuple[int, float]:
    """TCP segments that the origin of a case sent again, and about how many it sent."""
    return _segments(measurement, measurement.origin)


def retransmissions(launches: Iterable[Launch], ours: Container[str] | None) -> tuple[Lost, ...]:
    """Per direction, over all ok cases of pairs; ``ours`` are the local addresses that count.

    Which way segments were lost where many ranks worked at once, nothing tells.
    """
    total: dict[tuple[str, str], tuple[int, float]] = {}
    for launch in launches:
        for one in (case for case in launch.completed if case.pattern in PAIR_PATTERNS):
            for rank in range(len(one.sockets)):
                peer = one.target if rank == one.origin else one.origin
                key = (node_of(launch, rank), node_of(launch, peer))
                lost, segments = _segments(one, rank, ours)
                before = total.get(key, (0, 0.0))
                total[key] = (before[0] + lost, before[1] + segments)
    return tuple(Lost(*key, *total[key]) for key in sorted(total))


def _segments(
    measurement: Measurement, rank: int, ours: Container[str] | None = None
) -> tuple[int, float]:
    lost, segments = 0, 0.0
    for one in measurement.sockets_of(rank):
        if one.segment_bytes > 0 and (ours is None or address_of(one.local) in ours):
            lost += max(0, one.retransmitted_segments)
            segments += max(0, one.sent_bytes) / one.segment_bytes
    return lost, segments
