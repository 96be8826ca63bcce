"""Planted faults of links, rates, slots, drivers and ports; each is named, and nothing else."""

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

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import DeclaredNetwork, Network, Shaper, Unreached
from fabricgauge.model.finding import Command, Severity
from fabricgauge.model.inventory import Inventory, LinkModes, PcieLink, RdmaPort
from fabricgauge.model.preflight import Ping, Preflight
from fabricgauge.nodes.discover.subnets import join_networks


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_a_clean_cluster_has_no_finding(count: int) -> None:
    assert findings(clean(count)) == []


def test_an_unreached_node_is_named_with_its_reason() -> None:
    preflight = clean()
    lost = (Unreached("c9", "c9 could not be reached (exit status 255)"),)
    fabric = msgspec.structs.replace(preflight.fabric, unreached=lost)
    found = only(msgspec.structs.replace(preflight, fabric=fabric))
    assert (found.check, found.where, found.severity) == ("reach", "c9", Severity.FAIL)
    assert found.evidence == ("c9 could not be reached (exit status 255)",)


def test_a_node_whose_answer_was_cut_off_is_not_said_to_be_sound() -> None:
    cut = with_fact(clean(), "c2", "answer", "cut off")
    told = ("the answer was cut off at line 40",)
    found = only(with_inventory(cut, "c2", lambda one: msgspec.structs.replace(one, troubles=told)))
    assert (found.check, found.where, found.severity) == ("reach", "c2", Severity.WARN)
    assert found.evidence == told


def silent(preflight: Preflight, node: str, network: str) -> Preflight:
    def lost(ping: Ping) -> Ping:
        if network == ping.network and node in (ping.source, ping.target):
            return msgspec.structs.replace(ping, received=0, rtt_s=NO)
        return ping

    return clusters.with_pings(preflight, lost)


def test_a_dead_link_is_one_finding_with_all_that_follows_from_it() -> None:
    dead = with_interface(clean(), "c2:eth0", carrier=False, operstate="down")
    found = only(silent(dead, "c2", "eth"))
    assert (found.check, found.where, found.network) == ("link", "c2:eth0", "eth")
    assert found.severity is Severity.FAIL
    assert any(line.startswith("therefore ping: c2:eth0") for line in found.evidence)


def test_an_interface_that_is_switched_off_comes_with_the_command_that_switches_it_on() -> None:
    found = only(with_interface(clean(), "c2:eth0", carrier=NO, operstate="down"))
    assert found.mends == (Command("c2", ("ip", "link", "set", "dev", "eth0", "up")),)


def with_second_port(preflight: Preflight, *dead: str) -> Preflight:
    """Each node's adapter has a port eth1 without an address; ``dead`` have no carrier there."""
    for name in [node.name for node in preflight.fabric.nodes]:
        extra = clusters.interface(
            "eth1", "", f"02:00:00:01:00:{name[1:]}", addresses=(), carrier=name not in dead
        )
        nodes = tuple(
            msgspec.structs.replace(one, interfaces=(*one.interfaces, extra))
            if one.name == name
            else one
            for one in preflight.fabric.nodes
        )
        fabric = msgspec.structs.replace(preflight.fabric, nodes=nodes)
        preflight = msgspec.structs.replace(preflight, fabric=fabric)
        preflight = with_inventory(
            preflight, name, lambda one: with_adapter(one, 0, interfaces=("eth0", "eth1"))
        )
    return preflight


def with_adapter(one: Inventory, place: int, **changes: object) -> Inventory:
    adapters = list(one.adapters)
    adapters[place] = msgspec.structs.replace(adapters[place], **changes)
    return msgspec.structs.replace(one, adapters=tuple(adapters))


def test_a_spare_port_without_carrier_counts_more_where_like_nodes_have_one() -> None:
    assert findings(with_second_port(clean())) == []
    found = only(with_second_port(clean(), "c2"))
    assert (found.check, found.where, found.severity) == ("link", "c2:eth1", Severity.WARN)
    everywhere = only(with_second_port(clean(), "c1", "c2", "c3", "c4"))
    assert (everywhere.severity, len(everywhere.nodes)) == (Severity.NOTE, 4)


def test_a_port_that_fell_back_is_named_with_both_rates() -> None:
    found = only(with_interface(clean(), "c3:eth0", speed_bit_s=25e9))
    assert (found.check, found.where, found.severity) == ("rate", "c3:eth0", Severity.FAIL)
    assert found.what == "runs at 25 Gb/s instead of 100 Gb/s"


def test_a_member_that_is_faster_than_most_makes_nobody_slow() -> None:
    fast = with_interface(clean(), "c1:eth0", speed_bit_s=400e9)
    nodes = fast.fabric.nodes
    (found,) = join_networks(nodes, ())[:1]  # as discovery takes the rate from the fastest port
    assert found.rate_bit_s == 400e9
    assert findings(clusters.with_network(fast, "eth", **rates(found))) == []
    declared = join_networks(nodes, (DeclaredNetwork("eth", "10.1.0.0/24", 400e9, "a site file"),))[
        0
    ]
    slow = only(clusters.with_network(fast, "eth", **rates(declared)))
    assert (slow.check, slow.nodes) == ("rate", ("c2", "c3", "c4"))


def rates(network: Network) -> dict[str, object]:
    return {"rate_bit_s": network.rate_bit_s, "rate_origin": network.rate_origin}


def test_a_port_that_supports_no_more_is_a_note() -> None:
    modes = LinkModes((1e9, 25e9), (25e9,), (25e9,), True, "full")
    slow = with_interface(clean(), "c3:eth0", speed_bit_s=25e9)
    found = only(with_inventory(slow, "c3", lambda one: with_adapter(one, 0, modes=modes)))
    assert (found.check, found.severity) == ("rate", Severity.NOTE)
    assert found.evidence[-1] == "c3:eth0 supports no more than 25 Gb/s"


def test_a_token_bucket_below_the_rate_is_named_and_one_at_the_rate_is_not() -> None:
    at = Shaper(100e9 * 9014 / 9038, 1 << 20)
    assert findings(with_interface(clean(), "c3:eth0", shaper=at)) == []
    found = only(with_interface(clean(), "c3:eth0", shaper=Shaper(10e9, 1 << 20)))
    assert (found.check, found.where) == ("rate", "c3:eth0")
    assert "tc qdisc" in found.remedy


def test_half_duplex_and_a_rate_below_what_both_ends_support_are_named() -> None:
    modes = LinkModes((100e9, 200e9), (), (100e9, 200e9), True, "full")
    both = with_inventory(clean(), "c1", lambda one: with_adapter(one, 0, modes=modes))
    assert only(both).what == "runs at 100 Gb/s, though both ends support 200 Gb/s"
    half = msgspec.structs.replace(modes, partner_bit_s=(100e9,), duplex="half")
    found = only(with_inventory(clean(), "c1", lambda one: with_adapter(one, 0, modes=half)))
    assert (found.what, found.where) == ("runs half duplex", "c1:eth0")


def with_port(preflight: Preflight, name: str, **changes: object) -> Preflight:
    def change(one: Inventory) -> Inventory:
        ports = (msgspec.structs.replace(one.rdma_ports[0], **changes), *one.rdma_ports[1:])
        return msgspec.structs.replace(one, rdma_ports=ports)

    return with_inventory(preflight, name, change)


def test_a_narrow_or_slow_rdma_port_is_named() -> None:
    narrow = only(with_port(clean(), "c2", lanes=1, rate_bit_s=50e9))
    assert (narrow.check, narrow.where) == ("rdma-rate", "c2:mlx5_0:1")
    told = "runs at 1 lane of 50 Gb/s, like ports at 4 lanes of 50 Gb/s"
    assert (narrow.what, narrow.severity) == (told, Severity.FAIL)
    slow = only(with_port(clean(), "c2", lane_bit_s=25e9))
    assert (slow.where, slow.severity) == ("c2:mlx5_0:1", Severity.FAIL)


def test_ports_that_are_all_slower_than_they_could_be_are_a_note() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(preflight, name, lane_bit_s=25e9)
    assert only(preflight).severity is Severity.NOTE


def test_a_narrow_slot_fails_where_it_binds_the_port_and_warns_where_it_does_not() -> None:
    binds = with_inventory(
        clean(), "c2", lambda one: with_adapter(one, 0, pcie_now=PcieLink(8.0, 8))
    )
    found = only(binds)
    assert (found.check, found.where, found.severity) == ("pcie", "c2:eth0", Severity.FAIL)
    assert found.what == "runs at 8 GT/s x8, the adapter can do 16 GT/s x16"
    enough = with_inventory(
        clean(), "c2", lambda one: with_adapter(one, 0, pcie_now=PcieLink(8.0, 16))
    )
    assert only(enough).severity is Severity.WARN


def test_a_slot_that_is_itself_less_than_those_of_like_nodes_is_named() -> None:
    small = PcieLink(16.0, 4)
    found = only(with_inventory(
        clean(), "c2", lambda one: with_adapter(one, 0, pcie_now=small, pcie_capable=small)
    ))  # fmt: skip
    assert (found.check, found.where) == ("pcie", "c2:eth0")
    assert found.what == "runs at 16 GT/s x4, like adapters at 16 GT/s x16"


def test_an_adapter_without_driver_or_rdma_device_is_named() -> None:
    dead = with_inventory(
        clean(), "c2", lambda one: with_adapter(
            one, 0, driver=NO, interfaces=(), driver_version=NO, firmware=NO
        ),
    )  # fmt: skip
    found = only(dead)
    assert (found.check, found.where, found.what) == ("driver", "c2", "has no driver for MT28908")

    def without_rdma(one: Inventory) -> Inventory:
        return msgspec.structs.replace(with_adapter(one, 1, rdma_devices=()), rdma_ports=())

    found = only(with_inventory(clean(), "c2", without_rdma))
    assert found.what == "has no RDMA device of MT28908"
    assert found.mends == (Command("c2", ("modprobe", "mlx5_ib")),)


def test_a_missing_module_is_named_with_the_command_that_loads_it() -> None:
    missing = with_inventory(
        clean(), "c2", lambda one: msgspec.structs.replace(one, modules=("ib_core", "mlx5_ib"))
    )
    found = only(missing)
    assert (found.check, found.what) == ("driver", "lacks the module ib_uverbs")
    assert found.mends == (Command("c2", ("modprobe", "ib_uverbs")),)


def test_a_port_without_link_is_named_with_its_reason() -> None:
    down = with_port(
        clean(), "c2", state="DOWN", physical="Offline", reason="Offline Disabled Reason: none"
    )
    found = only(down)
    assert (found.check, found.where) == ("port", "c2:mlx5_0:1")
    assert "Offline Disabled Reason: none" in found.evidence[0]
    dead = with_interface(down, "c2:ib0", carrier=False, operstate="down")
    folded = only(silent(dead, "c2", "ib"))
    assert (folded.check, folded.severity) == ("port", Severity.FAIL)
    assert any("therefore link: c2:ib0" in line for line in folded.evidence)


def test_a_second_port_that_no_node_uses_is_a_note() -> None:
    preflight = clean()
    unused = clusters.port(number=2, state="DOWN", physical="Polling", lid=0, sm_lid=0)
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_inventory(
            preflight, name,
            lambda one: msgspec.structs.replace(one, rdma_ports=(*one.rdma_ports, unused)),
        )  # fmt: skip
    assert only(preflight).severity is Severity.NOTE


@pytest.mark.parametrize(
    ("protocol", "service", "kind"),
    [("infiniband", "opensm", "subnet"), ("omni-path", "opafm", "fabric")],
)
def test_without_a_manager_one_finding_names_the_service_to_start(
    protocol: str, service: str, kind: str
) -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(preflight, name, protocol=protocol, state="INIT", lid=0, sm_lid=0)
    preflight = with_fact(preflight, "c3", f"service {service}", "enabled inactive")
    found = only(preflight)
    assert (found.check, found.severity, len(found.nodes)) == ("port", Severity.FAIL, 4)
    assert f"no {kind} manager" in found.what
    assert f"systemctl enable --now {service}" in found.remedy
    assert found.mends == (Command("c3", ("systemctl", "enable", "--now", service)),)


def test_the_manager_that_mlnx_ofed_installs_has_a_name_of_its_own() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(preflight, name, state="INIT", lid=0, sm_lid=0)
        preflight = with_fact(preflight, name, "service opensm", "")
    found = only(with_fact(preflight, "c3", "service opensmd", "failed"))
    assert "systemctl enable --now opensmd" in found.remedy
    assert found.mends == (Command("c3", ("systemctl", "enable", "--now", "opensmd")),)
    assert "c3: service opensmd: failed" in found.evidence


def test_a_roce_port_has_no_lid_and_needs_no_manager() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_port(
            preflight, name, protocol="roce", link_layer="Ethernet", lid=0, sm_lid=0,
            interface="eth0",
        )  # fmt: skip
    assert findings(preflight) == []


def test_unlike_ipoib_modes_are_named_with_the_command() -> None:
    preflight = clean()
    for name in ("c1", "c3", "c4"):
        preflight = with_fact(preflight, name, "ipoib mode ib0", "connected")
        preflight = with_interface(preflight, f"{name}:ib0", mtu_bytes=65520)
    found = only(preflight)
    assert (found.check, found.where, found.severity) == ("ipoib", "c2:ib0", Severity.FAIL)
    assert found.mends[0].argv[-2:] == ("mode", "connected")
    assert any("therefore mtu" in line for line in found.evidence)


def test_connected_mode_with_a_small_mtu_is_named() -> None:
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = with_fact(preflight, name, "ipoib mode ib0", "connected")
    assert only(preflight).severity is Severity.WARN


def test_a_port_whose_state_is_not_known_is_no_finding() -> None:
    unknown: RdmaPort = clusters.port(
        state=NO, physical=NO, lanes=NO, lane_bit_s=NO, lid=NO, sm_lid=Skipped("not told")
    )
    preflight = with_inventory(
        clean(), "c2", lambda one: msgspec.structs.replace(one, rdma_ports=(unknown,))
    )
    assert findings(preflight) == []
