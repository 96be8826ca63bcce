"""rocm-bandwidth-test's matrices, from outputs that others recorded."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "rocm-bandwidth-test"
MI100, FOUR = "recorded-2.6.0--two-mi100", "recorded-2.3.11--four-gpus-pcie"


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.out").read_bytes()


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    every = list(read(text.splitlines(keepends=True), "log"))
    curves = [one for one in every if isinstance(one, SuiteCurve)]
    return curves, [one for one in every if isinstance(one, UnparsedLine)]


@pytest.mark.parametrize("name", [MI100, FOUR])
def test_every_line_is_understood(name: str) -> None:
    curves, strange = found(raw(name))
    assert [one.benchmark for one in curves] == ["unidirectional copy", "bidirectional copy"]
    # The dots of its progress come before it says what it is.
    assert {*"".join(one.text for one in strange)} <= {"."}


def test_ways_between_gpus_alone_are_kept_cell_by_cell() -> None:
    one, both = found(raw(MI100))[0]
    pairs = one.evidence.gpu_pairs
    assert pairs is not None and both.evidence.gpu_pairs is None
    (own, there), (back, other) = pairs.bytes_per_s
    assert (own, other) == (None, None)
    assert [there, back] == pytest.approx([48.902e9, 49.92e9])
    assert pairs.buses == ("0000:23:00", "0000:83:00")
    assert pairs.products == ("AMD Instinct MI100",)
    assert one.points[0].estimate.value == pytest.approx((48.902e9 + 49.92e9) / 2)
    assert one.points[0].besides == pytest.approx({"minimum": 48.902e9, "maximum": 49.92e9})
    assert (one.version, one.directions, both.directions) == ("2.6.0", 1, 2)


def test_gpus_of_two_kinds_are_both_named() -> None:
    (one, _) = found(raw(FOUR))[0]
    pairs = one.evidence.gpu_pairs
    assert pairs is not None
    assert len(pairs.bytes_per_s) == 4 and len(pairs.products) == 2
    assert pairs.bytes_per_s[0][1] == pytest.approx(2.628326e9)


def test_gpus_that_do_not_reach_each_other_give_no_figure() -> None:
    text = raw(MI100).replace(b"48.902", b"N/A   ").replace(b"49.920", b"N/A   ")
    (one, _) = found(text)[0]
    assert one.points == () and one.failures[0].trouble == "other"
    assert one.evidence.gpu_pairs is None


def test_a_cell_that_is_no_number_is_no_evidence() -> None:
    (one, _) = found(raw(MI100).replace(b"48.902", b"nan   "))[0]
    assert one.points == () and one.failures[0].trouble == "not a number"
    assert one.evidence.gpu_pairs is None


@given(st.integers(0, len(raw(FOUR))))
def test_an_output_that_is_cut_off_tells_only_what_it_has(end: int) -> None:
    whole = {one.benchmark: one for one in found(raw(FOUR))[0]}
    for one in found(raw(FOUR)[:end])[0]:
        if one.points and not one.cut_off:
            pairs = one.evidence.gpu_pairs
            assert pairs is None or len(pairs.bytes_per_s) <= 4
            assert one.benchmark in whole


def test_a_second_heading_within_a_table_does_not_change_its_columns() -> None:
    text = (
        "RocmBandwidthTest Version: 2.6.0\n\nDevice: 0,  AMD EPYC\n"
        "Device: 1,  AMD Instinct MI250X,  GPU-aa,  c1:0.0\n"
        "Device: 2,  AMD Instinct MI250X,  GPU-bb,  c6:0.0\n\n"
        "Unidirectional copy peak bandwidth GB/s\n\nD/D       0           1           2\n\n"
        "0         N/A         28.1        28.1\n1         28.0        1300        50.1\n"
        "D/D       0           1\n2         28.0        50.2\n"
    )
    curves, unparsed = found(text.encode())
    assert [point.estimate.value for curve in curves for point in curve.points] == [50.1e9]
    assert [line.line for line in unparsed] == [13]
