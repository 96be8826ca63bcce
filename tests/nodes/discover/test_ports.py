"""Networks found from RDMA ports: whom they join, each rail alone and all together."""

import msgspec
import pytest
from tests import rdma_nodes as nodes
from tests.rdma_nodes import Card, answer

from fabricgauge.judge.ceiling.technologies import ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.nodes.discover.interface import parse_fabric

HDR_BYTES_PER_S = 200e9 / 8 * 4096 / 4122
PCIE4_X16 = 16 * 16e9 * 128 / 130 / 8 * 512 / 532


def fabric(*each: tuple[Card, ...]) -> Fabric:
    """Nodes c1, c2, … with these cards."""
    raw = {f"c{number}": answer(number, cards) for number, cards in enumerate(each, 1)}
    found = parse_fabric(raw, tuple(raw), (), virtual=False)
    assert not found.unreached
    return found


def alike(cards: tuple[Card, ...]) -> Fabric:
    return fabric(cards, cards)


def named(of: Fabric, name: str) -> Network:
    return next(one for one in of.networks if one.name == name)


def limit(network: Network) -> Ceiling:
    found = ceiling(network)
    assert isinstance(found, Ceiling), found
    return found


@pytest.mark.parametrize(
    ("cards", "names", "mb_per_s", "binds"),
    [
        (nodes.HDR, ["10.20.0.0/24", "infiniband"], 24842.3, "InfiniBand data rate"),
        (nodes.NDR, ["infiniband", "infiniband-rail1", "infiniband-rail2"], 99369.2, "2 rails"),
        (nodes.ROCE, ["10.30.0.0/24", "roce"], 7580.8, "host link PCIe 3.0 x8"),
        (nodes.OPA, ["omni-path"], 12470.8, "Omni-Path data rate"),
        (nodes.EFA, ["efa", *(f"efa-rail{n}" for n in range(1, 5))], 50000.0, "4 rails"),
        (nodes.SLINGSHOT, ["10.150.0.0/24", "slingshot"], 25000.0, "Slingshot-11 line rate"),
        (nodes.DUAL_PORT, ["infiniband", "infiniband-rail1", "infiniband-rail2"], PCIE4_X16 / 1e6,
         "host link PCIe 4.0 x16, 1 for 2 rails"),
    ],
    ids=["HDR", "NDR", "RoCE", "OPA100", "EFA", "Slingshot", "dual port"],
)  # fmt: skip
def test_networks_of_a_cluster_have_ceilings_with_what_binds(
    cards: tuple[Card, ...], names: list[str], mb_per_s: float, binds: str
) -> None:
    found = alike(cards)
    assert [one.name for one in found.networks] == names
    native = next(one for one in found.networks if one.has_rdma_ports)
    assert limit(native).payload_bytes_per_s / 1e6 == pytest.approx(mb_per_s, rel=1e-5)
    assert limit(native).binding.startswith(binds)


def test_each_rail_has_the_ceiling_of_its_own_port() -> None:
    found = alike(nodes.DUAL_PORT)
    one = named(found, "infiniband-rail2")
    assert [(m.node, m.interface) for m in one.members] == [("c1", "mlx5_1:1"), ("c2", "mlx5_1:1")]
    assert limit(one).payload_bytes_per_s == pytest.approx(HDR_BYTES_PER_S)


@pytest.mark.parametrize("cards", [nodes.HDR, nodes.ROCE, nodes.SLINGSHOT])
def test_addresses_and_ports_of_one_adapter_are_one_wire(cards: tuple[Card, ...]) -> None:
    by_ip, native = alike(cards).networks
    assert by_ip.wire == native.wire == native.name
    assert by_ip.technology in ("ipoib", "ethernet")
    assert native.technology not in ("ipoib", "ethernet")


def test_rails_that_differ_are_measured_alone() -> None:
    slower = nodes.NDR[1]._replace(rate="200 Gb/sec (4X HDR)")
    names = [one.name for one in alike((nodes.NDR[0], slower)).networks]
    assert names == ["infiniband-rail1", "infiniband-rail2"]


@pytest.mark.parametrize(
    "other",
    [
        {"prefix": "fe80:0000:0000:0001"},
        {"pkeys": ("0x8001",)},
    ],
)
def test_ports_that_cannot_reach_each_other_make_no_network(other: dict[str, object]) -> None:
    (one,) = nodes.HDR
    apart = one._replace(speed=0, **other)  # type: ignore[arg-type]
    assert fabric((one._replace(speed=0),), (apart,)).networks == ()


def test_two_limited_members_of_a_partition_do_not_reach_each_other() -> None:
    (one,) = nodes.HDR
    limited = (one._replace(speed=0, pkeys=("0x7fff",)),)
    full = (one._replace(speed=0),)
    assert fabric(limited, limited).networks == ()
    assert [one.name for one in fabric(limited, full).networks] == ["infiniband"]


def test_a_lid_that_comes_twice_tells_two_fabrics_of_one_prefix() -> None:
    twice = tuple(one._replace(lid=10) for one in nodes.NDR)
    assert [one.name for one in alike(twice).networks] == ["infiniband-1", "infiniband-2"]


def test_nodes_of_one_kernel_show_the_same_ports_and_are_not_joined_by_them() -> None:
    raw = {f"c{n}": answer(n, nodes.NDR).replace(f"boot-c{n}", "b-host") for n in (1, 2)}
    assert parse_fabric(raw, ("c1", "c2"), (), virtual=True).networks == ()


def test_rdma_over_ethernet_without_an_address_reaches_nobody_that_is_known() -> None:
    (one,) = nodes.ROCE
    assert alike((one._replace(speed=0, interface="ens1f0np0"),)).networks == ()


def test_interface_and_port_of_one_function_have_one_adapter() -> None:
    for node in alike(nodes.ROCE).nodes:
        assert len(node.adapters) == 1
        assert node.adapter_of("mlx5_0:1") == node.adapter_of("ens1f0np0")


def test_a_port_that_is_down_is_no_member() -> None:
    raw = {f"c{n}": answer(n, nodes.HDR) for n in (1, 2, 3)}
    raw["c3"] = raw["c3"].replace("state: 4: ACTIVE", "state: 1: DOWN")
    found = named(parse_fabric(raw, ("c1", "c2", "c3"), (), virtual=False), "infiniband")
    assert [one.node for one in found.members] == ["c1", "c2"]


def test_a_port_is_seen_as_an_interface_with_link_and_rate() -> None:
    (node, _) = alike(nodes.HDR).nodes
    port = node.interface("mlx5_0:1")
    assert not isinstance(port, Skipped)
    assert (port.carrier, port.speed_bit_s) == (True, 200e9)
    assert isinstance(node.interface("mlx5_1:1"), Skipped)


def test_a_run_stored_before_nodes_had_adapters_is_read() -> None:
    (node, _) = alike(()).nodes
    stored = msgspec.to_builtins(node)
    assert "adapters" not in stored
    assert msgspec.convert(stored, type(node)) == node
