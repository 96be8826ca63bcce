"""What the nodes' interfaces carried during a launch."""

from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.evidence.connections import CARRIED, address_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, Moved
from fabricgauge.model.fabric import Fabric, is_adapter_port
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of

_TROUBLE = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


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


def _octets(counters: NodeCounters, counter: str) -> dict[str, int]:
    """By how much a counter of octets rose, by interface."""
    return {
        name: getattr(after, counter) - getattr(counters.before[name], counter)
        for name, after in counters.after.items()
        if name in counters.before
    }


def _by_address(measurements: tuple[Measurement, ...], ranks: Sequence[int]) -> dict[str, int]:
    sent: dict[str, int] = {}
    for measurement in measurements:
        for socket in (one for rank in ranks for one in measurement.sockets_of(rank)):
            ip = address_of(socket.local)
            sent[ip] = sent.get(ip, 0) + max(0, socket.sent_bytes)
    return sent


def troubles(launches: Iterable[Launch]) -> tuple[ErrorCount, ...]:
    """Error and drop counters that rose, summed over all cases, largest first."""
    total: dict[tuple[str, str, str], tuple[int, int]] = {}
    for launch in launches:
        for node_counters in launch.all_counters:
            for name, counter, count, frames in _rises(node_counters):
                key = (node_of(launch, node_counters.rank), name, counter)
                before = total.get(key, (0, 0))
                total[key] = (before[0] + count, before[1] + frames)
    found = (ErrorCount(*key, *risen) for key, risen in total.items() if risen[0] > 0)
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
