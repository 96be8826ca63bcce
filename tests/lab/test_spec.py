"""A lab that cannot be made is refused before anything is made."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.lab.spec import LabSpec, NetworkSpec, address, check_spec, numbered_nodes, subnet
from fabricgauge.model.errors import UsageError

HOSTILE = "c1;touch${IFS}x"


@pytest.mark.parametrize(
    "name", ["c1", "node-01.cluster", "<b>c1", HOSTILE, "$(id)", "'", "a" * 64]
)
def test_any_name_that_hosts_file_and_kernel_can_hold_is_data(name: str) -> None:
    check_spec(LabSpec(nodes=(name,)))


@pytest.mark.parametrize(
    "name",
    ["", "a" * 65, "a b", "a\tb", "a\n10.0.0.1 c2", "a#b", "a/b", "..", ".", "-rf", "é",
     "\0", "head", "HEAD", "switch", "localhost", "\udc80"],
)  # fmt: skip
def test_name_fails_when_hosts_file_kernel_or_table_cannot_hold_it(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a node"):
        check_spec(LabSpec(nodes=(name,)))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (LabSpec(nodes=()), "1 to 128 nodes"),
        (LabSpec(nodes=numbered_nodes(129)), "1 to 128 nodes"),
        (LabSpec(nodes=("c1", "C1")), "two nodes are named 'c1'"),
        (LabSpec(networks=()), "1 to 16 networks"),
        (LabSpec(networks=(NetworkSpec("a", 1e9), NetworkSpec("a", 1e9))), "two networks"),
        (LabSpec(networks=(NetworkSpec("a b", 1e9),)), "cannot name a network"),
        (LabSpec(networks=(NetworkSpec("a", 1e3),)), "rate 1000 bit/s"),
        (LabSpec(networks=(NetworkSpec("a", float("nan")),)), "rate nan"),
        (LabSpec(networks=(NetworkSpec("a", 1e9, 100),)), "MTU 100"),
    ],
)
def test_spec_fails_when_it_cannot_be_made(spec: LabSpec, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_spec(spec)


@given(st.integers(0, 15), st.lists(st.integers(0, 128), min_size=2, unique=True))
def test_addresses_differ_and_lie_in_their_subnet(network: int, nodes: list[int]) -> None:
    found = {address(network, node) for node in nodes}
    assert len(found) == len(nodes)
    hosts = set(ipaddress.ip_network(subnet(network)).hosts())
    assert all(ipaddress.ip_address(ip) in hosts for ip in found)
