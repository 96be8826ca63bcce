import pytest
from tests.nodes.discover.printouts.reading import parse, port, raw, read

from fabricgauge.model.absence import Skipped
from fabricgauge.nodes.discover.printouts.table import PARSERS


def test_ibstat_tells_infiniband_and_omni_path_apart() -> None:
    parts = read("ibstat", "44--mixed")
    up, waiting = port(parts, "mlx5_0"), port(parts, "hfi1_0")
    assert (up.link_layer, up.protocol, up.state) == ("InfiniBand", "infiniband", "ACTIVE")
    assert (up.rate_bit_s, up.lid, up.sm_lid) == (200e9, 13, 1)
    assert up.guid == "0x0c42a103001dd12a"
    assert (waiting.link_layer, waiting.protocol) == ("Omni-Path", "omni-path")
    assert (waiting.state, waiting.physical) == ("INIT", "LinkUp")
    assert [one.kind for one in parts.adapters] == ["infiniband", "infiniband", "omni-path"]
    assert parts.adapters[0].product == "MT4123"


def test_each_port_of_an_adapter_is_its_own() -> None:
    parts = read("ibstat", "44--mixed")
    first, second = port(parts, "mlx4_0"), port(parts, "mlx4_0", 2)
    assert (first.state, first.physical) == ("DOWN", "Polling")
    assert (second.state, second.rate_bit_s) == ("INIT", 56e9)


def test_ibstat_of_iwarp_is_empty_and_no_trouble() -> None:
    assert read("ibstat", "44--siw").troubles == ()


@pytest.mark.parametrize("argument", ["-l", "l"])
def test_a_word_alone_is_a_device_only_where_names_were_asked_for(argument: str) -> None:
    listed = read("ibstat", "44--rxe-list", argument)
    assert [one.rdma_devices for one in listed.adapters] == [("rxea",), ("rxeb",)]
    assert parse("ibstat", "Killed\n").adapters == ()


def test_ibstatus_sums_up_lanes_and_tells_iwarp_by_its_gid() -> None:
    narrow = port(read("ibstatus", "44--hdr"), "mlx5_0")
    assert (narrow.lanes, narrow.lane_bit_s, narrow.rate_bit_s) == (2, 50e9, 100e9)
    assert (narrow.lid, narrow.sm_lid) == (13, 1)
    assert port(read("ibstatus", "44--rxe"), "rxea").protocol == "roce"
    renamed = raw("ibstatus", "44--siw").replace("siwa", "device0")
    iwarp = port(parse("ibstatus", renamed), "device0")
    assert (iwarp.protocol, iwarp.link_layer) == ("iwarp", "Ethernet")
    assert isinstance(iwarp.guid, Skipped)


def test_a_port_without_a_gid_may_be_either() -> None:
    down = port(read("ibstatus", "44--hdr"), "mlx5_1")
    assert (down.protocol, down.link_layer, down.state) == ("", "Ethernet", "DOWN")
    assert down.physical == "Disabled"


def test_ibv_devinfo_gives_width_speed_and_mtu() -> None:
    parts = read("ibv_devinfo", "44--edr-v")
    found = port(parts, "mlx5_0")
    assert (found.lanes, found.lane_bit_s, found.rate_bit_s) == (4, 25e9, 100e9)
    assert (found.mtu_bytes, found.lid, found.guid) == (2048, 42, "0xec0d9a030039772e")
    assert parts.adapters[0].firmware == "12.28.2006"
    assert (port(parts, "rdmap0s6").protocol, parts.adapters[1].kind) == ("efa", "efa")


def test_both_spellings_of_a_gid_give_one_guid() -> None:
    text = raw("ibv_devinfo", "44--edr-v")
    short = text.replace("fe80:0000:0000:0000:", "fe80::")
    assert port(parse("ibv_devinfo", short), "mlx5_0").guid == "0xec0d9a030039772e"
    assert port(read("ibv_devinfo", "44--rxe-v"), "rxea").guid == "0x000000fffe00000a"


def test_ibv_devinfo_without_v_leaves_width_open() -> None:
    found = port(read("ibv_devinfo", "44--rxe"), "rxea")
    assert isinstance(found.lanes, Skipped)
    assert isinstance(found.rate_bit_s, Skipped)
    assert found.state == "ACTIVE"


def test_the_transport_tells_iwarp() -> None:
    text = raw("ibv_devinfo", "44--siw-v").replace("siwa", "device0")
    assert port(parse("ibv_devinfo", text), "device0").protocol == "iwarp"


@pytest.mark.parametrize("kind", ["rxe", "siw"])
@pytest.mark.parametrize("what", ["link", "dev"])
def test_rdma_says_the_same_as_text_and_as_json(kind: str, what: str) -> None:
    text, document = (read("rdma", f"6.1--{kind}-{what}{form}") for form in ("", "-json"))
    assert text == document
    assert len(text.rdma_ports if what == "link" else text.adapters) == 2


def test_rdma_link_joins_a_port_with_its_interface() -> None:
    found = port(read("rdma", "6.1--rxe-link"), "rxea")
    assert (found.interface, found.state, found.physical) == ("va", "ACTIVE", "LinkUp")


def test_rdma_link_knows_infiniband_by_its_lid_and_leaves_ethernet_open() -> None:
    parts = read("rdma", "6.1--infiniband-json")
    assert (port(parts, "mlx5_0").protocol, port(parts, "mlx5_0").lid) == ("infiniband", 13)
    ethernet = port(parts, "mlx5_1")
    assert (ethernet.protocol, ethernet.link_layer) == ("", "Ethernet")
    assert ethernet.physical == "Disabled"


def test_old_rdma_numbers_its_lines() -> None:
    parts = read("rdma", "4.18--text")
    assert (port(parts, "mlx5_0").state, port(parts, "mlx5_0").sm_lid) == ("INIT", 1)
    assert parts.adapters[0].firmware == "16.23.1020"


def test_rdma_dev_tells_iwarp_by_its_node_type() -> None:
    text = raw("rdma", "6.1--siw-dev").replace("siwa", "device0")
    assert parse("rdma", text).facts["rdma protocol of device0"] == "iwarp"


@pytest.mark.parametrize("name", ["ibstat", "ibstatus", "ibv_devinfo", "rdma link", "opainfo"])
def test_words_of_failure_are_a_trouble(name: str) -> None:
    parts = PARSERS[name]("Failed to open the device\n", "")
    assert (parts.rdma_ports, parts.adapters, len(parts.troubles)) == ((), (), 1)
