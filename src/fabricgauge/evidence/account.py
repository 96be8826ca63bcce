"""Which interface carried what in a run, added up over the launches of each network.

The octets are those of the path proof: of cases that came to their proper end, of interfaces
that end a path. Errors and drops are those of all cases.
"""

from collections.abc import Sequence

from fabricgauge.evidence.traffic import path_ends
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ErrorCount, InterfaceTraffic, Moved, NodeTraffic, Traffic
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import node_of
from fabricgauge.words.networks import is_loopback


def traffic(
    fabric: Fabric,
    network: str | None,
    launches: Sequence[Launch],
    carried_by: Sequence[Moved],
    risen: Sequence[ErrorCount],
) -> Traffic:
    """The account of all launches that were pinned to one network, from what each of them moved."""
    read: dict[str, dict[str, int]] = {}
    for launch in launches:
        for counters in launch.all_counters:
            names = counters.before.keys() & counters.after.keys()
            read.setdefault(node_of(launch, counters.rank), {}).update(dict.fromkeys(names, 0))
    carried: dict[str, list[Moved]] = {name: [] for name in read}
    for one in carried_by:
        carried[one.node].append(one)
    nodes = tuple(
        _node(fabric, network, name, read[name], carried[name], risen) for name in sorted(read)
    )
    return Traffic(network, len(launches), nodes)


def _node(
    fabric: Fabric,
    network: str | None,
    name: str,
    read: dict[str, int],
    carried: Sequence[Moved],
    risen: Sequence[ErrorCount],
) -> NodeTraffic:
    """``read`` has every interface whose counters were read, also of cases that broke."""
    by_tcp = all(one.by_tcp for one in carried)
    sent = path_ends(fabric, name, read, by_tcp=by_tcp)
    received = dict(sent)
    for one in carried:
        for interface, count in one.sent_bytes.items():
            sent[interface] = sent.get(interface, 0) + max(0, count)
        for interface, count in one.received_bytes.items():
            received[interface] = received.get(interface, 0) + max(0, count)
    all_sent = sum(sent.values())
    crossings = []
    for interface, count in sent.items():
        serves = _serves(fabric, name, interface)
        crossings.append(InterfaceTraffic(
            interface=interface,
            serves=serves,
            pinned=network in serves or (is_loopback(network) and interface == "lo"),
            sent_bytes=count,
            received_bytes=received[interface],
            share=count / all_sent if all_sent else Skipped("no interface counted an octet"),
            errors=_risen(risen, name, interface, "errors"),
            dropped=_risen(risen, name, interface, "dropped"),
        ))  # fmt: skip
    ordered = sorted(crossings, key=lambda one: (-one.sent_bytes, one.interface))
    return NodeTraffic(name, sum(one.payload_bytes for one in carried), tuple(ordered))


def _risen(risen: Sequence[ErrorCount], node: str, interface: str, kind: str) -> int:
    return sum(
        one.count
        for one in risen
        if (one.node, one.interface) == (node, interface) and one.counter.endswith(kind)
    )


def _serves(fabric: Fabric, node: str, interface: str) -> tuple[str, ...]:
    """Networks of that interface."""
    return tuple(
        network.name
        for network in fabric.networks
        for member in network.members
        if (member.node, member.interface) == (node, interface)
    )
