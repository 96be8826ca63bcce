from pathlib import Path

import pytest

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "perftest"
MIB = 2**20


def found(name: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    text = (FIXTURES / f"{name}.out").read_bytes()
    everything = list(read(text.splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def at(one: SuiteCurve, message_bytes: int) -> float:
    return next(p.estimate.value for p in one.points if p.message_bytes == message_bytes)


def test_a_table_from_slides_is_named_by_its_command_line() -> None:
    one = found("slides--latency")[0][0]
    assert (one.benchmark, one.title) == ("ib_send_lat", "")
    assert "ib_send_lat -d mlx5_0 -a" in one.settings["command"]
    assert at(one, 2) == pytest.approx(0.98e-6)
    assert len(one.points) == 10
    assert "no ruler" in one.cut_off


def test_a_heading_whose_words_slipped_keeps_its_columns() -> None:
    besides = found("slides--latency")[0][0].points[0].besides
    assert (besides["p99"], besides["p99.9"]) == pytest.approx((1.08e-6, 3.00e-6))


def test_dots_after_a_figure_are_no_part_of_it() -> None:
    last = found("slides--latency")[0][0].points[-1]
    assert last.message_bytes == 1024
    assert last.besides["p99.9"] == pytest.approx(3.45e-6)


def test_a_summary_of_latencies_gives_one_curve_per_program() -> None:
    summary = found("slides--latency")[0][1:]
    assert [one.benchmark for one in summary] == ["ib_send_lat", "ib_write_lat", "ib_read_lat"]
    assert [at(one, 2) for one in summary] == pytest.approx([1.01e-6, 0.94e-6, 1.93e-6])
    assert [one.pattern for one in summary] == ["latency", "latency", None]
    assert {one.statistic for one in summary} == {"single"}
    assert [len(one.points) for one in summary] == [15] * 3


def test_a_summary_of_bandwidths_is_read_as_mebibytes_and_says_so() -> None:
    summary = found("slides--bandwidth")[0][2:]
    assert [one.benchmark for one in summary] == ["ib_send_bw", "ib_write_bw", "ib_read_bw"]
    assert [at(one, 32768) for one in summary] == pytest.approx(
        [11274.91 * MIB, 11295.33 * MIB, 10802.41 * MIB]
    )
    assert all("the table names no unit" in one.unit_rule for one in summary)


def test_a_number_far_below_a_summary_is_no_row_of_it() -> None:
    curves, strange = found("slides--bandwidth")
    assert all(one.failures == () for one in curves)
    assert any(one.line + one.count > 37 for one in strange)
