"""Interfaces that end a path, and the interfaces below them."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.features.vary.layers import wire_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, IpoibPort, Node

AUTOMATIC = "fe80::1"
PARTITION = IpoibPort("datagram", Skipped("unknown"))


def nic(
    name: str, *ips: str, driver: str = "mlx5_core", parent: str = "", master: str = ""
) -> Interface:
    return msgspec.structs.replace(
        planted.interface(0, 1), name=name, driver=driver, parent=parent, master=master,
        addresses=tuple(Address(ip, 24) for ip in ips),
    )  # fmt: skip


def node(*interfaces: Interface) -> Node:
    return msgspec.structs.replace(planted.node(1), interfaces=interfaces)


VLAN = {"driver": "802.1Q VLAN Support", "parent": "eth0"}
BOND = (
    nic("bond0", AUTOMATIC, driver="bonding"), nic("eth0", AUTOMATIC, master="bond0"),
    nic("eth1", master="bond0"), nic("storage", "10.7.0.1", driver="vlan", parent="bond0"),
)  # fmt: skip
BRIDGE = (
    nic("br0", "10.7.0.1", driver="bridge"), nic("eth0.7", AUTOMATIC, master="br0", **VLAN),
    nic("eth0", "10.1.0.1"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("interfaces", "octets", "ends"),
    [
        ((nic("eth0", AUTOMATIC), nic("vlan100", "10.7.0.1", **VLAN)),
         {"eth0": 1045, "vlan100": 1000}, {"vlan100": 1000}),
        ((nic("eth0", "10.1.0.1"), nic("vlan100", "10.7.0.1", **VLAN)),
         {"eth0": 1200, "vlan100": 1000}, {"eth0": 200, "vlan100": 1000}),
        ((nic("eth0", "10.1.0.1"), nic("mac0", "10.1.0.2", driver="macvlan", parent="eth0")),
         {"eth0": 1200, "mac0": 1000}, {"eth0": 200, "mac0": 1000}),
        (BOND, {"bond0": 1000, "eth0": 600, "eth1": 400, "storage": 1000}, {"storage": 1000}),
        ((nic("eth0", "10.1.0.1"), nic("vx0", "10.7.0.1", driver="vxlan", parent="eth0")),
         {"eth0": 1740, "vx0": 1000}, {"eth0": 0, "vx0": 1000}),
        ((nic("eth0", "10.1.0.1"), nic("vx0", "10.7.0.1", driver="vxlan", parent="eth0")),
         {"eth0": 9000, "vx0": 1000}, {"eth0": 7242, "vx0": 1000}),
        (BRIDGE, {"br0": 1000, "eth0.7": 1000, "eth0": 1100}, {"br0": 1000, "eth0": 100}),
    ],
)  # fmt: skip
def test_octets_below_a_path_s_end_count_once(
    interfaces: tuple[Interface, ...], octets: dict[str, int], ends: dict[str, int]
) -> None:
    assert node(*interfaces).path_ends(octets) == ends


@pytest.mark.parametrize(
    "interfaces",
    [
        (nic("eth0", AUTOMATIC), nic("eth1", "10.7.0.1")),
        (nic("eth0", AUTOMATIC, master="vrf0"), nic("vrf0", "127.0.0.1", driver="vrf")),
        (nic("v0", AUTOMATIC, driver="veth", parent="v1"),
         nic("v1", "10.7.0.1", driver="veth", parent="v0")),
        tuple(msgspec.structs.replace(partition, ipoib=PARTITION) for partition in (
            nic("ib0", AUTOMATIC), nic("ib0.8001", "10.7.0.1", parent="ib0"))),
    ],
)  # fmt: skip
def test_an_interface_whose_octets_no_other_counts_ends_a_path(
    interfaces: tuple[Interface, ...],
) -> None:
    octets = {port.name: 1000 for port in interfaces}
    assert node(*interfaces).path_ends(octets) == octets


def test_a_veth_with_both_ends_in_one_namespace_is_a_separate_wire() -> None:
    pair = node(nic("v0", driver="veth", parent="v1"), nic("v1", driver="veth", parent="v0"))
    assert wire_of(pair, "v0") == "v0"


def test_parents_and_ports_are_below_an_interface() -> None:
    inside = nic("veth7", driver="veth", master="br0")
    assert node(*BOND).below("storage") == ("bond0", "eth0", "eth1")
    assert node(*BRIDGE, inside).below("br0") == ("eth0.7", "eth0")
    assert node(*BRIDGE).below("eth0") == node(*BOND).below("mlx5_0:1") == ()
