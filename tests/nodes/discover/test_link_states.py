"""What discovery says of a lab's links before and after they were broken."""

import os
from collections.abc import Iterator

import pytest

from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.host_access import access, declared_networks
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabFault, LabState
from fabricgauge.lab.up import down, up
from fabricgauge.nodes.discover.interface import discover, find_network_changes

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[LabState]:
    networks = (NetworkSpec("net1", 1e9), NetworkSpec("net2", 1e10, 9000))
    state = up(LabSpec(f"links-test-{os.getpid()}", networks=networks))
    try:
        yield state
    finally:
        down(state.name)


def test_a_lab_is_discovered_as_it_was_made(lab: LabState) -> None:
    kept: dict[str, str] = {}
    fabric = discover(access(lab), declared_networks(lab), keep=kept.__setitem__)
    assert sorted(kept) == ["c1", "c2"]
    assert fabric.virtual
    assert [node.hostname for node in fabric.nodes] == ["c1", "c2"]
    found = {network.name: network for network in fabric.networks}
    assert set(found) == {"net1", "net2"}
    assert (found["net1"].rate_bit_s, found["net2"].rate_bit_s) == (1e9, 1e10)
    assert (found["net1"].mtu_bytes, found["net2"].mtu_bytes) == (1500, 9000)
    assert found["net1"].timestamps
    assert found["net1"].burst_bytes > 0


def test_a_cut_link_is_named_with_node_and_interface(lab: LabState) -> None:
    fabric = discover(access(lab), declared_networks(lab), keep=lambda node, raw: None)
    network = next(network for network in fabric.networks if network.name == "net2")
    other = next(network for network in fabric.networks if network.name == "net1")
    interface = next(member.interface for member in network.members if member.node == "c2")
    assert find_network_changes(access(lab), fabric, network) == ()
    broken = inject(lab, LabFault("link-down", "c2", "net2"))
    try:
        said = find_network_changes(access(lab), fabric, network)
        assert any(one.sentence.startswith(f"c2:{interface} (net2)") for one in said)
        assert all("c1" not in one.sentence for one in said)
        assert find_network_changes(access(lab), fabric, other) == ()
    finally:
        heal(broken)


def test_a_changed_mtu_is_named(lab: LabState) -> None:
    fabric = discover(access(lab), declared_networks(lab), keep=lambda node, raw: None)
    network = next(network for network in fabric.networks if network.name == "net2")
    changed = inject(lab, LabFault("mtu", "c1", "net2", 1500))
    try:
        said = find_network_changes(access(lab), fabric, network)
        assert any("c1:" in one.sentence and "MTU 1500 now" in one.sentence for one in said)
    finally:
        heal(changed)
