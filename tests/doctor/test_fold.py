"""What follows from what: nothing worse is hidden, and of two faults both are named."""

import msgspec
from tests.doctor.clusters import (
    NO,
    clean,
    findings,
    port,
    with_interface,
    with_inventory,
    with_pings,
)
from tests.doctor.test_echoes import held_back
from tests.doctor.test_links_and_ports import silent, with_port, with_second_port

from fabricgauge.doctor.examining import fold_consequences
from fabricgauge.model.finding import Checked, Finding, Severity
from fabricgauge.model.inventory import Inventory


def test_an_unused_port_hides_no_fault_of_its_node() -> None:
    """Most nodes have ports that nobody plugged anything into."""
    unused = with_second_port(clean(), "c1", "c2", "c3", "c4")
    slow = with_interface(unused, "c2:eth0", speed_bit_s=25e9)
    assert [(one.check, one.where) for one in findings(slow) if one.severity is Severity.FAIL] == [
        ("rate", "c2:eth0")
    ]
    lost = silent(unused, "c2", "eth")
    assert [(one.check, one.where) for one in findings(lost) if one.severity is Severity.FAIL] == [
        ("ping", "c2:eth0")
    ]


def test_a_dead_port_of_another_network_explains_nothing() -> None:
    down = with_port(clean(), "c2", state="DOWN", physical="Polling")
    found = findings(silent(down, "c2", "eth"))
    assert {(one.check, one.where) for one in found} == {
        ("port", "c2:mlx5_0:1"), ("ping", "c2:eth0"),
    }  # fmt: skip


def test_the_same_fault_of_two_nodes_follows_from_a_third_thing_on_one_of_them_only() -> None:
    slow = with_interface(clean(5), "c1:eth0", speed_bit_s=25e9, carrier=False, operstate="down")
    found = findings(with_interface(slow, "c3:eth0", speed_bit_s=25e9))
    assert [(one.check, one.where) for one in found] == [("link", "c1:eth0"), ("rate", "c3:eth0")]
    assert "therefore rate: c1:eth0: runs at 25 Gb/s instead of 100 Gb/s" in found[0].evidence


def test_a_lossy_link_does_not_hide_that_it_is_slow_as_well() -> None:
    """A large echo that came back took no longer for those that were lost."""
    lossy = with_pings(
        held_back(clean(), "c2", 1.2e-3),
        lambda one: (
            msgspec.structs.replace(one, received=3)
            if one.network == "eth" and not one.whole and "c2" in (one.source, one.target)
            else one
        ),
    )
    assert {(one.check, one.where) for one in findings(lossy)} == {
        ("ping", "c2:eth0"), ("carried", "c2:eth0"),
    }  # fmt: skip


def finding(check: str, severity: Severity, *nodes: str, network: str = "eth") -> Finding:
    return Finding(check, severity, ",".join(nodes), "x", (), "w", "r", nodes, network)


def left(*every: Finding) -> list[Finding]:
    return [one for done in fold_consequences([Checked("x", "t", every)]) for one in done.findings]


def test_a_failure_is_not_put_below_a_warning() -> None:
    arp = finding("arp", Severity.WARN, "c1", network="")
    lost = finding("ping", Severity.FAIL, "c1")
    assert left(arp, lost) == [arp, lost]
    assert len(left(arp, msgspec.structs.replace(lost, severity=Severity.WARN))) == 1


def test_pairs_that_all_fail_need_a_cause_at_all_nodes_but_one() -> None:
    lost = finding("ping", Severity.FAIL, "c1", "c2", "c3")
    first, second = (finding("link", Severity.FAIL, name) for name in ("c1", "c2"))
    assert lost in left(first, lost)
    assert lost not in left(first, second, lost)


def test_a_port_that_is_narrower_than_like_nodes_is_named_though_no_tool_says_what_it_could() -> (
    None
):
    """Neither /sys nor ibstat tells which widths a port supports."""
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(preflight, name, lanes_supported=(), lane_bit_s_supported=())
    assert findings(preflight) == []
    (found,) = findings(with_port(preflight, "c2", lanes=1))
    assert (found.check, found.where, found.severity) == (
        "rdma-rate", "c2:mlx5_0:1", Severity.FAIL,
    )  # fmt: skip


def test_a_split_cable_leaves_two_lanes_by_design() -> None:
    """HDR100: all nodes of a cluster have 2 of 4 lanes."""
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(preflight, name, lanes=2, rate_bit_s=100e9)
    assert {one.severity for one in findings(preflight)} == {Severity.NOTE}


def test_an_unused_adapter_of_another_generation_is_not_the_port_that_others_use() -> None:
    """mlx5_0 is InfiniBand on old nodes, and an unused Ethernet port on new ones."""

    def newer(one: Inventory) -> Inventory:
        onboard = port(
            protocol="roce", link_layer="Ethernet", state="DOWN", physical="Disabled", lid=NO,
            sm_lid=NO, interface=NO, lanes=NO, lane_bit_s=NO, lanes_supported=(),
            lane_bit_s_supported=(),
        )  # fmt: skip
        hca = port(device="mlx5_2")
        adapters = (
            one.adapters[0],
            msgspec.structs.replace(one.adapters[1], rdma_devices=("mlx5_2",)),
        )
        facts = {**one.facts, "cpu model": "EPYC 9654"}
        return msgspec.structs.replace(
            one, rdma_ports=(onboard, hca), adapters=adapters, facts=facts
        )

    preflight = with_inventory(with_inventory(clean(6), "c5", newer), "c6", newer)
    assert not [one for one in findings(preflight) if one.severity is not Severity.NOTE]


def test_one_port_that_the_manager_left_out_calls_for_no_second_manager() -> None:
    found = findings(with_port(clean(), "c2", state="INIT", lid=0, sm_lid=0))
    (left_out,) = [one for one in found if one.check == "port"]
    assert "has not made it active" in left_out.what
    assert "opensm" not in left_out.remedy
    assert left_out.mends == ()
