"""The lines for ``ip -batch`` and ``tc -batch`` that make a lab's links; text, no action.

Interfaces are named by index, so no name that a person chose is ever in a line.
"""

from fabricgauge.lab.shaping import Bucket, bucket, node_tbf, port_tbf
from fabricgauge.lab.spec import address
from fabricgauge.lab.state import LabNetwork, LabNode, LabState


def switch_links(state: LabState) -> list[str]:
    """One bridge per network, and one cable from it to every node."""
    lines = []
    for network in state.networks:
        mtu = network.mtu_bytes
        lines += [
            f"link add {network.bridge} mtu {mtu} type bridge mcast_snooping 0",
            f"link set {network.bridge} up",
        ]
        lines += [line for node in state.nodes for line in _cable(network, node)]
    return lines


def switch_shaping(state: LabState) -> list[str]:
    """The way from the switch to every node, so that incast meets the node's line rate."""
    return [
        port_tbf(network.port(node), nominal(network))
        for network in state.networks
        for node in state.nodes
    ]


def node_links(state: LabState, node: LabNode) -> list[str]:
    """A node's own interfaces with their addresses."""
    lines = ["link set lo up"]
    for network in state.networks:
        gso_bytes = nominal(network).gso_bytes
        lines += [
            f"link set {network.interface} gso_max_size {gso_bytes} up",
            f"addr add {own_address(network, node)} brd + dev {network.interface}",
        ]
    return lines


def own_address(network: LabNetwork, node: LabNode) -> str:
    """The address that a node has in a network without a fault, with its prefix length."""
    prefix = network.subnet.rpartition("/")[2]
    return f"{address(network.index, node.index)}/{prefix}"


def node_shaping(state: LabState) -> list[str]:
    """The way from a node to the switch."""
    return [node_tbf(network.interface, nominal(network)) for network in state.networks]


def nominal(network: LabNetwork) -> Bucket:
    """The bucket of a link without a fault."""
    return bucket(network.rate_bit_s, network.mtu_bytes)


def _cable(network: LabNetwork, node: LabNode) -> list[str]:
    port, mtu = network.port(node), network.mtu_bytes
    return [
        f"link add {port} mtu {mtu} type veth "
        f"peer name {network.interface} mtu {mtu} netns {node.holder.pid}",
        f"link set {port} gso_max_size {nominal(network).gso_bytes} master {network.bridge} up",
    ]
