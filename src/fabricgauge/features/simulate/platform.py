"""The fabric that discovery would have found on a simulated cluster."""

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Interface, Member, Network, Node
from fabricgauge.model.simulation import Platform

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
