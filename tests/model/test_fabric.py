"""Which interfaces of a node end a path, and what is below one."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.evidence.wires import wire_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, IpoibPort, Node

AUTOMATIC = "fe80::1"
PARTITION = IpoibPort("datagram", Skipped("not told"))


def one(
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
    one("bond0", AUTOMATIC, driver="bonding"), one("eth0", AUTOMATIC, master="bond0"),
    one("eth1", master="bond0"), one("storage", "10.7.0.1", driver="vlan", parent="bond0"),
)  # fmt: skip
BRIDGE = (
    one("br0", "10.7.0.1", driver="bridge"), one("eth0.7", AUTOMATIC, master="br0", **VLAN),
    one("eth0", "10.1.0.1"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("interfaces", "octets", "ends"),
    [
        ((one("eth0", AUTOMATIC), one("vlan100", "10.7.0.1", **VLAN)),
         {"eth0": 1045, "vlan100": 1000}, {"vlan100": 1000}),
        ((one("eth0", "10.1.0.1"), one("vlan100", "10.7.0.1", **VLAN)),
         {"eth0": 1200, "vlan100": 1000}, {"eth0": 200, "vlan100": 1000}),
        ((one("eth0", "10.1.0.1"), one("mac0", "10.1.0.2", driver="macvlan", parent="eth0")),
         {"eth0": 1200, "mac0": 1000}, {"eth0": 200, "mac0": 1000}),
        (BOND, {"bond0": 1000, "eth0": 600, "eth1": 400, "storage": 1000}, {"storage": 1000}),
        ((one("eth0", "10.1.0.1"), one("vx0", "10.7.0.1", driver="vxlan", parent="eth0")),
         {"eth0": 1740, "vx0": 1000}, {"eth0": 0, "vx0": 1000}),
        ((one("eth0", "10.1.0.1"), one("vx0", "10.7.0.1", driver="vxlan", parent="eth0")),
         {"eth0": 9000, "vx0": 1000}, {"eth0": 7242, "vx0": 1000}),
        (BRIDGE, {"br0": 1000, "eth0.7": 1000, "eth0": 1100}, {"br0": 1000, "eth0": 100}),
    ],
)  # fmt: skip
def test_what_is_below_a_path_s_end_counts_nothing_twice(
    interfaces: tuple[Interface, ...], octets: dict[str, int], ends: dict[str, int]
) -> None:
    assert node(*interfaces).path_ends(octets) == ends


@pytest.mark.parametrize(
    "interfaces",
    [
        (one("eth0", AUTOMATIC), one("eth1", "10.7.0.1")),
        (one("eth0", AUTOMATIC, master="vrf0"), one("vrf0", "127.0.0.1", driver="vrf")),
        (one("v0", AUTOMATIC, driver="veth", parent="v1"),
         one("v1", "10.7.0.1", driver="veth", parent="v0")),
        tuple(msgspec.structs.replace(each, ipoib=PARTITION) for each in (
            one("ib0", AUTOMATIC), one("ib0.8001", "10.7.0.1", parent="ib0"))),
    ],
)  # fmt: skip
def test_what_no_other_interface_counts_is_a_path_s_end(interfaces: tuple[Interface, ...]) -> None:
    octets = {each.name: 1000 for each in interfaces}
    assert node(*interfaces).path_ends(octets) == octets


def test_a_veth_whose_other_end_is_in_the_same_namespace_is_a_wire_of_its_own() -> None:
    pair = node(one("v0", driver="veth", parent="v1"), one("v1", driver="veth", parent="v0"))
    assert wire_of(pair, "v0") == "v0"


def test_below_an_interface_are_its_parent_and_its_ports_down_to_the_cables() -> None:
    inside = one("veth7", driver="veth", master="br0")
    assert node(*BOND).below("storage") == ("bond0", "eth0", "eth1")
    assert node(*BRIDGE, inside).below("br0") == ("eth0.7", "eth0")
    assert node(*BRIDGE).below("eth0") == node(*BOND).below("mlx5_0:1") == ()
