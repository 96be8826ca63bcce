"""Which interface carried what, added up from the counters around every case.

The octets are those that the path proof uses: of cases that came to their proper end, of
interfaces that end a path. Errors and drops are those of all cases.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import is_adapter_port
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters
from fabricgauge.model.run import Launch, Run
from fabricgauge.words.networks import is_loopback


class Crossing(NamedTuple):
    """One interface's traffic during the cases, in octets as the interface counts them.

    ``share`` is that of everything the node sent, over all its interfaces. ``serves``
    names the networks that the interface belongs to; ``pinned`` is whether the launches
    were pinned to one of them.
    """

    interface: str
    serves: tuple[str, ...]
    pinned: bool
    sent_bytes: int
    received_bytes: int
    share: float | Skipped
    errors: int
    dropped: int


class NodeTraffic(NamedTuple):
    """A node's interfaces, busiest first; ``payload_bytes`` is what its ranks sent."""

    node: str
    payload_bytes: int
    crossings: tuple[Crossing, ...]


class Traffic(NamedTuple):
    """All launches that were pinned to the same network, or to none."""

    network: str | None
    launches: int
    nodes: tuple[NodeTraffic, ...]


class _Counts(NamedTuple):
    """What one node's interfaces counted, by their names; what its ranks sent."""

    sent: dict[str, int]
    received: dict[str, int]
    errors: dict[str, int]
    dropped: dict[str, int]
    payload_bytes: list[int]
    tcp_bytes: list[int]


#: From this share of the payload on, TCP connections carried it and no other transport.
_CARRIED = 0.5
#: A page with a row for each of more nodes is slow to open, and nobody reads it.
MOST_NODES = 64


def traffic(run: Run) -> tuple[Traffic, ...]:
    """The path proof: one entry per network that launches were pinned to."""
    networks = dict.fromkeys(one.network for one in run.launches if not one.imported)
    return tuple(
        _of_network(run, network, [one for one in run.launches if one.network == network])
        for network in networks
    )


def least_shares(nodes: Sequence[NodeTraffic], most: int = MOST_NODES) -> Sequence[NodeTraffic]:
    """All nodes; of more than ``most`` those that sent least of theirs over the pinned network."""
    return nodes if len(nodes) <= most else sorted(nodes, key=_pinned_share)[:most]


def _pinned_share(node: NodeTraffic) -> float:
    shares = (one.share for one in node.crossings if one.pinned)
    return sum(share for share in shares if not isinstance(share, Skipped))


def _of_network(run: Run, network: str | None, launches: list[Launch]) -> Traffic:
    counts: dict[str, _Counts] = {}
    for launch in launches:
        for node in launch.all_counters:
            found = counts.setdefault(node.host, _Counts({}, {}, {}, {}, [], []))
            _add_troubles(found, node)
        for node, payload_bytes in launch.counted:
            if not node.went_backwards:
                _add_octets(counts[node.host], payload_bytes, node)
        for measurement in launch.measurements:
            if measurement.status == "ok":
                _add_sockets(counts, measurement)
    nodes = tuple(_node(run, network, host, counts[host]) for host in sorted(counts))
    return Traffic(network, len(launches), nodes)


def _pairs(node: NodeCounters) -> Iterator[tuple[str, InterfaceCounters, InterfaceCounters]]:
    for name in node.before.keys() & node.after.keys():
        yield name, node.before[name], node.after[name]


def _add(total: dict[str, int], name: str, more: int) -> None:
    total[name] = total.get(name, 0) + max(0, more)


def _add_octets(counts: _Counts, payload_bytes: tuple[int, ...], node: NodeCounters) -> None:
    for name, before, after in _pairs(node):
        _add(counts.sent, name, after.tx_bytes - before.tx_bytes)
        _add(counts.received, name, after.rx_bytes - before.rx_bytes)
    counts.payload_bytes.extend(payload_bytes[node.rank : node.rank + 1])


def _add_sockets(counts: dict[str, _Counts], measurement: Measurement) -> None:
    for node in measurement.counters:
        ours = measurement.sockets_of(node.rank)
        counts[node.host].tcp_bytes.extend(one.sent_bytes for one in ours)


def _add_troubles(counts: _Counts, node: NodeCounters) -> None:
    """A counter that was reset counts as unmoved; one that no port keeps is left out."""
    for name, before, after in _pairs(node):
        for octets in (counts.sent, counts.received):
            octets.setdefault(name, 0)
        for place, kind in ((counts.errors, "errors"), (counts.dropped, "dropped")):
            for counter in (f"rx_{kind}", f"tx_{kind}"):
                values = getattr(before, counter), getattr(after, counter)
                if not any(isinstance(value, Skipped) for value in values):
                    _add(place, name, values[1] - values[0])


def _node(run: Run, network: str | None, host: str, counts: _Counts) -> NodeTraffic:
    payload_bytes = sum(counts.payload_bytes)
    by_tcp = sum(counts.tcp_bytes) >= _CARRIED * payload_bytes
    sent, received = (_ends(run, host, one, by_tcp) for one in (counts.sent, counts.received))
    crossings = _crossings(run, network, host, counts._replace(sent=sent, received=received))
    return NodeTraffic(host, payload_bytes, crossings)


def _ends(run: Run, host: str, octets: dict[str, int], by_tcp: bool) -> dict[str, int]:
    """Where paths end; a port of an adapter counts what TCP sends over its netdev once more."""
    kept = {name: n for name, n in octets.items() if not (by_tcp and is_adapter_port(name))}
    for node in run.fabric.nodes:
        if host in (node.name, node.hostname):
            return node.path_ends(kept)
    return kept


def _crossings(run: Run, network: str | None, host: str, counts: _Counts) -> tuple[Crossing, ...]:
    all_sent = sum(counts.sent.values())
    found = []
    for name, sent in counts.sent.items():
        serves = _serves(run, host, name)
        share = sent / all_sent if all_sent else Skipped("no interface counted an octet")
        pinned = network in serves or (is_loopback(network) and name == "lo")
        found.append(Crossing(
            name, serves, pinned, sent, counts.received[name], share,
            counts.errors[name], counts.dropped[name],
        ))  # fmt: skip
    return tuple(sorted(found, key=lambda crossing: (-crossing.sent_bytes, crossing.interface)))


def _serves(run: Run, node: str, interface: str) -> tuple[str, ...]:
    """Networks of that interface; a node may be known by its name or its hostname."""
    names = {one.name for one in run.fabric.nodes if node in (one.name, one.hostname)} | {node}
    return tuple(
        network.name
        for network in run.fabric.networks
        for member in network.members
        if member.node in names and member.interface == interface
    )
