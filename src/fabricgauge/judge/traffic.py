"""What the nodes' interfaces and connections carried during a launch."""

from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.judge.subject import ok
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters, Socket
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of

_TROUBLE = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


class Moved(msgspec.Struct, frozen=True):
    """One node over a launch's ok cases: payload of its rank, octets sent per interface.

    ``by_address`` is what the rank's TCP connections sent, by local address.
    ``left_out`` says which counters could not be used, and why.
    """

    node: str
    rank: int
    payload_bytes: int
    sent_bytes: dict[str, int]
    by_address: dict[str, int]
    left_out: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        return sum(self.sent_bytes.values())


class Trouble(msgspec.Struct, frozen=True):
    """An error or drop counter of an interface that rose by ``count`` during a case."""

    node: str
    interface: str
    counter: str
    count: int


def moved(launch: Launch, fabric: Fabric) -> tuple[Moved, ...]:
    """One value per node whose counters were read, by rank."""
    measurements = ok(launch)
    ranks = sorted({one.rank for m in measurements for one in m.counters})
    return tuple(_moved(launch, fabric, measurements, rank) for rank in ranks)


def _moved(launch: Launch, fabric: Fabric, ok_ones: tuple[Measurement, ...], rank: int) -> Moved:
    node = node_of(launch, rank)
    payload, sent, left_out = 0, dict[str, int](), list[str]()
    for measurement in ok_ones:
        for counters in measurement.counters:
            if counters.rank != rank:
                continue
            backwards = _backwards(counters)
            if backwards:
                left_out.append(
                    f"case {measurement.case}: the counters of {node}:{backwards} went backwards"
                )
                continue
            payload += _payload(measurement, rank)
            _add(sent, counters)
    endpoints = _endpoints(fabric, node, sent)
    return Moved(node, rank, payload, endpoints, _by_address(ok_ones, rank), tuple(left_out))


def _payload(measurement: Measurement, rank: int) -> int:
    sent = measurement.payload_sent_bytes
    return sent[rank] if 0 <= rank < len(sent) else 0


def _backwards(counters: NodeCounters) -> str:
    """An interface whose counters wrapped or were reset, empty if there is none."""
    for name, before in sorted(counters.before.items()):
        after = counters.after.get(name)
        if after and (after.tx_bytes < before.tx_bytes or after.rx_bytes < before.rx_bytes):
            return name
    return ""


def _add(sent: dict[str, int], counters: NodeCounters) -> None:
    for name, after in counters.after.items():
        before = counters.before.get(name)
        if before:
            sent[name] = sent.get(name, 0) + after.tx_bytes - before.tx_bytes


def _endpoints(fabric: Fabric, node: str, sent: dict[str, int]) -> dict[str, int]:
    """Octets of the interfaces that end a path, so that none is counted twice.

    The members of a bond or bridge have no address of their own and count what it
    counts; ``eth0`` counts what its VLAN ``eth0.7`` sends.
    """
    found = fabric.node(node)
    bare = () if isinstance(found, Skipped) else _bare(found.interfaces)
    without = {interface.name for interface in bare}
    left = {name: count for name, count in sent.items() if name not in without}
    for name in left:
        parent = name.rpartition(".")[0]
        if parent in left:
            left[parent] = max(0, left[parent] - left[name])
    return left


def _bare(interfaces: Iterable[Interface]) -> Iterator[Interface]:
    return (one for one in interfaces if not one.addresses and one.name != "lo")


def sockets(launch: Launch) -> Iterator[tuple[int, Measurement, Socket]]:
    """Rank, case and connection of every connection in the launch's ok cases."""
    for measurement in ok(launch):
        for rank, connections in enumerate(measurement.sockets):
            for connection in connections:
                yield rank, measurement, connection


def _by_address(measurements: tuple[Measurement, ...], rank: int) -> dict[str, int]:
    sent: dict[str, int] = {}
    for measurement in measurements:
        for connection in measurement.sockets[rank : rank + 1]:
            for socket in connection:
                ip = address_of(socket.local)
                sent[ip] = sent.get(ip, 0) + max(0, socket.sent_bytes)
    return sent


def address_of(endpoint: str) -> str:
    """The IP address of ``10.77.0.11:4711`` or ``[fd00::1]:4711``, without scope."""
    host = endpoint.rpartition(":")[0].strip("[]")
    return host.removeprefix("::ffff:").partition("%")[0]


def troubles(launches: Iterable[Launch]) -> tuple[Trouble, ...]:
    """Error and drop counters that rose, summed over all cases, largest first."""
    total: dict[tuple[str, str, str], int] = {}
    for launch in launches:
        for measurement in launch.measurements:
            for counters in measurement.counters:
                for name, counter, count in _rises(counters):
                    key = (node_of(launch, counters.rank), name, counter)
                    total[key] = total.get(key, 0) + count
    found = (Trouble(*key, count) for key, count in total.items())
    return tuple(sorted(found, key=lambda one: (-one.count, one.node, one.interface, one.counter)))


def _rises(counters: NodeCounters) -> Iterator[tuple[str, str, int]]:
    for name, before in counters.before.items():
        after: InterfaceCounters | None = counters.after.get(name)
        for counter in _TROUBLE if after else ():
            rise = getattr(after, counter) - getattr(before, counter)
            if rise > 0:
                yield name, counter, rise
