import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.words import figures

SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
SI = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def number(text: str) -> float:
    return float(text.replace(",", ""))


@given(st.integers(0, 1 << 50))
def test_size_reads_back_exactly(length_bytes: int) -> None:
    value, unit = figures.size(length_bytes).split(" ")
    assert int(value) * SIZE_UNITS[unit] == length_bytes


@pytest.mark.parametrize(
    ("length_bytes", "text"),
    [(0, "0 B"), (8, "8 B"), (1500, "1500 B"), (4096, "4 KiB"), (1 << 22, "4 MiB")],
)
def test_size_is_written_as_the_field_writes_it(length_bytes: int, text: str) -> None:
    assert figures.size(length_bytes) == text


@given(st.floats(1e-9, 1e4))
def test_microseconds_read_back_within_half_a_part_in_a_thousand(time_s: float) -> None:
    assert number(figures.microseconds(time_s)) * 1e-6 == pytest.approx(time_s, rel=5.1e-4)


@given(st.floats(1.0, 1e13))
def test_megabytes_read_back_within_rounding(rate: float) -> None:
    assert number(figures.megabytes_per_s(rate)) * 1e6 == pytest.approx(rate, rel=5.1e-4)


@given(st.floats(1e-9, 1e5))
def test_duration_reads_back_within_rounding(time_s: float) -> None:
    value, unit = figures.duration(time_s).split(" ")
    assert number(value) * SECONDS[unit] == pytest.approx(time_s, rel=5.1e-3)


@given(st.floats(1.0, 1e15))
def test_link_rate_reads_back_within_rounding(rate: float) -> None:
    value, unit = figures.link_rate(rate).split(" ")
    assert number(value) * SI[unit.removesuffix("b/s")] == pytest.approx(rate, rel=5.1e-4)


@given(st.floats(0, 2, exclude_min=True))
def test_percent_never_claims_all_of_what_is_not_all(share: float) -> None:
    text = figures.percent(share)
    assert (text == "100 %") == (share == 1)
    assert text.removesuffix(" %") not in ("100.0", "100.00", "100.000")


@given(st.floats(0.001, 0.998))
def test_percent_reads_back_within_rounding(share: float) -> None:
    assert float(figures.percent(share).removesuffix(" %")) == pytest.approx(
        share * 100, abs=0.0501
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (117.69e6, "bytes/s per direction at 1 MiB", "117.69 MB/s per direction at 1 MiB"),
        (10.4e-6, "s half round trip at 8 B", "10.4 µs half round trip at 8 B"),
        (1e9, "bit/s", "1 Gb/s"),
        (0.9998, "share", "99.98 %"),
        (0.5, "1", "50.0 %"),
        (1448.0, "bytes", "1,448 bytes"),
        (20.0, "times", "20.00 times"),
        (3.0, "", "3"),
    ],
)
def test_a_unit_of_the_model_becomes_one_for_people(value: float, unit: str, text: str) -> None:
    assert figures.with_unit(value, unit) == text


def test_half_width_takes_the_farther_end() -> None:
    assert figures.half_width(Estimate(100.0, 99.0, 104.0, 0.95, 3, 30)) == "± 4.0 %"


def test_half_width_of_nothing_is_nothing() -> None:
    assert figures.half_width(Estimate(0.0, 0.0, 0.0, 0.95, 3, 30)) == "± 0.0 %"
