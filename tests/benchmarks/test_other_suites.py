"""What other suites print is read as seconds of half a round trip."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import imb, netpipe, osu

FIXTURES = Path(__file__).parents[1] / "fixtures"
SWEEP = FIXTURES / "netpipe" / "3.7.2--mpich-shared-memory.out"


def test_netpipe_times_agree_with_its_own_rounded_column() -> None:
    text = SWEEP.read_text()
    times = netpipe.half_round_trips_s(text)
    assert len(times) == len(text.splitlines()) == 44
    for line in text.splitlines():
        size, _, rounded_s = line.split()
        assert times[int(size)] == pytest.approx(float(rounded_s), abs=5.1e-9)


def test_netpipe_times_are_finer_than_the_rounded_column() -> None:
    times = netpipe.half_round_trips_s(SWEEP.read_text())
    assert times[8] == pytest.approx(0.41805e-6, abs=1e-11)


def test_a_netpipe_file_that_broke_off_keeps_its_whole_rows() -> None:
    text = SWEEP.read_text()
    times = netpipe.half_round_trips_s(text[: len(text) // 2])
    assert 15 < len(times) < 30


@given(st.text())
def test_no_netpipe_text_breaks_the_parser(text: str) -> None:
    for size_bytes, time_s in netpipe.half_round_trips_s(text).items():
        assert size_bytes > 0
        assert time_s > 0


def test_osu_means_are_read() -> None:
    text = (FIXTURES / "osu" / "7.4--latency-64-bytes.out").read_text()
    assert osu.half_round_trips_s(text) == {64: pytest.approx(0.49e-6)}


def test_osu_medians_are_read_beside_the_means() -> None:
    text = (FIXTURES / "osu" / "7.4--latency-percentiles.out").read_text()
    figures = osu.means_and_medians(text)
    assert figures[8] == (4.69, 0.50)
    assert figures[4096] == (58.42, 4.15)


def test_osu_message_rates_are_read() -> None:
    text = (FIXTURES / "osu" / "7.4--mbw-mr-2pairs.out").read_text()
    rates = osu.messages_per_s(text)
    assert rates[8] == pytest.approx(297380.66)
    assert rates[128] == pytest.approx(1101633.24)


def test_imb_means_are_read() -> None:
    text = (FIXTURES / "imb" / "2021.11--pingpong-64-bytes.out").read_text()
    times = imb.half_round_trips_s(text)
    assert list(times) == [0, 64]
    assert 0.1e-6 < times[64] < 2e-6


@given(st.text())
def test_no_text_breaks_the_other_parsers(text: str) -> None:
    parsers = (
        osu.half_round_trips_s, osu.messages_per_s, osu.means_and_medians, imb.half_round_trips_s,
    )  # fmt: skip
    for parse in parsers:
        assert all(isinstance(size, int) for size in parse(text))


def test_an_imb_size_is_a_power_of_two() -> None:
    assert imb.one_size(1, 5)[2] == "0:0"
    assert imb.one_size(4096, 5)[2] == "12:12"
