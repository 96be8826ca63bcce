"""Which wires a run's bytes crossed at each node, by its interfaces' counters.

An RDMA port, the interface on it and IP over InfiniBand are ways to one wire: that of an adapter.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import InterfaceTraffic, RunEvidence
from fabricgauge.model.fabric import Fabric, Node, is_adapter_port

#: From this share of a node's bytes on a wire was used; what controls a launch is far less.
USED = 0.1

#: By node, the wires that were used.
Wires = Mapping[str, frozenset[str]]


def wires(fabric: Fabric, found: RunEvidence) -> dict[str | None, Wires]:
    """By network that launches were pinned to; a node whose interfaces counted nothing has none."""
    return {
        traffic.network: {one.node: _used(fabric, one.node, one.crossings) for one in traffic.nodes}
        for traffic in found.traffic
    }


def _used(fabric: Fabric, name: str, crossings: Iterable[InterfaceTraffic]) -> frozenset[str]:
    node, octets = fabric.node(name), Counter[str]()
    for one in crossings:
        wire = one.interface if isinstance(node, Skipped) else wire_of(node, one.interface)
        # Who receives a stream sends little, and the little may be control.
        octets[wire] += one.sent_bytes + one.received_bytes
    least = USED * octets.total()
    return frozenset(wire for wire, count in octets.items() if count and count >= least)


def wire_of(node: Node, name: str) -> str:
    """What carries an interface's or a port's bytes: its adapter by RDMA device, else itself."""
    if is_adapter_port(name):
        on = next((one.interface for one in node.rdma_ports if one.name == name), "")
        name = on if isinstance(on, str) and on else name
    while not isinstance(below := node.interface(node.parent_of(name)), Skipped):
        name = below.name
    adapter = node.adapter_of(name)
    if isinstance(adapter, Skipped):
        return name
    return next(iter((*adapter.rdma_devices, *adapter.interfaces)))
