"""A simulated cluster as discovery would have found it."""

from fabricgauge.features.simulate.shipped import shipped
from fabricgauge.features.simulate.simulator import TECHNOLOGY, simulated_fabric


def test_one_network_joins_all_nodes_at_the_stated_rate() -> None:
    platform = shipped("fat-tree:32")
    fabric = simulated_fabric(platform)
    (network,) = fabric.networks
    assert tuple(node.name for node in fabric.nodes) == platform.nodes
    assert tuple(member.node for member in network.members) == platform.nodes
    assert (network.technology, network.rate_bit_s) == (TECHNOLOGY, 98.5e9)
    assert "fat-tree:32" in network.rate_origin
    assert fabric.virtual
