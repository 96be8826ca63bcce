"""Every written example is read as its format, with the right groups."""

import pytest
from tests.logs.readers.topology.files import ALL, FIXTURES, read, text_of

from fabricgauge.model.fabric import Group


@pytest.mark.parametrize("name", ALL)
def test_each_fixture_says_where_it_is_from(name: str) -> None:
    said = (FIXTURES / f"{name}.meta").read_text()
    assert said.startswith("tool: ")
    assert "written by hand" in said


def test_a_slurm_tree_gives_its_leaves_with_their_parent() -> None:
    found = read(text_of("slurm-23.11--tree"))
    assert found.source == "fabric.txt (Slurm)"
    assert found.groups == (
        Group("leaf1", ("cn001", "cn002", "cn003", "cn004"), parent="spine", is_switch=True),
        Group("leaf2", ("cn005", "cn006", "cn007", "cn012"), parent="spine", is_switch=True),
        Group("leaf3", ("gpu1", "gpu2"), parent="spine", is_switch=True),
    )


def test_slurm_blocks_are_groups() -> None:
    found = read(text_of("slurm-24.05--block"))
    assert [(group.name, len(group.nodes)) for group in found.groups] == [
        ("block1", 18), ("block2", 18),
    ]  # fmt: skip
    assert [one.name for one in found.groups if "node19" in one.nodes] == ["block2"]


def test_a_plain_list_keeps_its_order_and_names_with_spaces() -> None:
    found = read(text_of("plain--racks"))
    assert found.groups[0] == Group("rack 1", ("node01", "node02", "node03", "node04", "login1"))
    assert found.groups[1].name == "rack 2"


def test_hosts_are_on_the_leaf_that_they_are_cabled_to_and_uplinks_are_counted() -> None:
    found = read(text_of("ibnetdiscover--fat-tree"))
    assert found.groups == (
        Group("leaf1", ("cn1", "cn2", "cn3", "cn4"), parent="spine1", uplinks=4, is_switch=True),
        Group("leaf2", ("cn5", "cn6", "cn7", "cn8"), parent="spine1", uplinks=4, is_switch=True),
    )
    assert "no host: 1" in found.source


def test_a_host_on_two_switches_goes_to_its_first_adapter_s_and_it_is_said() -> None:
    found = read(text_of("ibnetdiscover--two-rails"))
    assert [group.nodes for group in found.groups] == [("n1", "n2"), ("n3",)]
    assert "more than one switch" in found.source
    # Both switches have the same description, so that the GUID has to tell them apart.
    assert len({group.name for group in found.groups}) == 2
    assert found.groups[0].name.endswith("(0002c9000000000a)")


def test_a_cable_that_both_ends_tell_of_counts_once() -> None:
    text = text_of("ibnetdiscover--fat-tree")
    assert text.count('"S-0002c90300bb0001"[1]') == 1
    assert text.count('"S-0002c90300aa0001"[19]') == 1
    assert read(text).groups[0].uplinks == 4


@pytest.mark.parametrize("name", ALL)
def test_line_ends_of_windows_change_nothing(name: str) -> None:
    text = text_of(name)
    assert read(text.replace("\n", "\r\n")) == read(text)
