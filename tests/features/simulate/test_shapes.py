"""The shipped clusters."""

from math import prod
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.simulate.shipped import RATE_BIT_S, SHAPES, Shape, possible, shipped
from fabricgauge.model.errors import UsageError


def _cluster(xml: str) -> ElementTree.Element:
    root = ElementTree.fromstring(xml)  # noqa: S314
    (cluster,) = root
    assert (root.tag, cluster.tag) == ("platform", "cluster")
    return cluster


@pytest.mark.parametrize(
    ("name", "nodes"),
    [("star32", 32), ("star", 32), ("star:128", 128), ("fat-tree", 64), ("torus:32", 32)],
)
def test_a_name_may_carry_the_number_of_nodes(name: str, nodes: int) -> None:
    platform = shipped(name)
    assert len(platform.nodes) == nodes
    assert platform.nodes[7] == "node-7"
    assert platform.rate_bit_s == RATE_BIT_S


@given(st.sampled_from(SHAPES), st.integers(0, 600))
def test_a_cluster_has_the_nodes_that_it_was_asked_for_or_names_others(
    shape: Shape, nodes: int
) -> None:
    name = f"{shape.name}:{nodes}"
    if not possible(shape, nodes):
        with pytest.raises(UsageError, match="nearest that it can have: [0-9]+"):
            shipped(name)
        return
    platform = shipped(name)
    cluster = _cluster(platform.xml)
    assert cluster.get("radical") == f"0-{nodes - 1}"
    assert len(set(platform.nodes)) == nodes
    grouped = [node for group in platform.topology.groups for node in group.nodes]
    assert not grouped or tuple(grouped) == platform.nodes


@given(st.integers(2, 300).map(lambda half: 2 * half))
def test_a_fat_tree_has_half_as_many_uplinks_as_nodes(nodes: int) -> None:
    platform = shipped(f"fat-tree:{nodes}")
    levels, down, up, cables = str(_cluster(platform.xml).get("topo_parameters")).split(";")
    leaf, leaves = map(int, down.split(","))
    assert (levels, cables, leaf * leaves) == ("2", "1,1", nodes)
    assert up == f"1,{leaf // 2}"
    assert {len(group.nodes) for group in platform.topology.groups} == {leaf}


@pytest.mark.parametrize("nodes", [32, 64, 96, 128, 256, 512])
def test_a_dragonfly_has_no_more_groups_than_routers_in_a_chassis(nodes: int) -> None:
    parameters = str(_cluster(shipped(f"dragonfly:{nodes}").xml).get("topo_parameters"))
    *parts, on_router = parameters.split(";")
    groups, chassis, routers = (int(part.split(",")[0]) for part in parts)
    assert groups * chassis * routers * int(on_router) == nodes
    assert groups <= routers


@pytest.mark.parametrize("nodes", [32, 64, 128, 256, 512])
def test_pairs_of_a_dragonflys_group_share_no_link(nodes: int) -> None:
    parameters = str(_cluster(shipped(f"dragonfly:{nodes}").xml).get("topo_parameters"))
    *parts, on_router = parameters.split(";")
    _, chassis_links, router_links = (int(part.split(",")[1]) for part in parts)
    assert min(chassis_links, router_links) >= 2 * int(on_router)


@pytest.mark.parametrize("nodes", [8, 12, 32, 64, 128, 1000])
def test_a_torus_has_three_dimensions(nodes: int) -> None:
    dimensions = str(_cluster(shipped(f"torus:{nodes}").xml).get("topo_parameters")).split(",")
    assert len(dimensions) == 3
    assert prod(map(int, dimensions)) == nodes


@pytest.mark.parametrize("name", ["", "ring", "star:", "star:x", "star:99999", "star32x", "-1"])
def test_a_name_fails_when_there_is_no_such_cluster(name: str) -> None:
    with pytest.raises(UsageError):
        shipped(name)


def test_the_fabric_of_a_tree_has_its_leaves() -> None:
    platform = shipped("fat-tree:64")
    assert [one.name for one in platform.topology.groups if "node-17" in one.nodes] == ["leaf-1"]
    assert platform.topology.groups[0].uplinks == 8
