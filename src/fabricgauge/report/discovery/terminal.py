"""A survey as a page of text: classes, odd ones, networks with their sums, nodes in detail."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import LikeNodes
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report.discovery import words
from fabricgauge.report.folded import shortened
from fabricgauge.report.inventory import interface, network
from fabricgauge.report.visible import visible

#: So many nodes are shown in full without being asked for.
FEW = 2


def render(surveyed: Surveyed, verbose: bool) -> str:
    """``verbose`` shows every node with its interfaces, adapters and facts."""
    return "\n".join(visible(line) for line in _lines(surveyed, verbose)) + "\n"


def _lines(surveyed: Surveyed, verbose: bool) -> Iterator[str]:
    yield words.summary(surveyed)
    for number, like in enumerate(surveyed.classes, 1):
        yield ""
        yield from _class(number, like)
    yield from _incomplete(surveyed)
    for one in surveyed.fabric.networks:
        yield ""
        yield from network(one, surveyed.ceilings[one.name])
    if not surveyed.fabric.networks:
        yield ""
        yield "no network joins these nodes"
    for ports in surveyed.ports:
        yield ""
        yield from network(ports.network, surveyed.ceilings[ports.network.name], ports.ports)
    if verbose or len(surveyed.inventories) <= FEW:
        for inventory in surveyed.inventories:
            yield ""
            yield from _node(inventory, verbose)


def _class(number: int, like: LikeNodes) -> Iterator[str]:
    yield f"class {number}: {words.counted(len(like.nodes), 'node')}: {shortened(like.nodes)}"
    yield from (f"  {label}: {text}" for label, text in words.features(like))
    if like.oddities:
        yield "  odd ones out:"
        yield from (f"    {words.oddity(one)}" for one in like.oddities)
    if like.splits:
        yield "  they differ, and none has most of them on its side:"
        yield from (f"    {words.split(one)}" for one in like.splits)
    yield from (f"  {words.naming(one)}" for one in like.namings)


def _incomplete(surveyed: Surveyed) -> Iterator[str]:
    lost = {one.name for one in surveyed.fabric.unreached}
    reached = [one for one in surveyed.inventories if one.name not in lost]
    told = [
        *(
            f"{names}: not reached: {reason}"
            for names, reason in words.unreached(surveyed.fabric.unreached)
        ),
        *words.troubles(reached),
        *(f"not joined: {sentence}" for sentence in surveyed.fabric.unjoined),
    ]
    if told:
        yield ""
        yield from told


def _node(inventory: Inventory, verbose: bool) -> Iterator[str]:
    node = inventory.node
    if isinstance(node, Node):
        yield f"{node.name}: {node.cpu_count} processors, Linux {node.kernel}"
        yield from (f"  {interface(one)}" for one in node.interfaces if one.name != "lo")
    else:
        yield f"{inventory.name}: {node.reason}"
    yield from (f"  adapter {words.adapter(one)}" for one in inventory.adapters)
    yield from (f"  RDMA port {words.port(one)}" for one in inventory.rdma_ports)
    for gpu in inventory.gpus:
        numa = "" if isinstance(gpu.numa_node, Skipped) else f", NUMA node {gpu.numa_node}"
        yield f"  GPU {gpu.index}: {gpu.product}, {gpu.bus or 'bus not known'}{numa}"
    yield from (
        f"  {near.adapter} to GPU {near.gpu}: {near.distance}" for near in inventory.nearness
    )
    yield from (f"  {one.kind} {one.version} {one.path}".rstrip() for one in inventory.stacks)
    if verbose:
        facts = {**inventory.facts, **(node.facts if isinstance(node, Node) else {})}
        yield from (f"  {name}: {value}" for name, value in sorted(facts.items()))
        yield f"  from: {', '.join(inventory.sources) or 'nothing'}"
