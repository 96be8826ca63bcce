import pytest
from tests.nodes.discover.printouts.reading import only_adapter, parse, port, raw, read

from fabricgauge.model.absence import Skipped


def test_the_guides_port_without_a_cable() -> None:
    parts = read("opainfo", "guide--offline")
    found = port(parts, "hfi1_0")
    assert (found.state, found.physical, found.reason) == ("DOWN", "Offline", "No Loc Media")
    assert (found.link_layer, found.protocol) == ("Omni-Path", "omni-path")
    assert (found.lane_bit_s_enabled, found.lane_bit_s_supported) == ((25e9,), (25e9,))
    assert (found.lanes_enabled, found.lanes_supported) == ((4,), (1, 2, 3, 4))
    assert found.guid == "0x0011750101760ef4"
    assert isinstance(found.rate_bit_s, Skipped)


def test_a_misread_name_is_mended_and_told() -> None:
    (trouble,) = read("opainfo", "guide--offline").troubles
    assert trouble.startswith("opainfo: line 1: hfil_0 is read as hfi1_0")


def test_an_active_port_runs_at_lanes_times_speed() -> None:
    parts = read("opainfo", "10.11--active")
    found = port(parts, "hfi1_0")
    assert (found.state, found.lanes, found.lane_bit_s, found.rate_bit_s) == (
        "ACTIVE", 4, 25e9, 100e9,
    )  # fmt: skip
    assert (found.lid, found.sm_lid, found.guid) == (5, 1, "0x0011750101010101")
    assert parts.facts == {"link quality hfi1_0:1": "5 (Excellent)"}


def test_a_lane_lost_in_one_direction_counts() -> None:
    found = port(read("opainfo", "10.11--degraded"), "hfi1_0")
    assert (found.lanes, found.lanes_enabled, found.rate_bit_s) == (3, (4,), 75e9)


def test_a_port_that_waits_for_its_fabric_manager() -> None:
    found = port(read("opainfo", "10.11--degraded"), "hfi1_1")
    assert (found.state, found.lid, found.sm_lid) == ("INIT", 0, 0)
    assert (found.lane_bit_s, found.lane_bit_s_enabled) == (12.5e9, (12.5e9, 25e9))


@pytest.mark.parametrize(
    ("case", "mode", "modes"),
    [
        ("guide--1x40", "1x40", ("1x40", "4x10")),
        ("2.34--4x10", "4x10", ("1x40", "4x10")),
        ("2.34--2x40", "2x40", ("1x40", "2x40", "4x10", "2x2x10A", "2x2x10B")),
    ],
)
def test_lane_modes_of_an_intel_adapter(case: str, mode: str, modes: tuple[str, ...]) -> None:
    adapter = only_adapter(read("qcu", case, "/NIC=1 /INFO"))
    assert (adapter.lane_mode, adapter.lane_modes) == (mode, modes)
    assert adapter.bus == Skipped("qcu64e names the adapter by /NIC=1 /INFO only")


def test_a_lane_mode_that_is_none_is_absent() -> None:
    text = raw("qcu", "guide--1x40").replace("Configuration: 1x40", "Configuration: N/A")
    adapter = only_adapter(parse("qcu", text))
    assert isinstance(adapter.lane_mode, Skipped)
    assert adapter.lane_modes == ("1x40", "4x10")


def test_an_adapter_that_cannot_be_changed_is_a_trouble() -> None:
    parts = parse("qcu", "Adapter does not support QSFP+ Configuration modification.\n")
    assert (parts.adapters, len(parts.troubles)) == ((), 1)
