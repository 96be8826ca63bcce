"""The text by which engine/simulated/planted.cpp is told what to plant."""

from collections.abc import Iterator

from fabricgauge.sim.faults import (
    AddedLatency,
    Fault,
    FlappingLink,
    NoisyNode,
    SlowLink,
    SlowPair,
    SlowUplink,
)
from fabricgauge.sim.simulation import Simulation

#: Every uplink of a group, where one would have its number.
ALL_UPLINKS = -1


def planted_text(cluster: Simulation, platform_file: str) -> str:
    """One line per thing to plant; times in seconds, rates as factors."""
    lines = [
        f"platform {platform_file}",
        f"overhead {cluster.platform.overhead_s!r}",
        f"seed {cluster.seed}",
        f"deviation {cluster.noise!r}",
    ]
    for fault in cluster.faults:
        lines += _lines(cluster, fault)
    return "".join(f"{line}\n" for line in lines)


def _lines(cluster: Simulation, fault: Fault) -> Iterator[str]:
    if isinstance(fault, SlowLink):
        yield from (f"rate {way} {fault.node} {fault.factor!r}" for way in fault.ways)
    elif isinstance(fault, AddedLatency):
        yield from (f"latency {way} {fault.node} {fault.added_s!r}" for way in fault.ways)
    elif isinstance(fault, FlappingLink):
        yield f"flap {fault.node} {fault.factor!r} {fault.period_s!r} {fault.share!r}"
    elif isinstance(fault, SlowPair):
        yield f"pair {fault.source} {fault.destination} {fault.factor!r}"
    elif isinstance(fault, NoisyNode):
        yield f"noise {fault.node} {fault.deviation!r}"
    else:
        yield from _uplink(cluster, fault)


def _uplink(cluster: Simulation, fault: SlowUplink) -> Iterator[str]:
    groups = cluster.platform.topology.groups
    nodes = " ".join(next(one.nodes for one in groups if one.name == fault.group))
    number = ALL_UPLINKS if fault.number is None else fault.number
    for way in fault.ways:
        yield f"uplink {way} {number} {fault.factor!r} {nodes}"
