"""Path MTU of RDMA ports: which is unlike the others', and which is smaller than it could be."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests import rdma_nodes as nodes
from tests.nodes.discover.test_ports import named
from tests.rdma_nodes import Card, answer

from fabricgauge.doctor.examining import examine
from fabricgauge.model.adapter import PATH_MTUS, roce_mtu
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Preflight
from fabricgauge.nodes.discover.interface import parse_fabric

DEVINFO = """hca_id:\t{device}
\ttransport:\t\t\tInfiniBand (0)
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t{most} (5)
\t\t\tactive_mtu:\t\t{active} (3)
\t\t\tlink_layer:\t\t{layer}
"""


def fabric(card: Card, *each: tuple[int, int]) -> Fabric:
    """A node with this card for each active MTU and MTU of the interface."""
    raw = {}
    for number, (active, mtu) in enumerate(each, 1):
        told = DEVINFO.format(device=card.device, most=4096, active=active, layer=card.layer)
        text = answer(number, (card._replace(mtu=mtu),))
        raw[f"c{number}"] = text.replace("== settings", f"== ibv_devinfo\n{told}== settings")
    return parse_fabric(raw, tuple(raw), (), virtual=False)


def findings(card: Card, *each: tuple[int, int]) -> tuple[Finding, ...]:
    (found,) = examine(Preflight(fabric(card, *each), ()), {"mtu"})
    return found.findings


def roce(*each: tuple[int, int]) -> tuple[Finding, ...]:
    return findings(nodes.ROCE[0], *each)


def infiniband(*active: int) -> tuple[Finding, ...]:
    return findings(nodes.HDR[0], *((one, 2044) for one in active))


def test_ports_with_all_that_device_and_interface_have_are_sound() -> None:
    assert roce((4096, 9000), (4096, 9000)) == ()
    assert infiniband(4096, 4096) == ()


def test_an_interface_that_leaves_less_is_a_note_for_all_nodes() -> None:
    (found,) = roce((1024, 1500), (1024, 1500))
    assert (found.severity, found.nodes) == (Severity.NOTE, ("c1", "c2"))
    assert "active MTU of 1024" in found.what and "4096" in found.what
    assert "4200 or 9000" in found.remedy
    assert "c1:mlx5_0:1: active MTU 1024, largest 4096; MTU 1500 of ens1f0np0" in found.evidence


def test_a_port_below_what_its_interface_leaves_is_named() -> None:
    (found,) = roce((4096, 9000), (1024, 9000), (4096, 9000))
    assert (found.severity, found.where) == (Severity.WARN, "c2:mlx5_0:1")
    assert found.what == "has an active MTU of 1024, other ports of roce have 4096"
    assert "load its driver again" in found.remedy and not found.mends


def test_all_ports_below_what_their_interfaces_leave_are_one_finding() -> None:
    (found,) = roce((2048, 9000), (2048, 9000))
    assert found.severity is Severity.WARN
    assert found.what.endswith("device and interface allow 4096")


def test_an_interface_unlike_its_network_s_is_told_of_and_not_its_port() -> None:
    (found,) = roce((4096, 9000), (1024, 1500), (4096, 9000))
    assert (found.severity, found.where) == (Severity.FAIL, "c2:ens1f0np0")


def test_a_port_that_the_subnet_manager_gave_less_is_named() -> None:
    (found,) = infiniband(4096, 4096, 2048)
    assert (found.severity, found.where) == (Severity.WARN, "c3:mlx5_0:1")
    assert "smpquery portinfo" in found.remedy
    (all_alike,) = infiniband(2048, 2048)
    assert all_alike.severity is Severity.NOTE


def test_verbs_say_no_mtu_of_omni_path_above_4096() -> None:
    network = named(fabric(nodes.OPA[0], (4096, 0), (4096, 0)), "omni-path")
    assert (network.mtu_bytes, network.assumed) == (10240, ("mtu",))


def test_the_quick_probe_gives_networks_of_ports_the_active_mtu() -> None:
    network = named(fabric(nodes.HDR[0], (2048, 2044), (2048, 2044)), "infiniband")
    assert (network.mtu_bytes, network.assumed) == (2048, ())


@given(st.integers(0, 70000))
def test_the_path_mtu_is_the_largest_that_fits(mtu: int) -> None:
    fits = roce_mtu(mtu)
    assert fits == 0 or (fits in PATH_MTUS and fits + 96 <= mtu)
    assert all(one + 96 > mtu for one in PATH_MTUS if one > fits)


@given(st.lists(st.tuples(st.sampled_from(PATH_MTUS), st.just(9000)), min_size=2, max_size=5))
def test_each_port_that_could_have_more_is_named_once(each: list[tuple[int, int]]) -> None:
    where = [node for one in roce(*each) for node in one.nodes]
    small = {f"c{number}" for number, (active, _) in enumerate(each, 1) if active < 4096}
    assert len(where) == len(set(where))
    assert small <= set(where)


def test_a_network_that_was_named_keeps_that_of_its_ports() -> None:
    of = fabric(nodes.ROCE[0], (1024, 1500), (1024, 1500))
    ip, ports = of.networks
    assert ip.wire == ports.wire
    alone = msgspec.structs.replace(of, networks=(ip,))
    (found,) = examine(Preflight(alone, ()), {"mtu"})
    assert found.findings == ()
