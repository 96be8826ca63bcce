"""show_gids, ibdev2netdev, mlxlink, and the GIDs of ibv_devinfo -v."""

from tests.nodes.discover.printouts.reading import port, read

from fabricgauge.model.absence import Skipped
from fabricgauge.nodes.discover.printouts.infiniband import (
    parse_ibv_devinfo,
    parse_mlxlink,
    parse_perfquery,
)
from fabricgauge.nodes.discover.printouts.table import parse_named


def test_gids_are_read_with_index_kind_and_interface() -> None:
    found = port(read("show_gids", "mlnx-tools--roce"), "mlx5_0")
    assert (found.protocol, found.interface, len(found.gids)) == ("roce", "ens1f0np0", 6)
    fourth = found.gids[3]
    assert (fourth.index, fourth.kind) == (3, "RoCE v2")
    assert fourth.address == "0000:0000:0000:0000:0000:ffff:0a01:0004"
    assert found.gids[5].interface == "ens1f0np0.7"
    assert found.gid_types == ("IB/RoCE v1", "RoCE v2")


def test_without_a_gid_there_is_no_port_and_no_trouble() -> None:
    parts = read("show_gids", "mlnx-tools--none")
    assert (parts.rdma_ports, parts.troubles) == ((), ())


def test_interfaces_of_ports_are_read_and_with_v_bus_product_and_state() -> None:
    plain = read("ibdev2netdev", "mlnx-tools--plain")
    assert port(plain, "mlx5_0").interface == "ib0"
    assert isinstance(port(plain, "mlx5_0").state, Skipped)
    verbose = read("ibdev2netdev", "mlnx-tools--verbose")
    assert [one.bus for one in verbose.adapters] == ["0000:3b:00.1", "0000:3b:00.0"]
    assert {one.firmware for one in verbose.adapters} == {"20.35.2000"}
    assert verbose.facts["part mlx5_0"] == "15b3:101b"
    assert (port(verbose, "mlx5_0").state, port(verbose, "mlx5_1").state) == ("ACTIVE", "DOWN")


def test_mlxlink_says_width_speed_and_errors_of_the_device_in_its_name() -> None:
    parts = read("mlxlink", "4--ib-hdr", "-d mlx5_0 -c")
    found = port(parts, "mlx5_0")
    assert (found.state, found.lanes, found.lane_bit_s) == ("ACTIVE", 2, 53.125e9)
    assert (found.rate_bit_s, found.reason) == (100e9, "")
    counted = parts.facts["counters of mlx5_0:1"]
    assert counted == "effective_physical_errors=1204 link_downed=3"
    assert parse_named("mlxlink_-d_mlx5_0_-c.txt", "") is not None


def test_mlxlinks_reason_is_kept_and_without_a_device_it_is_a_trouble() -> None:
    found = port(read("mlxlink", "4--down", "-d mlx5_1"), "mlx5_1")
    assert (found.state, found.physical, found.reason) == ("DOWN", "Polling", "Cable is unplugged")
    nameless = read("mlxlink", "4--down", "")
    assert (nameless.rdma_ports, len(nameless.troubles)) == ((), 1)
    assert parse_mlxlink("").troubles == ()


def test_gids_without_a_kind_are_left_out() -> None:
    """rdma-core before 29 prints none."""
    text = (
        "hca_id:\tmlx5_0\n\ttransport:\tInfiniBand (0)\n\t\tport:\t1\n\t\t\tlink_layer:\tEthernet\n"
        "\t\t\tGID[  0]:\tfe80::1\n\t\t\tGID[  3]:\t::ffff:10.1.0.1, RoCE v2\n"
    )
    (found,) = parse_ibv_devinfo(text).rdma_ports
    assert [(one.index, one.kind) for one in found.gids] == [(3, "RoCE v2")]


def test_perfquery_gives_the_counters_of_the_device_in_its_name() -> None:
    expected = (
        "SymbolErrorCounter=65535 LinkErrorRecoveryCounter=3 LinkDownedCounter=2"
        " PortRcvErrors=1204 PortXmitDiscards=17"
    )
    for argument, name in (
        ("-C mlx5_0 -P 1", "mlx5_0:1"), ("-C mlx5_1-P-1", "mlx5_1:1"), ("mlx5_0", "mlx5_0:1"),
        ("", "LID 4:1"), ("-x", "LID 4:1"),
    ):  # fmt: skip
        facts = read("perfquery", "44--symbol-errors", argument).facts
        assert facts == {f"counters of {name}": expected}
    assert parse_named("perfquery_-C_mlx5_0.txt", "") is not None


def test_perfquery_of_all_ports_or_of_nothing_has_no_counters() -> None:
    text = "# Port counters: Lid 4 port 255 (CapMask: 0x5A00)\nSymbolErrorCounter:.....7\n"
    assert (parse_perfquery(text).facts, parse_perfquery(text).troubles) == ({}, ())
    assert parse_perfquery("ibwarn: [1] mad_rpc: _do_madrpc failed\n").facts == {}
