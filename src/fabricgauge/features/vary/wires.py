"""Find the wires that a run's bytes crossed at each node, by its interfaces' counters.

An RDMA port, the interface on it and IP over InfiniBand are ways to one wire: that of an adapter.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import InterfaceTraffic, RunEvidence
from fabricgauge.model.fabric import Fabric, Node, is_adapter_port

#: A wire was used if it carried at least this share of a node's bytes; control traffic is less.
USED = 0.1

#: Used wires by node.
Wires = Mapping[str, frozenset[str]]


def find_used_wires(fabric: Fabric, evidence: RunEvidence) -> dict[str | None, Wires]:
    """Return the used wires by network; a node whose interfaces counted nothing has none."""
    return {
        traffic.network: {
            node.node: _find_node_wires(fabric, node.node, node.crossings) for node in traffic.nodes
        }
        for traffic in evidence.traffic
    }


def _find_node_wires(
    fabric: Fabric, name: str, crossings: Iterable[InterfaceTraffic]
) -> frozenset[str]:
    node, octets = fabric.node(name), Counter[str]()
    for crossing in crossings:
        wire = (
            crossing.interface if isinstance(node, Skipped) else wire_of(node, crossing.interface)
        )
        # The receiver of a stream sends little, perhaps only control messages.
        octets[wire] += crossing.sent_bytes + crossing.received_bytes
    least = USED * octets.total()
    return frozenset(wire for wire, count in octets.items() if count and count >= least)


def wire_of(node: Node, name: str) -> str:
    """Return what carries the bytes of an interface or port: its adapter, else itself."""
    if is_adapter_port(name):
        interface = next((port.interface for port in node.rdma_ports if port.name == name), "")
        name = interface if isinstance(interface, str) and interface else name
    while not isinstance(below := node.interface(node.parent_of(name)), Skipped):
        name = below.name
    adapter = node.adapter_of(name)
    if isinstance(adapter, Skipped):
        return name
    return next(iter((*adapter.rdma_devices, *adapter.interfaces)))
