"""Every row of the tables: what the standards' round numbers say of it."""

import pytest

from fabricgauge.judge.ceiling import capacity, ethernet, infiniband, unframed
from fabricgauge.judge.ceiling import unframed as slingshots
from fabricgauge.judge.ceiling.stated import known_names, stated_network
from fabricgauge.judge.ceiling.technologies import TECHNOLOGIES, ceiling
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling


@pytest.mark.parametrize(
    ("speed", "lane_gbit_s"),
    [
        ("SDR", 2), ("DDR", 4), ("QDR", 8), ("FDR10", 10), ("FDR", 150 / 11), ("EDR", 25),
        ("HDR", 50), ("NDR", 100), ("XDR", 200),
    ],
)  # fmt: skip
def test_infiniband_lane_carries_its_data_rate(speed: str, lane_gbit_s: float) -> None:
    assert infiniband.SPEEDS[speed].data_bit_s(1) == pytest.approx(lane_gbit_s * 1e9, rel=1e-12)


def test_every_infiniband_speed_has_a_round_number() -> None:
    assert set(infiniband.SPEEDS) == {
        "SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR",
    }  # fmt: skip


def test_omni_path_coding_gives_the_data_rate() -> None:
    coded_bit_s = infiniband.OPA100_CODING.data_bit_s(infiniband.OPA100_LANES)
    assert coded_bit_s == infiniband.OMNI_PATHS["OPA100"]


def test_link_transfer_packet_is_as_efficient_as_64b66b() -> None:
    share = 16 * 64 / (16 * 65 + 14 + 2)
    assert share == 64 / 66


@pytest.mark.parametrize(
    ("generation", "x16_megabytes_s"),
    [
        ("1.0", 4000), ("2.0", 8000), ("3.0", 15754), ("4.0", 31508), ("5.0", 63015),
        ("6.0", 118000), ("7.0", 236000),
    ],
)  # fmt: skip
def test_pcie_generation_has_its_data_rate(generation: str, x16_megabytes_s: int) -> None:
    link = capacity.PcieCapacity(generation, 16)
    assert round(link.data_bit_s / 8e6) == x16_megabytes_s


def test_every_pcie_generation_has_a_data_rate_above() -> None:
    assert list(capacity.PCIE_GENERATIONS) == ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "7.0"]


@pytest.mark.parametrize(
    ("generation", "lane_gt_s"), [("1.0", 2.5), ("2.0", 5), ("3.0", 8), ("4.0", 16), ("5.0", 32)]
)
@pytest.mark.parametrize("lanes", capacity.PCIE_LANES)
def test_pcie_limit_is_below_the_tutorials_table(
    generation: str, lane_gt_s: float, lanes: int
) -> None:
    both_ways = 2 * lane_gt_s * lanes / (10 if lane_gt_s < 8 else 8) * 1e9
    of = capacity.PcieCapacity(generation, lanes, 4096)
    assert 0.97 * both_ways < 2 * of.payload_bytes_per_s < both_ways


@pytest.mark.parametrize("generation", list(unframed.CXLS))
def test_cxl_carries_less_than_its_lanes_signal(generation: str) -> None:
    coding = unframed.CXLS[generation]
    assert coding.lane_bit_s in (32e9, 64e9)
    assert 0.92 < coding.data_bit_s(16) / (16 * coding.lane_bit_s) < 0.95


@pytest.mark.parametrize("name", list(unframed.NVLINKS))
def test_nvlink_rate_is_whole_gigabytes_per_direction(name: str) -> None:
    gigabytes = unframed.NVLINKS[name].link_bit_s / 8e9
    assert gigabytes in (20, 25, 50)


def test_rates_are_those_of_the_published_generations() -> None:
    assert slingshots.SLINGSHOTS == {"Slingshot-10": 100e9, "Slingshot-11": 200e9}
    assert {name: f"EFA-{rate / 1e9:g}" for name, rate in unframed.EFA_CARDS.items()} == {
        name: name for name in unframed.EFA_CARDS
    }
    assert list(ethernet.RATES.values()) == sorted(ethernet.RATES.values())
    assert (min(ethernet.RATES.values()), max(ethernet.RATES.values())) == (10e6, 800e9)


@pytest.mark.parametrize("name", known_names())
def test_every_known_name_has_a_ceiling_and_a_floor(name: str) -> None:
    network = stated_network(name)
    found = ceiling(network)
    assert isinstance(found, Ceiling), found
    assert not isinstance(network.rate_bit_s, Skipped)
    assert 0 < found.payload_bytes_per_s <= network.rails * network.rate_bit_s / 8
    assert network.technology in TECHNOLOGIES


def test_every_technology_is_stated_by_some_known_name() -> None:
    nobody_states = {"simulated"}
    stated = {stated_network(name).technology for name in known_names()}
    assert stated == set(TECHNOLOGIES) - nobody_states
