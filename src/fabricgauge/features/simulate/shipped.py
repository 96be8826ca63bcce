"""Clusters that come with the program, from ``fat-tree:64`` to SimGrid's platform file, and users'.

How many nodes a shape can have, and its parameters: those of the cluster tag in SimGrid 3.32's
reference, "Platform description".
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.simulation import Platform
from fabricgauge.store.files.reading import read_bytes

#: Omni-Path's 100 Gb/s without its headers, which take 1 to 4 %. With 98.5 the evaluation's curve
#: is met at both ends (96 to 99 Gb/s from 64 KiB up).
RATE_BIT_S = 98.5e9

#: Between ranks of one node: a copy in memory.
LOOPBACK = {"loopback_bw": "12.5GBps", "loopback_lat": "0.05us"}

#: Up to this many ranks have been tried with SimGrid 3.32.
MOST_NODES = 4096

_NAME = re.compile(r"(?P<shape>[a-z]+(?:-[a-z]+)*)(?::?(?P<nodes>[0-9]{1,6}))?")


def shipped(name: str) -> Platform:
    """Return the platform of that name, e.g. ``star32``, ``star:128``, ``fat-tree:64``, ``torus``.

    Raises:
        UsageError: the name is unknown, or the shape cannot have this number of nodes.
    """
    match = _NAME.fullmatch(name)
    shapes = {candidate.name: candidate for candidate in SHAPES}
    shape = shapes.get(match["shape"]) if match else None
    if match is None or shape is None:
        listed = ", ".join(f"{shape_name}[:NODES]" for shape_name in shapes)
        raise UsageError(
            f"there is no simulated platform {name!r:.100}; known are {listed}, and the path of a "
            "platform file of SimGrid's (.xml)"
        )
    nodes = int(match["nodes"] or shape.nodes)
    layout, exact = _layout(shape, nodes), f"{shape.name}:{nodes}"
    topology = Topology(layout.groups, f"simulated {shape.name}") if layout.groups else Topology()
    return Platform(
        exact, _node_names(0, nodes), RATE_BIT_S, f"simulated platform {exact}", shape.overhead_s,
        topology, _xml(shape, layout, nodes),
    )  # fmt: skip


class ShapeLayout(msgspec.Struct, frozen=True):
    """``parameters`` are those of SimGrid's ``topology``; both are empty for a single switch."""

    topology: str = ""
    parameters: str = ""
    groups: tuple[Group, ...] = ()


class Shape(msgspec.Struct, frozen=True):
    """One kind of network: ``layout`` returns that of a number of nodes, or None.

    ``latency_s`` is that of a link, one way, ``overhead_s`` that of both ends' software.
    """

    name: str
    nodes: int
    smallest: int
    latency_s: float
    overhead_s: float
    layout: Callable[[int], ShapeLayout | None]


def _layout(shape: Shape, nodes: int) -> ShapeLayout:
    """Return the layout, or raise UsageError with the next possible numbers below and above."""
    layout = shape.layout(nodes) if nodes <= MOST_NODES and possible(shape, nodes) else None
    if layout is None:
        closest = max(min(nodes, MOST_NODES), shape.smallest)
        directions = (range(closest, shape.smallest - 1, -1), range(closest, 4 * closest))
        near = (
            next((str(count) for count in counts if possible(shape, count)), "")
            for counts in directions
        )
        raise UsageError(
            f"a simulated {shape.name} cannot have {nodes} nodes (at most {MOST_NODES}); the "
            f"nearest that it can have: {' or '.join(filter(None, dict.fromkeys(near)))}"
        )
    return layout


def _xml(shape: Shape, layout: ShapeLayout, nodes: int) -> str:
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


#: The most nodes on one leaf switch of the fat tree; half as many uplinks lead out of it.
LEAF_NODES = 16

#: Groups, chassis of a group and routers of a chassis. SimGrid 3.32 crashes with more groups
#: than routers in a chassis, so a shape has as many groups as routers.
DRAGONFLIES = ((4, 2, 4), (8, 4, 8))


def _node_names(first: int, count: int) -> tuple[str, ...]:
    return tuple(f"node-{number}" for number in range(first, first + count))


def possible(shape: Shape, nodes: int) -> bool:
    return nodes >= shape.smallest and shape.layout(nodes) is not None


def _fat_tree(nodes: int) -> ShapeLayout | None:
    """Lay out two levels, four leaves if possible; a leaf has half as many uplinks as nodes."""
    sizes = [size for size in range(2, LEAF_NODES + 1, 2) if nodes % size == 0 and nodes > size]
    if not sizes:
        return None
    leaf = max((size for size in sizes if nodes // size >= 4), default=sizes[-1])
    spines = leaf // 2
    groups = _blocks("leaf", nodes, leaf, parent="spine", uplinks=spines)
    return ShapeLayout("FAT_TREE", f"2;{leaf},{nodes // leaf};1,{spines};1,1", groups)


def _dragonfly(nodes: int) -> ShapeLayout | None:
    """Lay out groups; a link between two has the rate of as many links as a chassis has routers."""
    fitting = [dragonfly for dragonfly in DRAGONFLIES if nodes % math.prod(dragonfly) == 0]
    if not fitting:
        return None
    groups, chassis, routers = fitting[-1]
    on_router = nodes // (groups * chassis * routers)
    # In a round all nodes of a group may meet those of one other group: they share one link, which
    # grows with the nodes. Links inside a group carry its own pairs and those that cross it.
    between, inside = routers * max(1, on_router // 2), 2 * on_router
    blocks = _blocks("group", nodes, nodes // groups, parent="", uplinks=between)
    parameters = f"{groups},{between};{chassis},{inside};{routers},{inside};{on_router}"
    return ShapeLayout("DRAGONFLY", parameters, blocks)


def _torus(nodes: int) -> ShapeLayout | None:
    """Lay out three dimensions, as equal as possible, none below 2."""
    possible_dimensions: list[tuple[int, int, int]] = [
        (nodes // (b * c), b, c)
        for c in range(2, nodes // 4 + 1)
        if nodes % c == 0
        for b in range(c, nodes // (2 * c) + 1)
        if nodes % (b * c) == 0 and nodes // (b * c) >= b
    ]
    if not possible_dimensions:
        return None
    best = min(possible_dimensions, key=lambda dimensions: max(dimensions) - min(dimensions))
    return ShapeLayout("TORUS", ",".join(map(str, best)))


def _blocks(name: str, nodes: int, size: int, *, parent: str, uplinks: int) -> tuple[Group, ...]:
    return tuple(
        Group(f"{name}-{number}", _node_names(number * size, size), parent, uplinks)
        for number in range(nodes // size)
    )


#: A star's figures are those of the Omni-Path evaluation's 32 nodes on one switch: 0.93 µs half
#: round trip, 2 × 0.315 + 0.3. Elsewhere a hop has a switch's 0.11 µs (Intel Omni-Path Edge
#: Switch 100 Series, product brief: 100 to 110 ns), and two nodes of one switch have 0.93 µs, too.
SHAPES: tuple[Shape, ...] = (
    Shape("star", 32, 2, 0.315e-6, 0.3e-6, lambda nodes: ShapeLayout()),
    Shape("fat-tree", 64, 4, 0.11e-6, 0.71e-6, _fat_tree),
    Shape("dragonfly", 64, 32, 0.11e-6, 0.71e-6, _dragonfly),
    Shape("torus", 64, 8, 0.11e-6, 0.71e-6, _torus),
)


#: The cost of a message in both ends' software, as in the shipped single switch.
OVERHEAD_S = 0.3e-6

#: A platform of 10,240 nodes in explicit routes is larger than this; SimGrid would not load it.
MOST_BYTES = 256 * 2**20

_BIT_S = {
    "": 8.0, "bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12,
    "Bps": 8.0, "kBps": 8e3, "MBps": 8e6, "GBps": 8e9, "TBps": 8e12,
    "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12, "KBps": 8e3,
}  # fmt: skip
_RATE = re.compile(r"([0-9.eE+-]+?)\s*([kKMGTmgt]?[bB]ps)?")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")


def is_path(platform: str) -> bool:
    """Check whether a platform is named by its file."""
    return "/" in platform or platform.endswith(".xml")


def user_platform(path: str) -> Platform:
    """Return the platform of a file in SimGrid's XML.

    Raises:
        UsageError: it cannot be read, is no XML platform, or has fewer than two hosts.
    """
    root = _root(path)
    nodes = tuple(name for element in root.iter() for name in _hosts(path, element))
    if len(set(nodes)) < 2 or len(set(nodes)) < len(nodes):
        raise UsageError(f"{path} needs two or more hosts with different names")
    for node in nodes:
        if not _NODE.fullmatch(node):
            raise UsageError(f"{path}: {node!r:.100} cannot be a host's name here")
    return Platform(
        name=Path(path).stem, nodes=nodes, rate_bit_s=_rate(root), origin=path,
        overhead_s=OVERHEAD_S, path=str(Path(path).absolute()),
    )  # fmt: skip


def _root(path: str) -> ElementTree.Element:
    try:
        # The file is the user's own, and SimGrid reads it next.
        root = ElementTree.fromstring(read_bytes(Path(path), most_bytes=MOST_BYTES))  # noqa: S314
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}; a platform file was expected") from error
    if root.tag != "platform":
        raise UsageError(f"{path} is no platform file: it begins with <{root.tag}>")
    return root


def _hosts(path: str, element: ElementTree.Element) -> list[str]:
    """Return the hosts of an element: one, or those of a whole cluster."""
    if element.tag == "host":
        return [element.get("id", "")]
    if element.tag != "cluster":
        return []
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    names: list[str] = []
    for part in element.get("radical", "").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or int(match[2] or match[1]) - int(match[1]) > 10**6:
            raise UsageError(f"{path}: radical {part!r:.100} is not of the form 0-31")
        last = int(match[2] or match[1])
        names += [f"{prefix}{number}{suffix}" for number in range(int(match[1]), last + 1)]
    return names


def _rate(root: ElementTree.Element) -> float | Skipped:
    """Return the rate of all links, if they agree; bandwidths without a unit are bytes/s."""
    written = {
        value
        for element in root.iter()
        for value in (element.get("bw"), element.get("bandwidth"))
        if value and element.tag in ("cluster", "link")
    }
    rates = {_bit_s(value) for value in written}
    if len(rates) != 1 or None in rates:
        return Skipped(f"the platform file states {len(rates)} rates for its links, not one")
    return next(rate for rate in rates if rate is not None)


def _bit_s(text: str) -> float | None:
    match = _RATE.fullmatch(text.strip())
    factor = _BIT_S.get(match[2] or "") if match else None
    try:
        return float(match[1]) * factor if match and factor else None
    except ValueError:
        return None
