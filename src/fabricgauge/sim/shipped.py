"""The clusters that come with the program: from ``fat-tree:64`` to SimGrid's platform file."""

import re
from xml.sax.saxutils import quoteattr

from fabricgauge.model.errors import UsageError
from fabricgauge.sim.platform import Platform
from fabricgauge.sim.shapes import (
    SHAPES,
    Layout,
    Shape,
    nearest,
    node_names,
    possible,
    topology,
)

#: Omni-Path's 100 Gb/s, of which 1 to 4 % are headers: with 98.5 the evaluation's curve is met
#: at both ends (96 to 99 Gb/s from 64 KiB up).
RATE_BIT_S = 98.5e9

#: Between ranks of one node: a copy in memory.
LOOPBACK = {"loopback_bw": "12.5GBps", "loopback_lat": "0.05us"}

#: As many ranks have been tried with SimGrid 3.32.
MOST_NODES = 4096

_NAME = re.compile(r"(?P<shape>[a-z]+(?:-[a-z]+)*)(?::?(?P<nodes>[0-9]{1,6}))?")


def shipped(name: str) -> Platform:
    """The platform of that name, e.g. ``star32``, ``star:128``, ``fat-tree:64``, ``torus``.

    Raises:
        UsageError: there is none of that name, or it cannot have so many nodes.
    """
    match = _NAME.fullmatch(name)
    shape = next((one for one in SHAPES if match and one.name == match["shape"]), None)
    if match is None or shape is None:
        known = ", ".join(f"{one.name}[:NODES]" for one in SHAPES)
        raise UsageError(
            f"there is no simulated platform {name!r:.100}; known are {known}, and the path of a "
            "platform file of SimGrid's (.xml)"
        )
    nodes = int(match["nodes"] or shape.nodes)
    layout = _layout(shape, nodes)
    return Platform(
        name=f"{shape.name}:{nodes}",
        nodes=node_names(0, nodes),
        rate_bit_s=RATE_BIT_S,
        origin=f"simulated platform {shape.name}:{nodes}",
        overhead_s=shape.overhead_s,
        topology=topology(shape, layout),
        xml=_xml(shape, layout, nodes),
    )


def _layout(shape: Shape, nodes: int) -> Layout:
    layout = shape.layout(nodes) if nodes <= MOST_NODES and possible(shape, nodes) else None
    if layout is None:
        near = " or ".join(map(str, nearest(shape, min(nodes, MOST_NODES))))
        raise UsageError(
            f"a simulated {shape.name} cannot have {nodes} nodes (at most {MOST_NODES}); the "
            f"nearest that it can have: {near}"
        )
    return layout


def _xml(shape: Shape, layout: Layout, nodes: int) -> str:
    attributes = {
        "id": shape.name, "prefix": "node-", "suffix": "", "radical": f"0-{nodes - 1}",
        "speed": "1Gf", "bw": f"{RATE_BIT_S / 1e9:g}Gbps", "lat": f"{shape.latency_s * 1e6:g}us",
        "sharing_policy": "SPLITDUPLEX", **LOOPBACK,
    }  # fmt: skip
    if layout.topology:
        attributes |= {"topology": layout.topology, "topo_parameters": layout.parameters}
    written = " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f"  <cluster {written}/>\n"
        "</platform>\n"
    )
