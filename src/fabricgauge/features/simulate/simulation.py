"""Check a simulated cluster, its faults and its noise as a whole."""

from collections.abc import Iterable

from fabricgauge.features.simulate.faults import parse_fault
from fabricgauge.features.simulate.shipped import shipped
from fabricgauge.features.simulate.user_platform import is_path, user_platform
from fabricgauge.model.errors import UsageError
from fabricgauge.model.simulation import Fault, Platform, Simulation

#: The largest noise of the whole network: half as long again is no noise any more.
MOST_NOISE = 0.5


def simulation(
    platform: str, faults: Iterable[str] = (), *, seed: int = 1, noise: float = 0.0
) -> Simulation:
    """Return the simulated cluster that a command line describes.

    ``platform`` names a shipped one, e.g. ``fat-tree:64``, or is the path of a platform file.

    Raises:
        UsageError: the platform is unknown, a fault is unknown or impossible there, or a
            seed or noise is out of range.
    """
    chosen = user_platform(platform) if is_path(platform) else shipped(platform)
    cluster = Simulation(chosen, tuple(map(parse_fault, faults)), seed, noise)
    if not 0 <= noise <= MOST_NOISE:
        raise UsageError(f"noise {noise:g} is not between 0 and {MOST_NOISE:g}")
    if not 0 <= seed < 2**64:
        raise UsageError(f"seed {seed} is not between 0 and 2^64 - 1")
    for fault in cluster.faults:
        _check_names(chosen, fault)
    flapping = [fault.nodes for fault in cluster.faults if fault.kind == "flap"]
    for nodes in flapping:
        if flapping.count(nodes) > 1:
            raise UsageError(f"{nodes[0]} is to flap twice; name it once")
    return cluster


def _check_names(platform: Platform, fault: Fault) -> None:
    for node in fault.nodes:
        if node not in platform.nodes:
            raise UsageError(
                f"{platform.name} has no node {node!r:.100}; its nodes are {platform.nodes[0]} to "
                f"{platform.nodes[-1]}"
            )
    groups = [group.name for group in platform.topology.groups]
    if fault.kind == "uplink" and fault.names[0] not in groups:
        have = f"its groups are {groups[0]} to {groups[-1]}" if groups else "it has none"
        raise UsageError(f"{platform.name} has no group {fault.names[0]!r:.100}; {have}")
