from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "nvbandwidth"
TEXT, JSON = "0.8--three-gpus", "0.8--three-gpus-json"


def raw(name: str) -> bytes:
    return (FIXTURES / f"{name}.out").read_bytes()


def found(text: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def named(name: str, benchmark: str) -> SuiteCurve:
    return [one for one in found(raw(name))[0] if one.benchmark == benchmark][-1]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.out")), ids=lambda path: path.stem)
def test_every_line_of_every_version_is_understood(path: Path) -> None:
    curves, strange = found(path.read_bytes())
    assert curves
    assert strange == []


@pytest.mark.parametrize("name", [TEXT, JSON])
def test_a_test_is_the_median_of_its_cells_with_their_extremes(name: str) -> None:
    curve = named(name, "host_to_device_memcpy_ce")
    point = curve.points[0]
    assert (curve.version, curve.quantity, curve.statistic) == ("0.8", "bandwidth", "median")
    assert point.message_bytes is None
    assert point.estimate.value == pytest.approx(55.34e9)
    assert point.besides == pytest.approx({"minimum": 55.31e9, "maximum": 55.35e9})
    assert curve.hosts == ("gpu-1",)
    assert curve.settings["device"] == "NVIDIA H100 80GB HBM3"


def test_the_printed_sum_adds_up_what_was_measured_in_turn_and_is_a_setting_only() -> None:
    curve = named(TEXT, "device_to_device_memcpy_read_ce")
    assert curve.points[0].estimate.value == pytest.approx(391.15e9)
    assert (curve.settings["cells"], curve.settings["sum of all cells"]) == ("6", "2347.00")


@pytest.mark.parametrize("name", [TEXT, JSON])
def test_the_total_of_both_directions_says_that_it_is_one(name: str) -> None:
    curve = named(name, "device_to_device_bidirectional_memcpy_read_ce")
    assert curve.directions == 2
    assert curve.points[0].estimate.value == pytest.approx(770.3e9)


def test_one_of_two_directions_is_not_their_sum() -> None:
    curves = [one for one in found(raw(TEXT))[0] if "bidirectional" in one.benchmark]
    assert [one.directions for one in curves] == [1, 1, 2]
    assert "one of both directions" in curves[0].what


@pytest.mark.parametrize("name", [TEXT, JSON])
def test_latencies_are_times(name: str) -> None:
    times = [one for one in found(raw(name))[0] if one.quantity == "time"]
    assert [one.points[0].estimate.value for one in times] == [pytest.approx(772.58e-9)]
    assert [one.benchmark for one in times] == ["host_device_latency_sm"]


def test_a_waived_test_and_an_error_are_failures_without_a_figure() -> None:
    failed = [one for one in found(raw(TEXT))[0] if not one.points]
    assert [(one.benchmark, one.failures[0].text) for one in failed] == [
        ("unnamed test", "Waived:"),
        (
            "device_to_host_memcpy_xx",
            "ERROR: Testcase device_to_host_memcpy_xx not found!",
        ),
    ]
    assert named(JSON, "all_to_host_memcpy_sm").failures[0].text == "Waived"


def test_the_diagonal_of_the_first_version_is_no_measurement() -> None:
    curve = named("0.1--two-gpus", "device_to_device_memcpy_write_ce")
    assert curve.points[0].besides["minimum"] == pytest.approx(276.07e9)


def test_a_zero_off_the_diagonal_is_a_failure() -> None:
    curves, _ = found(raw("0.1--two-gpus").replace(b"276.07", b"  0.00"))
    assert curves[0].failures[0].trouble == "not a number"


def test_data_found_wrong_after_a_copy_spoils_its_test() -> None:
    text = raw(TEXT).replace(
        b"memcpy CE CPU", b" Invalid value when checking the pattern at 0x7f00\nmemcpy CE CPU", 1
    )
    curve = found(text)[0][0]
    assert (curve.points, curve.failures[0].trouble) == ((), "corrupt")


def test_a_matrix_that_breaks_off_says_so() -> None:
    curve = named("0.8--cut-off", "device_to_device_memcpy_read_ce")
    assert curve.cut_off == "ends before the SUM of this test"


def test_a_test_that_breaks_off_before_its_matrix_is_told_of() -> None:
    curves, _ = found(raw(TEXT).split(b"memcpy CE")[0])
    assert [(one.benchmark, bool(one.cut_off)) for one in curves] == [
        ("host_to_device_memcpy_ce", True)
    ]


def test_a_report_that_breaks_off_gives_its_whole_tests_and_says_so() -> None:
    curves, _ = found(raw(JSON)[: raw(JSON).index(b"all_to_host")])
    assert [one.benchmark for one in curves[:2]] == [
        "host_to_device_memcpy_ce",
        "device_to_device_bidirectional_memcpy_read_ce",
    ]
    assert curves[2].cut_off == "the list of tests breaks off"


def test_a_sum_without_its_matrix_is_read() -> None:
    curves, _ = found(b"Running host_to_device_memcpy_ce.\nSUM host_to_device_memcpy_ce 55.23\n")
    assert curves[0].points[0].estimate.value == pytest.approx(55.23e9)


LINES = st.sampled_from(
    [line for path in sorted(FIXTURES.glob("*.out")) for line in path.read_bytes().split(b"\n")]
)


@given(st.lists(st.one_of(LINES, LINES, st.binary(max_size=60)), max_size=60), st.integers(0, 99))
def test_no_mixture_of_lines_makes_it_raise(lines: list[bytes], cut: int) -> None:
    text = b"\n".join(lines)
    for curve in found(text[: max(0, len(text) - cut)])[0]:
        assert all(point.estimate.value > 0 for point in curve.points)


@given(st.integers(0, 4000), st.integers(0, 40), st.binary(max_size=6))
def test_no_change_of_the_report_makes_it_raise(start: int, length: int, new: bytes) -> None:
    text = raw(JSON)
    found(text[:start] + new + text[start + length :])
