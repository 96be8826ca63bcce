"""What the nodes' interfaces carried during a launch, and over the launches of a network."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fabricgauge.evidence.connections import CARRIED, address_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, InterfaceTraffic, Moved, NodeTraffic, Traffic
from fabricgauge.model.fabric import Fabric, is_adapter_port
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters
from fabricgauge.model.nccl import SUITES
from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.stats.series import node_of
from fabricgauge.words.networks import is_loopback
from fabricgauge.words.port_counters import (
    FULL_OCTETS,
    QUIET_PER_S,
    find_octets,
    find_packets,
    kind_of,
)

_TROUBLE = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")

#: Of what a link counts when it goes away and comes back, the rule ``links`` tells.
LINK_COUNTS = frozenset({"link_downed", "link_error_recovery"})


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
    sent, received = Counter[str](), Counter[str]()
    for counters, payload_bytes in counted:
        if back := _went_backwards(counters):
            where = f"{node}:{back}"
            left_out.append(f"launch {launch.number}: the counters of {where} went backwards")
            continue
        own = sum(payload_bytes[one] for one in ranks if 0 <= one < len(payload_bytes))
        received_octets, seen = _octets(counters)
        left_out += _blind(counters, node, launch.number)
        # What was not read may have carried what the others did not.
        if (counters.absent or _full(counters)) and sum(seen.values()) < own:
            continue
        payload += own
        sent.update(seen)
        received.update(received_octets)
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


def _went_backwards(counters: NodeCounters) -> str:
    """An interface whose counters wrapped or were reset, empty if there is none."""
    for name, before in sorted(counters.before.items()):
        after = counters.after.get(name)
        if after and (after.tx_bytes < before.tx_bytes or after.rx_bytes < before.rx_bytes):
            return name
    return ""


def path_ends(fabric: Fabric, node: str, octets: dict[str, int], *, by_tcp: bool) -> dict[str, int]:
    """Where paths end; a port of an adapter counts what TCP sends over its netdev once more."""
    kept = {name: n for name, n in octets.items() if not (by_tcp and is_adapter_port(name))}
    found = fabric.node(node)
    return kept if isinstance(found, Skipped) else found.path_ends(kept)


def _octets(counters: NodeCounters) -> tuple[dict[str, int], dict[str, int]]:
    """The octets received and sent, by interface.

    Of a port whose driver keeps none of the standard's, or leaves them at 0, those of its own. A
    port whose counter is full is left out.
    """
    received, sent = dict[str, int](), dict[str, int]()
    for name, after in counters.after.items():
        before = counters.before.get(name)
        if before and name not in _full(counters):
            received[name] = after.rx_bytes - before.rx_bytes
            sent[name] = after.tx_bytes - before.tx_bytes
    for name, rises in counters.ports.items():
        own = find_octets(rises)
        if own and not received.get(name) and not sent.get(name):
            received[name], sent[name] = own
    return received, sent


def _full(counters: NodeCounters) -> tuple[str, ...]:
    """Ports whose counters of what was sent count no further."""
    return tuple(
        name
        for name, after in sorted(counters.after.items())
        if is_adapter_port(name) and after.tx_bytes == FULL_OCTETS
    )


def _blind(counters: NodeCounters, node: str, launch: int) -> Iterator[str]:
    """What cannot be seen of a node, and why."""
    for name, rises in sorted(counters.ports.items()):
        if name not in (*counters.after, *counters.absent) and find_octets(rises) is None:
            # Its driver counts packets at most.
            yield f"{node}: {name} counts no octets: what crosses it shows on its interface alone"
    for name, reason in sorted(counters.absent.items()):
        yield f"launch {launch}: {node}: the counters of {name} could not be read: {reason}"
    for name in _full(counters):
        yield f"launch {launch}: {node}: the counter of {name} is full"


def _by_address(measurements: tuple[Measurement, ...], ranks: Sequence[int]) -> dict[str, int]:
    sent = Counter[str]()
    for measurement in measurements:
        for socket in (one for rank in ranks for one in measurement.sockets_of(rank)):
            sent[address_of(socket.local)] += max(0, socket.sent_bytes)
    return dict(sent)


def troubles(launches: Iterable[Launch]) -> tuple[ErrorCount, ...]:
    """Error and drop counters that rose, summed over all cases, largest first."""
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
    found = (ErrorCount(*key, *sums) for key, sums in total.items() if sums[0] > 0)
    return tuple(sorted(found, key=lambda one: (-one.count, one.node, one.interface, one.counter)))


def _rises(counters: NodeCounters) -> Iterator[tuple[str, str, int, int]]:
    for name, rises in counters.ports.items():
        packets = find_packets(rises) or _packets(counters, name)
        for counter, rise in rises.items():
            if kind_of(counter) and counter not in LINK_COUNTS:
                yield name, counter, rise, max(packets)
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


def _packets(counters: NodeCounters, name: str) -> tuple[int, int]:
    before, after = counters.before.get(name), counters.after.get(name)
    if before is None or after is None:
        return 0, 0
    return after.rx_packets - before.rx_packets, after.tx_packets - before.tx_packets


def traffic(
    fabric: Fabric,
    network: str | None,
    launches: Sequence[Launch],
    carried_by: Sequence[Moved],
    risen: Sequence[ErrorCount],
) -> Traffic:
    """The account of all launches that were pinned to one network, from what each of them moved.

    The octets are those of the path proof: of cases that came to their proper end, of interfaces
    that end a path. Errors and drops are those of all cases.
    """
    read: dict[str, dict[str, int]] = {}
    for launch in launches:
        for counters in launch.all_counters:
            names = _octets(counters)[1]
            read.setdefault(node_of(launch, counters.rank), {}).update(dict.fromkeys(names, 0))
    carried_of: dict[str, list[Moved]] = {name: [] for name in read}
    for one in carried_by:
        carried_of[one.node].append(one)
    nodes = []
    for name, carried in sorted(carried_of.items()):
        none = path_ends(fabric, name, read[name], by_tcp=all(one.by_tcp for one in carried))
        sent, received = Counter(none), Counter(none)
        for one in carried:
            _add(sent, one.sent_bytes)
            _add(received, one.received_bytes)
        crossings = tuple(
            _crossing(fabric, network, name, interface, sent, received, risen)
            for interface in sorted(sent, key=lambda one: (-sent[one], one))
        )
        nodes.append(NodeTraffic(name, sum(one.payload_bytes for one in carried), crossings))
    return Traffic(network, len(launches), tuple(nodes))


def _add(total: Counter[str], more: Mapping[str, int]) -> None:
    """A counter that went backwards adds nothing."""
    total.update({name: max(0, count) for name, count in more.items()})


def _crossing(
    fabric: Fabric, network: str | None, node: str, interface: str, sent: Counter[str],
    received: Counter[str], risen: Sequence[ErrorCount],
) -> InterfaceTraffic:  # fmt: skip
    serves = tuple(
        one.name
        for one in fabric.networks
        for member in one.members
        if (member.node, member.interface) == (node, interface)
    )
    here = [one for one in risen if (one.node, one.interface) == (node, interface)]
    every = sent.total()
    return InterfaceTraffic(
        interface=interface,
        serves=serves,
        pinned=network in serves or (is_loopback(network) and interface == "lo"),
        sent_bytes=sent[interface],
        received_bytes=received[interface],
        share=sent[interface] / every if every else Skipped("no interface counted an octet"),
        errors=sum(one.count for one in here if kind_of(one.counter) == "errors"),
        dropped=sum(one.count for one in here if kind_of(one.counter) == "drops"),
    )


def accounted_bytes(curves: Sequence[SuiteCurve]) -> tuple[int, ...]:
    """The least bytes that each rank sent, by what the curves say: two ranks, or a collective's.

    A table with two quantities tells of the same messages twice: only the one with more bytes
    counts. Windows and warm-up are left out: no log tells all of them.
    """
    most: dict[tuple[str, int, int], int] = {}
    for curve in curves:
        sent = _streamed(curve) or sum(
            one.message_bytes * max(1, one.estimate.samples)
            for one in curve.points
            if one.message_bytes is not None
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


def _streamed(curve: SuiteCurve) -> int:
    """What a stream of a set time carried: its mean rate by its seconds."""
    try:
        seconds = float(curve.settings.get("duration", "0 s").removesuffix(" s"))
    except ValueError:
        return 0
    if curve.quantity != "bandwidth" or not 0 < seconds < 1e6:
        return 0
    return int(sum(one.estimate.value for one in curve.points) * seconds)
