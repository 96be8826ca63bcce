"""Which interface carried what, added up from the counters around every case."""

from collections.abc import Iterable
from typing import NamedTuple

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import InterfaceCounters, Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.report.networks import is_reference


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


_Count = dict[str, list[int]]


def traffic(run: Run) -> tuple[Traffic, ...]:
    """The path proof: one entry per network that launches were pinned to."""
    networks = dict.fromkeys(launch.network for launch in run.launches)
    return tuple(
        _of_network(run, network, [one for one in run.launches if one.network == network])
        for network in networks
    )


def _of_network(run: Run, network: str | None, launches: list[Launch]) -> Traffic:
    counts: dict[str, _Count] = {}
    payload: dict[str, int] = {}
    for launch in launches:
        hosts = {placement.rank: placement.host for placement in launch.placements}
        for measurement in launch.measurements:
            _add_payload(payload, hosts, measurement)
            _add_counters(counts, measurement)
    nodes = tuple(
        NodeTraffic(node, payload.get(node, 0), _crossings(run, network, node, counts[node]))
        for node in sorted(counts)
    )
    return Traffic(network, len(launches), nodes)


def _add_payload(payload: dict[str, int], hosts: dict[int, str], measurement: Measurement) -> None:
    for rank, sent in enumerate(measurement.payload_sent_bytes):
        host = hosts.get(rank, f"rank {rank}")
        payload[host] = payload.get(host, 0) + sent


def _add_counters(counts: dict[str, _Count], measurement: Measurement) -> None:
    for node in measurement.counters:
        interfaces = counts.setdefault(node.host, {})
        for name in node.before.keys() & node.after.keys():
            total = interfaces.setdefault(name, [0, 0, 0, 0])
            for place, more in enumerate(_difference(node.before[name], node.after[name])):
                total[place] += more


def _difference(before: InterfaceCounters, after: InterfaceCounters) -> Iterable[int]:
    """Sent, received, errors, dropped; a counter that was reset counts as unmoved."""
    return (
        max(0, after.tx_bytes - before.tx_bytes),
        max(0, after.rx_bytes - before.rx_bytes),
        max(0, after.rx_errors + after.tx_errors - before.rx_errors - before.tx_errors),
        max(0, after.rx_dropped + after.tx_dropped - before.rx_dropped - before.tx_dropped),
    )


def _crossings(run: Run, network: str | None, node: str, counts: _Count) -> tuple[Crossing, ...]:
    all_sent = sum(total[0] for total in counts.values())
    found = []
    for name, (sent, received, errors, dropped) in counts.items():
        serves = _serves(run, node, name)
        share = sent / all_sent if all_sent else Skipped("no interface counted an octet")
        pinned = network in serves or (is_reference(network) and name == "lo")
        found.append(
            Crossing(name, serves, pinned, sent, received, share, errors, dropped)
        )  # fmt: skip
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
