"""Addresses that are a node's own affair, or a service's: none of them is a fault."""

import msgspec
import pytest
from tests.doctor.clusters import (
    NO,
    clean,
    findings,
    interface,
    joined,
    only,
    with_interface,
    with_more,
    with_network,
)

from fabricgauge.model.fabric import Address, Interface
from fabricgauge.model.finding import Severity
from fabricgauge.model.preflight import Preflight


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


def test_another_address_of_one_nodes_docker_makes_no_network_and_no_duplicates() -> None:
    other = (Address("172.17.42.1", 16),)
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        addresses = other if name == "c1" else (Address("172.17.0.1", 16),)
        preflight = with_interface(preflight, f"{name}:docker0", addresses=addresses)
    preflight = joined(preflight)
    assert [one.name for one in preflight.fabric.networks] == ["10.1.0.0/24", "10.2.0.0/24"]
    (note,) = findings(preflight)
    assert (note.severity, note.where) == (Severity.NOTE, "docker0 of 3 nodes")
    assert note.nodes == ("c2", "c3", "c4")


def with_port(
    count: int, ip: str, driver: str, mac: str = "0a:ca:fe:f0:0d:04", speed: object = NO
) -> Preflight:
    """Nodes that have one more interface, the same everywhere."""

    def alike(_: int) -> Interface:
        return interface(
            "extra0", ip, mac, driver=driver, speed_bit_s=speed, mtu_bytes=1500,
            addresses=(Address(ip, 30),),
        )  # fmt: skip

    return joined(with_more(clean(count), alike))


@pytest.mark.parametrize("driver", ["cdc_ncm", "cdc_ether", "cdc_eem", "rndis_host"])
@pytest.mark.parametrize("count", [2, 4])
def test_a_controllers_network_over_usb_is_each_nodes_own(driver: str, count: int) -> None:
    """HPE iLO's virtual adapter: one address and one MAC on all nodes."""
    assert findings(with_port(count, "16.1.15.2", driver)) == []


def test_what_most_nodes_have_alike_on_a_subnet_that_joins_none_is_each_nodes_own() -> None:
    """BlueField's rshim: tmfifo_net0 has one address and one MAC on each host."""
    assert findings(with_port(4, "192.168.100.1", "virtio_net")) == []


def test_an_address_that_two_nodes_alone_have_is_still_a_duplicate() -> None:
    found = findings(with_port(2, "192.168.100.1", "igb"))
    assert {one.check for one in found} == {"addresses"}


def test_one_address_on_all_fast_ports_is_a_cloned_images() -> None:
    found = findings(with_port(4, "192.168.100.1", "mlx5_core", speed=100e9))
    assert {one.check for one in found} == {"addresses"}


def test_an_address_over_usb_in_a_network_of_the_nodes_is_a_duplicate() -> None:
    found = findings(with_port(4, "10.1.0.254", "cdc_ncm"))
    assert "addresses" in {one.check for one in found}


def test_a_bridges_one_address_hides_no_other_note() -> None:
    """A hosts file that differs on one of the nodes does not follow from docker0."""
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        bridge = (Address("172.17.0.1", 16),)
        preflight = with_interface(preflight, f"{name}:docker0", addresses=bridge)
    odd = msgspec.structs.replace(
        preflight.inventories[1], facts={**preflight.inventories[1].facts, "hosts file": "9 9"}
    )
    changed = (preflight.inventories[0], odd, *preflight.inventories[2:])
    found = findings(msgspec.structs.replace(preflight, inventories=changed))
    assert [(one.check, one.severity) for one in found] == [
        ("addresses", Severity.NOTE), ("names", Severity.NOTE)
    ]  # fmt: skip
