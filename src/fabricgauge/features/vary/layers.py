"""Compute what each layer of a stack adds to the previous one, at each size of each curve.

The figures are medians over blocks. Their interval lies between two order statistics, for any
distribution (Conover, Practical Nonparametric Statistics, section 3.2). A ledger has only data that
crossed one wire: otherwise the wire is a part of a difference. An RDMA port, the interface on it
and IP over InfiniBand are ways to one wire: that of an adapter.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.evidence import InterfaceTraffic
from fabricgauge.model.fabric import Fabric, Node, is_adapter_port
from fabricgauge.model.run import Run
from fabricgauge.model.varied import Column, Design, Factor, Layer
from fabricgauge.model.words.sentences import listed

#: Factors whose levels are layers: each carries the data of the one above it.
LAYERED = ("transport", "provider")
CONFIDENCE = 0.95

_NONE = "no ledger of layers, because not all crossed one wire"

Floats = NDArray[np.float64]


def layers(design: Design, columns: Sequence[Column], logs: Floats) -> tuple[Layer, ...]:
    """Return the layers of a design with one such factor; ``logs`` are (arms, blocks, columns)."""
    if len(design.factors) != 1 or not _are_layers(design.factors[0]):
        return ()
    ledger = []
    for place, column in enumerate(columns):
        figures = np.exp(logs[..., place])
        for arm, level in enumerate(design.factors[0].levels):  # from the lowest up
            figure = median(figures[arm])
            added = median(figures[arm] - figures[arm - 1]) if arm else None
            if figure:
                what = (column.title, column.quantity, column.message_bytes)
                ledger.append(Layer(*what, level, figure, added))
    return tuple(ledger)


def _are_layers(factor: Factor) -> bool:
    """Check that no two levels are one layer with other settings, as ``verbs:path-mtu=256`` is."""
    layers = set()
    for level in factor.levels:  # a transport without its settings, but with its provider
        name, _, settings = level.partition(":")
        provider = [word for word in settings.split(",") if word.startswith("provider=")]
        layers.add((name, *provider))
    return factor.name in LAYERED and len(layers) == len(factor.levels)


def differing_wires(design: Design, runs: Sequence[Run], *, by_name: bool) -> str:
    """Report an arm whose run crossed several wires, or another than the first arm's.

    Empty if all crossed one wire. With ``by_name`` networks of one name are compared.
    """
    levels = [level for (level,) in design.arms]
    first: dict[tuple[str | None, str], frozenset[str]] = {}
    for level, run in zip(levels, runs, strict=True):
        for traffic in gather_evidence(run).traffic:
            for node in traffic.nodes:
                node_wires = _find_node_wires(run.fabric, node.node, node.crossings)
                key = traffic.network if by_name else "", node.node
                first_wires = first.setdefault(key, node_wires)
                crossed = f"at {node.node} the bytes of {level} crossed {_wire_names(node_wires)}"
                if node_wires != first_wires:
                    return f"{_NONE}: {crossed}, the arms before it {_wire_names(first_wires)}"
                if len(node_wires) != 1:
                    return f"{_NONE}: {crossed}"
    return ""


def _wire_names(crossed: Iterable[str]) -> str:
    return listed(sorted(crossed)) or "no interface that counts"


def median(figures: Floats) -> Estimate | None:
    """Return the median of the finite figures; None without any."""
    finite = np.sort(figures[np.isfinite(figures)])
    if not finite.size:
        return None
    # So many figures lie outside of the interval at each end.
    tails = np.cumsum([comb(finite.size, k) / (1 << finite.size) for k in range(finite.size)])
    fine = np.flatnonzero(1.0 - 2.0 * tails >= CONFIDENCE)
    outside = int(fine[-1]) if fine.size else 0
    confidence = float(1.0 - 2.0 * tails[outside])
    ends = float(finite[outside]), float(finite[-1 - outside])
    return Estimate(float(np.median(finite)), *ends, confidence, finite.size, finite.size)


#: A wire was used if it carried at least this share of a node's bytes; control traffic is less.
USED = 0.1

#: Used wires by node.
Wires = Mapping[str, frozenset[str]]


def _find_node_wires(
    fabric: Fabric, name: str, crossings: Iterable[InterfaceTraffic]
) -> frozenset[str]:
    """Return the wires that a node's bytes crossed; none if its interfaces counted nothing."""
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
