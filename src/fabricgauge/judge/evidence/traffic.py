"""Sum what nodes' interfaces carried in a launch, and over all launches of a network."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fabricgauge.judge.evidence.connections import CARRIED, address_of
from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import (
    ErrorCount,
    InterfaceTraffic,
    LaunchTraffic,
    NodeTraffic,
    Traffic,
)
from fabricgauge.model.fabric import Fabric, is_adapter_port
from fabricgauge.model.groups import group_by
from fabricgauge.model.measurement import InterfaceCounters, NodeCounters, Rise
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words.networks import is_loopback
from fabricgauge.model.words.port_counters import (
    FULL_OCTETS,
    QUIET_PER_S,
    find_octets,
    find_packets,
    kind_of,
)

_TROUBLE = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")

#: An adapter is idle below this share of its even part of the payload. Connection setup and fabric
#: management cross each adapter.
IDLE = 0.1

#: The rule ``link`` reports what a link counts when it goes away and comes back.
LINK_COUNTS = frozenset({"link_downed", "link_error_recovery"})


def sum_octets(launch: Launch, fabric: Fabric) -> tuple[LaunchTraffic, ...]:
    """Return a value per node whose counters were read, by rank."""
    copied = _find_copies(launch)
    ranks_of_node = group_by(range(len(launch.nodes)), launch.nodes.__getitem__)
    counted = group_by(launch.counted, lambda reading: reading[0].rank)
    return tuple(
        _sum_node_octets(
            launch, fabric, rank, ranks_of_node.get(node_of(launch, rank), (rank,)),
            counted[rank], copied,
        )
        for rank in sorted(counted)
    )  # fmt: skip


def without_traffic(counted: Mapping[str, int], payload_bytes: float) -> list[str]:
    """Return adapters that carried none of a shared payload, by the bytes that each sent."""
    least = IDLE * payload_bytes / len(counted)
    return [name for name, sent in counted.items() if sent < least]


def _sum_node_octets(
    launch: Launch,
    fabric: Fabric,
    rank: int,
    ranks: Sequence[int],
    counted: Iterable[tuple[NodeCounters, tuple[int, ...]]],
    copied: Mapping[int, str],
) -> LaunchTraffic:
    """Sum the node's counters, read by ``rank``, and the payload of all its ``ranks``."""
    node = node_of(launch, rank)
    payload, received_payload, left_out = 0, 0, list[str]()
    sent, received = Counter[str](), Counter[str]()
    for counters, payload_bytes in counted:
        if reset_name := _find_reset(counters):
            interface = f"{node}:{reset_name}"
            left_out.append(f"launch {launch.number}: the counters of {interface} went backwards")
            continue
        if other := copied.get(id(counters)):
            left_out.append(f"launch {launch.number}: {node} and {other} have the same counters")
            continue
        own_bytes = sum(
            payload_bytes[sender] for sender in ranks if 0 <= sender < len(payload_bytes)
        )
        received_octets, sent_octets = _read_octets(counters)
        left_out += _describe_unread(counters, node, launch.number)
        # An interface that was not read may have carried the rest.
        if (counters.absent or _full(counters)) and sum(sent_octets.values()) < own_bytes:
            continue
        payload += own_bytes
        received_payload += _find_received(launch, ranks, payload_bytes)
        sent.update(sent_octets)
        received.update(received_octets)
    by_address = Counter[str]()
    for case in launch.completed:
        for socket in (socket for rank in ranks for socket in case.sockets_of(rank)):
            by_address[address_of(socket.local)] += max(0, socket.sent_bytes)
    by_tcp = sum(by_address.values()) >= CARRIED * payload
    return LaunchTraffic(
        node=node,
        rank=rank,
        payload_bytes=payload,
        sent_bytes=keep_path_ends(fabric, node, sent, by_tcp=by_tcp),
        received_bytes=keep_path_ends(fabric, node, received, by_tcp=by_tcp),
        by_tcp=by_tcp,
        by_address=dict(by_address),
        left_out=tuple(dict.fromkeys(left_out)),
        received_payload_bytes=received_payload,
    )


def _find_received(launch: Launch, ranks: Sequence[int], payload_bytes: Sequence[int]) -> int:
    """Return the payload that other ranks sent to a node's; 0 if some of it may be for others."""
    is_pair = _are_two(launch.nodes)
    # This is asked once for each node: a case of many nodes ends here.
    if not is_pair and len(payload_bytes) - payload_bytes.count(0) > 2:
        return 0
    sent = {rank: count for rank, count in enumerate(payload_bytes) if count > 0}
    is_pair = is_pair or (len(sent) == 2 and not sent.keys().isdisjoint(ranks))
    return sum(count for rank, count in sent.items() if rank not in ranks) if is_pair else 0


def _are_two(nodes: Iterable[str]) -> bool:
    """Check whether there are two different nodes; end at the third."""
    different = set[str]()
    for node in nodes:
        different.add(node)
        if len(different) > 2:
            return False
    return len(different) == 2


def _find_copies(launch: Launch) -> dict[int, str]:
    """Return readings that equal another node's, by identity, with that node."""
    # Two nodes never count the same octets and packets since boot on all their interfaces.
    copies: dict[int, str] = {}
    readings = [(counters, node_of(launch, counters.rank)) for counters, _ in launch.counted]
    for moved, same in group_by(readings, lambda reading: _read_moved(reading[0])).items():
        for counters, node in same if moved else ():
            if others := [name for _, name in same if name != node]:
                copies[id(counters)] = others[0]
    return copies


def _read_moved(counters: NodeCounters) -> tuple[tuple[int, ...], ...]:
    # An interface that had counted nothing before is left out: two new ones may count the same.
    return tuple(
        (*_read_frames(before), *_read_frames(after))
        for name, before in sorted(counters.before.items())
        if name != "lo" and (after := counters.after.get(name))
        and after.rx_bytes > before.rx_bytes > 0 and after.tx_bytes > before.tx_bytes > 0
    )  # fmt: skip


def _read_frames(counts: InterfaceCounters) -> tuple[int, ...]:
    return counts.rx_bytes, counts.tx_bytes, counts.rx_packets, counts.tx_packets


def _find_reset(counters: NodeCounters) -> str:
    """Return an interface whose counters wrapped or were reset, empty if there is none."""
    for name in sorted(counters.before):
        rise = counters.rise(name)
        if rise is not None and min(rise.sent_bytes, rise.received_bytes) < 0:
            return name
    return ""


def keep_path_ends(
    fabric: Fabric, node: str, octets: dict[str, int], *, by_tcp: bool
) -> dict[str, int]:
    """Return the octets where paths end; an adapter's port counts TCP of its netdev once more."""
    kept = {name: n for name, n in octets.items() if not (by_tcp and is_adapter_port(name))}
    known_node = fabric.node(node)
    return kept if isinstance(known_node, Skipped) else known_node.path_ends(kept)


def _read_octets(counters: NodeCounters) -> tuple[dict[str, int], dict[str, int]]:
    """Return the octets received and sent, by interface; a port with a full counter has none."""
    received, sent = dict[str, int](), dict[str, int]()
    for name in counters.after:
        rise = counters.rise(name)
        if rise is not None and name not in _full(counters):
            received[name], sent[name] = rise.received_bytes, rise.sent_bytes
    for name, rises in counters.ports.items():
        own_counts = find_octets(rises)
        # They count if the driver has no standard counters, or leaves them at 0.
        if own_counts and not received.get(name) and not sent.get(name):
            received[name], sent[name] = own_counts
    return received, sent


def _full(counters: NodeCounters) -> tuple[str, ...]:
    """Return ports whose counters of sent octets count no further."""
    return tuple(
        name
        for name, after in sorted(counters.after.items())
        if is_adapter_port(name) and after.tx_bytes == FULL_OCTETS
    )


def _describe_unread(counters: NodeCounters, node: str, launch: int) -> Iterator[str]:
    """Yield what is unknown about a node, and why."""
    for name, rises in sorted(counters.ports.items()):
        if name not in (*counters.after, *counters.absent) and find_octets(rises) is None:
            # Its driver counts only packets, or nothing.
            yield f"{node}: {name} counts no octets: only its interface shows its traffic"
    for name, reason in sorted(counters.absent.items()):
        yield f"launch {launch}: {node}: the counters of {name} could not be read: {reason}"
    for name in _full(counters):
        yield f"launch {launch}: {node}: the counter of {name} is full"


def sum_errors(launches: Iterable[Launch]) -> tuple[ErrorCount, ...]:
    """Sum error and drop counters that rose over all cases, largest first."""
    total: dict[tuple[str, str, str], tuple[int, int, float]] = {}
    for launch in launches:
        for node_counters in launch.all_counters:
            node, read = node_of(launch, node_counters.rank), node_counters.read_utc_s
            strays = QUIET_PER_S["drops"] * max(0.0, read[-1] - read[0]) if read else 0.0
            for name, counter, count, frames in _rises(node_counters):
                counts, passed, quiet = total.get((node, name, counter), (0, 0, 0.0))
                if counter == "rx_dropped" and not is_adapter_port(name):
                    quiet += strays
                total[node, name, counter] = counts + count, passed + frames, quiet
    errors = [ErrorCount(*key, *sums) for key, sums in sorted(total.items()) if sums[0] > 0]
    return tuple(sorted(errors, key=lambda error: -error.count))


def _rises(counters: NodeCounters) -> Iterator[tuple[str, str, int, int]]:
    for name, rises in counters.ports.items():
        crossed = counters.rise(name) or Rise()
        packets = find_packets(rises) or (crossed.received_packets, crossed.sent_packets)
        for counter, rise in rises.items():
            if kind_of(counter) and counter not in LINK_COUNTS:
                yield name, counter, rise, max(packets)
    for name, before in counters.before.items():
        after: InterfaceCounters | None = counters.after.get(name)
        for counter in _TROUBLE if after else ():
            first, last = getattr(before, counter), getattr(after, counter)
            if isinstance(first, Skipped) or isinstance(last, Skipped):
                continue
            rise = last - first
            passed = f"{counter[:2]}_packets"
            frames = getattr(after, passed) - getattr(before, passed)
            yield name, counter, max(0, rise), max(0, frames)


def sum_traffic(
    fabric: Fabric,
    network: str | None,
    launches: Sequence[Launch],
    carried_by: Sequence[LaunchTraffic],
    risen: Sequence[ErrorCount],
) -> Traffic:
    """Sum the traffic of all launches that were pinned to one network.

    The octets are those of the path proof: from cases that ended well and interfaces that end a
    path. Errors and drops are those of all cases.
    """
    read_interfaces: dict[str, dict[str, int]] = {}
    for launch in launches:
        for counters in launch.all_counters:
            names = _read_octets(counters)[1]
            read_interfaces.setdefault(node_of(launch, counters.rank), {}).update(
                dict.fromkeys(names, 0)
            )
    traffic_by_node = group_by(carried_by, lambda moved: moved.node)
    nodes = []
    for node in sorted(read_interfaces):
        node_traffic = traffic_by_node.get(node, ())
        by_tcp = all(moved.by_tcp for moved in node_traffic)
        none = keep_path_ends(fabric, node, read_interfaces[node], by_tcp=by_tcp)
        sent, received = Counter(none), Counter(none)
        for moved in node_traffic:
            # A counter that went backwards adds nothing.
            sent.update({name: max(0, count) for name, count in moved.sent_bytes.items()})
            received.update({name: max(0, count) for name, count in moved.received_bytes.items()})
        crossings = tuple(
            _sum_interface(fabric, network, node, interface, sent, received, risen)
            for interface in sorted(sent, key=lambda name: (-sent[name], name))
        )
        payload_bytes = sum(moved.payload_bytes for moved in node_traffic)
        nodes.append(NodeTraffic(node, payload_bytes, crossings))
    return Traffic(network, len(launches), tuple(nodes))


def _sum_interface(
    fabric: Fabric, network: str | None, node: str, interface: str, sent: Counter[str],
    received: Counter[str], risen: Sequence[ErrorCount],
) -> InterfaceTraffic:  # fmt: skip
    serves = tuple(
        known.name
        for known in fabric.networks
        for member in known.rails_of(node)
        if member.interface == interface
    )
    errors = [error for error in risen if (error.node, error.interface) == (node, interface)]
    total_bytes = sent.total()
    share: float | Skipped = Skipped("no interface counted an octet")
    if total_bytes:
        share = sent[interface] / total_bytes
    return InterfaceTraffic(
        interface=interface,
        serves=serves,
        pinned=network in serves or (is_loopback(network) and interface == "lo"),
        sent_bytes=sent[interface],
        received_bytes=received[interface],
        share=share,
        errors=sum(error.count for error in errors if kind_of(error.counter) == "errors"),
        dropped=sum(error.count for error in errors if kind_of(error.counter) == "drops"),
    )


def accounted_bytes(curves: Sequence[SuiteCurve]) -> tuple[int, ...]:
    """Return the least bytes that each rank sent by these curves: two ranks, or a collective's.

    A table with two quantities describes the same messages twice: only the one with more bytes
    counts. Windows and warm-up are left out, because no log has all of them.
    """
    most: dict[tuple[str, int, int], int] = {}
    for curve in curves:
        sent = _stream_bytes(curve) or sum(
            point.message_bytes * max(1, point.estimate.samples)
            for point in curve.points
            if point.message_bytes is not None
        )
        if curve.suite in SUITES:
            ranks: Iterable[int] = range(max(2, curve.ranks or 2))
        elif curve.directions == 2 or curve.pattern in LATENCY_PATTERNS - {"put_latency"}:
            ranks = range(2)
        else:
            ranks = (0 if curve.origin == 0 else 1,)
        for rank in ranks:
            key = (curve.source, curve.first_line, rank)
            most[key] = max(sent, most.get(key, 0))
    by_rank = Counter[int]()
    for (_, _, rank), sent in most.items():
        by_rank[rank] += sent
    return tuple(by_rank[rank] for rank in range(max(2, 1 + max(by_rank, default=0))))


def _stream_bytes(curve: SuiteCurve) -> int:
    """Return the bytes of a stream of a set time: its mean rate by its seconds."""
    try:
        seconds = float(curve.settings.get("duration", "0 s").removesuffix(" s"))
    except ValueError:
        return 0
    if curve.quantity != "bandwidth" or not 0 < seconds < 1e6:
        return 0
    return int(sum(point.estimate.value for point in curve.points) * seconds)
