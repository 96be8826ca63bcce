"""The rate of a VLAN or a bond is judged by the ports that it is on."""

import msgspec
from tests.doctor.clusters import (
    NO,
    adapter,
    clean,
    findings,
    hca,
    interface,
    inventory,
    joined,
    only,
)  # fmt: skip

from fabricgauge.model.fabric import Interface, Node
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import Adapter, LinkModes
from fabricgauge.model.preflight import Preflight

SLOW = LinkModes((10e9, 25e9), (25e9,), (25e9,), True, "full")


def stacked(top: str, last: tuple[Adapter, ...], **changes: object) -> Preflight:
    """Nodes with their address on ``top`` at 100 Gb/s; the last one has it at 25 Gb/s."""
    preflight = clean()
    inventories, nodes = [], []
    for number, one in enumerate(map(inventory, range(1, 5)), 1):
        assert isinstance(one.node, Node)
        rate = 25e9 if number == 4 else 100e9
        bare = msgspec.structs.replace(
            one.node.interfaces[1], addresses=(), speed_bit_s=rate,
            master=str(changes.get("slave_of", "")),
        )  # fmt: skip
        new = interface(
            top, f"10.1.0.{number}", bare.mac, speed_bit_s=rate,
            driver=changes.get("driver", "802.1Q VLAN Support"), parent=changes.get("parent", ""),
        )  # fmt: skip
        interfaces = (one.node.interfaces[0], bare, *one.node.interfaces[2:], new)
        node = msgspec.structs.replace(one.node, interfaces=interfaces)
        nodes.append(node)
        has = last if number == 4 else one.adapters
        inventories.append(msgspec.structs.replace(one, node=node, adapters=has))
    fabric = msgspec.structs.replace(preflight.fabric, nodes=tuple(nodes))
    return joined(msgspec.structs.replace(preflight, fabric=fabric, inventories=tuple(inventories)))


def rates(preflight: Preflight) -> list[Finding]:
    return [one for one in findings(preflight) if one.check == "rate"]


def test_a_vlan_on_an_adapter_of_another_generation_is_a_note() -> None:
    old = (adapter(product="X25", modes=SLOW), hca())
    for preflight in (stacked("eth0.100", old), stacked("storage", old, parent="eth0")):
        found = only(preflight)
        assert (found.check, found.severity, found.nodes) == ("rate", Severity.NOTE, ("c4",))
        assert found.evidence[-1].endswith("supports no more than 25 Gb/s")


def test_a_vlan_on_another_product_whose_modes_nobody_says_is_a_note() -> None:
    (found,) = rates(stacked("eth0.100", (adapter(product="X25", modes=NO), hca())))
    assert found.severity is Severity.NOTE
    assert found.evidence[-1].endswith("X25")


def test_a_vlan_on_a_port_that_fell_back_fails() -> None:
    (found,) = rates(stacked("eth0.100", (adapter(), hca())))
    assert (found.severity, found.where) == (Severity.FAIL, "c4:eth0.100")


def test_a_bond_of_ports_of_another_generation_is_a_note_and_one_that_fell_back_fails() -> None:
    bond = {"driver": "bonding", "slave_of": "bond0"}
    (found,) = rates(stacked("bond0", (adapter(product="X25", modes=SLOW), hca()), **bond))
    assert found.severity is Severity.NOTE
    (found,) = rates(stacked("bond0", (adapter(), hca()), **bond))
    assert found.severity is Severity.FAIL


def test_a_vlan_whose_port_nobody_says_is_a_warning_where_no_port_can_do_more() -> None:
    (found,) = rates(stacked("storage", (adapter(product="X25", modes=SLOW), hca())))
    assert found.severity is Severity.WARN
    assert "c4" in found.evidence[-1] and "more than 25 Gb/s" in found.evidence[-1]
    (found,) = rates(stacked("storage", (adapter(), hca())))
    assert found.severity is Severity.FAIL


def test_interfaces_that_are_each_others_ends_have_no_ports() -> None:
    """The two ends of a veth in one namespace name each other."""
    preflight = stacked("veth1", (adapter(), hca()), driver="veth", parent="veth0")
    nodes = tuple(
        msgspec.structs.replace(one, interfaces=(*one.interfaces, other(number)))
        for number, one in enumerate(preflight.fabric.nodes, 1)
    )
    fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes)
    assert rates(msgspec.structs.replace(preflight, fabric=fabric))


def other(number: int) -> Interface:
    plain = interface("veth0", "", f"02:00:00:00:01:{number:02x}", driver="veth", addresses=())
    return msgspec.structs.replace(plain, parent="veth1")
