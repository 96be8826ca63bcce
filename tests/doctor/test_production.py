"""Hardware and settings of sound production clusters: nothing of them is a fault."""

from functools import partial

import msgspec
import pytest
from tests.doctor import clusters
from tests.doctor.clusters import (
    NO,
    clean,
    findings,
    only,
    with_fact,
    with_interface,
    with_inventory,
)
from tests.doctor.test_hosts import MEMLOCK
from tests.doctor.test_links_and_ports import with_adapter, with_second_port

from fabricgauge.doctor.examining import examine
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Fabric
from fabricgauge.model.finding import Severity
from fabricgauge.model.inventory import Inventory, PcieLink, Stack
from fabricgauge.model.preflight import Clock, Preflight


def clouds(prefix_length: int, rate: float | Skipped) -> Preflight:
    """Each node's four adapters are in one subnet, numbered as they came."""
    nodes = tuple(
        msgspec.structs.replace(
            clusters.node(number),
            interfaces=tuple(
                clusters.interface(
                    f"eth{place}", "", f"02:00:00:00:{place:02x}:{number:02x}", driver="ena",
                    speed_bit_s=rate,
                    addresses=(Address(f"10.10.{place}.{number}", prefix_length),),
                )
                for place in range(4)
            ),
        )
        for number in (1, 2, 3)
    )  # fmt: skip
    return Preflight(Fabric(nodes, (), ()), ())


@pytest.mark.parametrize("prefix_length", [16, 20])
def test_adapters_of_a_cloud_in_one_flat_subnet_are_its_rails(prefix_length: int) -> None:
    assert findings(clouds(prefix_length, 100e9)) == []
    assert findings(clouds(prefix_length, NO)) == []


def test_a_port_that_few_like_nodes_use_is_a_note() -> None:
    """One node's second port goes to the storage; the others' were never cabled."""
    found = only(with_second_port(clean(8), *(f"c{number}" for number in range(2, 9))))
    assert (found.severity, len(found.nodes)) == (Severity.NOTE, 7)
    assert found.remedy.startswith("none, if ")


def test_a_bmcs_own_interface_needs_no_carrier() -> None:
    local = (Address("169.254.3.1", 24), Address("fe80::1", 64))
    usb = {"driver": "cdc_ether", "carrier": False, "addresses": local, "mac": "be:3a:f2:b6:05:9f"}
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_interface(preflight, f"{name}:docker0", **usb)
    assert findings(preflight) == []


def of_two_generations() -> Preflight:
    """c4 has an adapter of the generation before, at half the rate; ethtool knows no modes."""

    def older(one: Inventory) -> Inventory:
        old = with_adapter(one, 1, product="MT27800", driver_version="24.10")
        return with_adapter(
            msgspec.structs.replace(old, facts={**old.facts, "cpu model": "Xeon 6148"}), 0, modes=NO
        )

    return with_inventory(with_interface(clean(), "c4:ib0", speed_bit_s=100e9), "c4", older)


def test_a_node_of_the_generation_before_is_slower_by_design() -> None:
    found = only(of_two_generations())
    assert (found.check, found.where, found.severity) == ("rate", "c4:ib0", Severity.NOTE)
    assert "another adapter" in found.evidence[-1]
    assert found.remedy.startswith("none")


def test_a_slot_of_an_older_generation_that_suffices_everywhere_is_a_note() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(
            preflight, name, lambda one: with_adapter(one, 0, pcie_now=PcieLink(8.0, 16))
        )
    found = only(preflight)
    assert (found.check, found.severity, len(found.nodes)) == ("pcie", Severity.NOTE, 4)


def test_an_adapter_that_a_guest_has_is_no_missing_interface() -> None:
    given: dict[str, object] = {"driver": "vfio-pci", "interfaces": (), "modes": NO}
    assert not [
        one
        for one in findings(
            with_inventory(clean(), "c2", lambda one: with_adapter(one, 0, **given))
        )
        if one.check == "driver"
    ]


def test_an_onboard_adapter_that_nobody_drives_is_a_warning_and_one_that_others_do_fails() -> None:
    bare: dict[str, object] = {
        "driver": NO, "interfaces": (), "driver_version": NO, "firmware": NO, "modes": NO,
        "product": "BCM57416",
    }  # fmt: skip
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(preflight, name, lambda one: with_adapter(one, 0, **bare))
    assert only(preflight).severity is Severity.WARN
    driven = clean()
    for name in ("c1", "c3", "c4"):
        driven = with_inventory(driven, name, lambda one: with_adapter(one, 0, product="BCM57416"))
    found = findings(with_inventory(driven, "c2", lambda one: with_adapter(one, 0, **bare)))
    assert [(one.where, one.severity) for one in found if one.check == "driver"] == [
        ("c2", Severity.FAIL)
    ]


def test_rdma_that_is_built_into_the_kernel_needs_no_module() -> None:
    built_in = with_inventory(
        clean(), "c2", lambda one: msgspec.structs.replace(one, modules=("nfs", "xfs"))
    )
    assert findings(built_in) == []


def test_roots_limit_of_locked_memory_is_not_the_users() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, MEMLOCK, "8388608")
        preflight = with_fact(preflight, name, "user id", "0")
    found = only(preflight)
    assert (found.check, found.severity) == ("limits", Severity.WARN)
    assert "ulimit -l" in found.remedy


def test_where_most_nodes_agree_the_heads_clock_is_wrong() -> None:
    clocks = tuple(Clock(f"c{number}", 3.2, 3.3 + number / 100) for number in range(1, 5))
    found = only(msgspec.structs.replace(clean(), clocks=clocks))
    assert (found.where, found.nodes) == ("the head", ())
    odd = (*clocks[:3], Clock("c4", -0.1, 0.1))
    assert {one.where for one in findings(msgspec.structs.replace(clean(), clocks=odd))} == {
        "the head", "c4",
    }  # fmt: skip


def test_a_firewall_that_lets_the_clusters_networks_in_is_none() -> None:
    shut = with_fact(clean(), "c1", "firewall", "nft: input ends in reject")
    assert only(shut).severity is Severity.WARN
    assert findings(with_fact(shut, "c1", "firewall lets in", "lo eth0 10.2.0.0/16")) == []
    assert findings(with_fact(shut, "c1", "firewall lets in", "eth* ib+")) == []
    assert only(with_fact(shut, "c1", "firewall lets in", "ib0")).check == "firewall"
    unread = with_inventory(
        clean(), "c1",
        lambda one: msgspec.structs.replace(
            one, facts={k: v for k, v in one.facts.items() if k != "firewall"}
        ),
    )  # fmt: skip
    assert only(with_fact(unread, "c1", "service firewalld", "active")).severity is Severity.NOTE


def unread(*names: str, why: str, user: str = "0") -> Preflight:
    """No node knows its rules; ``names`` say why."""

    def without(one: Inventory) -> Inventory:
        kept = {k: v for k, v in one.facts.items() if "firewall" not in k}
        told = {"firewall unread": why, "user id": user} if one.name in names else {}
        return msgspec.structs.replace(one, facts={**kept, **told})

    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(preflight, name, without)
    return preflight


def reason(preflight: Preflight) -> str:
    (found,) = examine(preflight, ("firewall",))
    assert isinstance(found.skipped, Skipped)
    return found.skipped.reason


def test_why_a_firewalls_rules_are_not_known_is_what_the_nodes_say() -> None:
    missing = unread("c1", "c2", "c3", why="nft is not installed; iptables is not installed")
    assert reason(missing).endswith(": nft is not installed; iptables is not installed")
    user = unread("c1", "c2", why="nft list ruleset failed", user="1000")
    assert reason(user).endswith("nft list ruleset failed (only root may read the rules)")
    assert ":" not in reason(unread(why=""))
    root = unread("c1", "c2", "c3", "c4", why="nft list ruleset failed")
    assert "root" not in reason(root)


def test_a_node_without_the_pci_database_has_the_same_adapters() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, "pci id 0000:61:00.0", "15b3:101b")
        preflight = with_fact(preflight, name, "pci id 0000:81:00.0", "15b3:101b")
    bare = with_inventory(
        preflight, "c2",
        lambda one: with_adapter(with_adapter(one, 0, product="15b3:101b"), 1, product="15b3:101b"),
    )  # fmt: skip
    assert findings(msgspec.structs.replace(bare, alike=(("c1", "c2", "c3", "c4"),))) == []


def with_drivers(one: Inventory, version: str) -> Inventory:
    first = with_adapter(one, 0, driver_version=version)
    return with_adapter(first, 1, driver_version=version)


def test_drivers_of_the_kernel_itself_differ_with_the_kernel_alone() -> None:
    preflight = clean()
    for number, name in enumerate(("c1", "c2", "c3", "c4")):
        kernel = "5.14.0" if number == 1 else "4.18.0"
        preflight = with_inventory(preflight, name, partial(with_drivers, version=kernel))
    nodes = tuple(
        msgspec.structs.replace(one, kernel="5.14.0") if one.name == "c2" else one
        for one in preflight.fabric.nodes
    )
    fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes)
    found = only(msgspec.structs.replace(preflight, fabric=fabric))
    assert found.what == "differs in kernel: 5.14.0, like nodes have 4.18.0"


def test_a_node_that_lacks_the_mpi_of_the_others_is_named() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        stacks = () if name == "c3" else (Stack("openmpi", "4.1.6", "/opt"),)
        changed = partial(msgspec.structs.replace, stacks=stacks, sources=("survey",))
        preflight = with_inventory(preflight, name, changed)
    found = only(preflight)
    assert (found.where, found.what) == (
        "c3",
        "differs in MPI: none, like nodes have openmpi 4.1.6",
    )
