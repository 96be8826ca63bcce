"""Addresses that are a node's own affair, or a service's: none of them is a fault."""

import pytest
from tests.doctor.clusters import clean, findings, joined, only, with_interface, with_network

from fabricgauge.model.fabric import Address


@pytest.mark.parametrize(
    ("own", "service"),
    [
        (Address("10.1.0.1", 24), Address("10.1.0.100", 32)),
        (Address("10.1.0.1", 24), Address("10.1.0.100", 31)),
    ],
)
def test_a_services_address_beside_the_nodes_own_is_no_odd_netmask(
    own: Address, service: Address
) -> None:
    for addresses in ((own, service), (service, own)):
        preflight = joined(with_interface(clean(), "c1:eth0", addresses=addresses))
        members = [one for one in preflight.fabric.networks[0].members if one.node == "c1"]
        assert [one.ip for one in members] == ["10.1.0.1"]
        assert findings(preflight) == []


def test_a_services_address_of_a_network_that_was_declared_wider_is_no_odd_netmask() -> None:
    addresses = (Address("10.1.0.1", 24), Address("10.1.7.100", 32))
    preflight = with_interface(clean(), "c1:eth0", addresses=addresses)
    first, *others = preflight.fabric.networks[0].members
    extra = type(first)("c1", "eth0", "10.1.7.100", first.mtu_bytes)
    members = (first, extra, *others)
    wide = with_network(preflight, "eth", subnet="10.1.0.0/16", members=members)
    assert [one for one in findings(wide) if one.check == "subnets"] == []


def test_a_nodes_only_address_with_a_netmask_of_one_is_odd() -> None:
    preflight = joined(with_interface(clean(), "c1:eth0", addresses=(Address("10.1.0.1", 32),)))
    found = only(preflight)
    assert (found.check, found.what) == ("subnets", "has netmask /32, 10.1.0.0/24 has /24")
