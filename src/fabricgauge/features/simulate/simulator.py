"""Check a simulated cluster as a whole, and state the fabric that discovery would find there.

The main job takes from here what the simulator does in it.
"""

from collections.abc import Iterable

from fabricgauge.features.simulate.engine import simulated_engine
from fabricgauge.features.simulate.faults import parse_fault
from fabricgauge.features.simulate.shipped import shipped
from fabricgauge.features.simulate.simulate import prepared
from fabricgauge.features.simulate.user_platform import is_path, user_platform
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Interface, Member, Network, Node
from fabricgauge.model.simulation import Fault, Platform, Simulation

__all__ = ["prepared", "simulated_engine", "simulated_fabric", "simulation"]

#: The network's technology. It has no packets, so no headers: its payload ceiling is its rate.
TECHNOLOGY = "simulated"
NETWORK = "simulated"
SUBNET = "simulated"

#: A fluid model has no packets; this stands for the largest packet.
MTU_BYTES = 4096

_NONE = Skipped("a simulated node has none")


def simulated_fabric(platform: Platform) -> Fabric:
    """Return one network of all nodes, at the rate that the platform states per direction."""
    interface = Interface(
        name=NETWORK, driver="SimGrid", operstate="up", carrier=True,
        speed_bit_s=platform.rate_bit_s, mtu_bytes=MTU_BYTES, mac="", addresses=(), shaper=_NONE,
        numa_node=_NONE,
    )  # fmt: skip
    nodes = tuple(
        Node(name, name, "", "", 1, kernel="SimGrid", interfaces=(interface,), facts={})
        for name in platform.nodes
    )
    network = Network(
        name=NETWORK, subnet=SUBNET, technology=TECHNOLOGY, rate_bit_s=platform.rate_bit_s,
        rate_origin=platform.origin, timestamps=False,
        members=tuple(Member(node, NETWORK, "", MTU_BYTES) for node in platform.nodes),
    )  # fmt: skip
    return Fabric(nodes, unreached=(), networks=(network,), virtual=True)


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
