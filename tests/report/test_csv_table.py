import csv
import io

import msgspec
import pytest
from tests.report import sample

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.report.content.run_data import COLUMNS
from fabricgauge.report.formats import report


def rows(judged: Judged) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(report(judged, "csv"))))


def row(judged: Judged, pattern: str, message_bytes: int, origin: str = "c1") -> dict[str, str]:
    wanted = (pattern, str(message_bytes), origin)
    keys = ("pattern", "message_bytes", "origin")
    return next(one for one in rows(judged) if tuple(one[key] for key in keys) == wanted)


def test_there_is_a_row_for_every_point() -> None:
    judged = sample.judged()
    assert len(rows(judged)) == sum(len(curve.points) for curve in judged.curves)


def test_figures_are_in_si_units_with_their_interval() -> None:
    found = row(sample.judged(), "bandwidth", 1 << 20)
    value, low, high = (
        float(found[f"bandwidth_{part}bytes_per_s"]) for part in ("", "low_", "high_")
    )
    assert value == pytest.approx(117.32e6, rel=1e-4)
    assert low < value < high
    assert float(found["share_of_ceiling"]) == pytest.approx(0.9969, rel=1e-4)
    assert (found["window"], found["launches"], found["samples"]) == ("64", "3", "3600")


def test_the_share_of_both_directions_is_that_of_twice_the_ceiling() -> None:
    assert float(row(sample.judged(), "bidirectional_bandwidth", 1 << 20)["share_of_ceiling"]) < 1


def test_a_latency_has_no_bandwidth_and_no_share() -> None:
    found = row(sample.judged(), "latency", 8)
    assert float(found["time_s"]) == pytest.approx(10.39e-6, rel=1e-3)
    assert found["bandwidth_bytes_per_s"] == found["share_of_ceiling"] == ""


def test_a_percentile_of_too_few_samples_is_empty() -> None:
    judged = sample.judged()
    point = judged.curves[0].points[0]
    few = msgspec.structs.replace(point, time=msgspec.structs.replace(point.time, samples=99))
    curve = msgspec.structs.replace(judged.curves[0], points=(few,))
    assert rows(msgspec.structs.replace(judged, curves=(curve,)))[0]["p99_s"] == ""


def test_every_row_tells_the_outcome_of_its_run() -> None:
    assert {one["outcome"] for one in rows(sample.judged())} == {"PASS"}


def test_a_name_cannot_become_a_formula_or_a_second_line() -> None:
    names = ('=HYPERLINK("http://evil.example")', "a\n,b")
    found = rows(sample.judged(names))[0]
    assert found["origin"] == '\'=HYPERLINK("http://evil.example")'
    assert found["target"] == "a\\x0a,b"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_no_sign_of_a_formula_begins_a_cell(sign: str) -> None:
    assert rows(sample.judged((f"{sign}1+1", "b")))[0]["origin"] == f"'{sign}1+1"


def test_curves_of_other_suites_have_rows_of_their_own() -> None:
    figure = Estimate(116.96e6, 116.96e6, 116.96e6, 0.0, 1, 0)
    curve = SuiteCurve(
        "osu", "5.7.1", "osu_bw", "OSU MPI Bandwidth Test", 1, what="one-way stream",
        quantity="bandwidth", statistic="mean", unit_rule="MB = 10^6 bytes (OSU)", last_line=3,
        points=(SuitePoint(4 << 20, figure, 3),), pattern="bandwidth", source="osu.log",
    )  # fmt: skip
    judged = sample.judged()
    launch = msgspec.structs.replace(judged.run.launches[0], curves=(curve,))
    run = msgspec.structs.replace(judged.run, launches=(launch,))
    found = rows(msgspec.structs.replace(judged, run=run))[-1]
    assert (found["suite"], found["source"]) == ("osu 5.7.1", "osu.log:1")
    assert float(found["share_of_ceiling"]) == pytest.approx(116.96e6 / sample.LIMIT)
    assert (found["bandwidth_low_bytes_per_s"], found["confidence"], found["samples"]) == (
        "",
        "",
        "",
    )


def test_a_run_without_curves_has_the_heading_alone() -> None:
    judged = sample.judged()
    run = msgspec.structs.replace(judged.run, launches=())
    page = report(msgspec.structs.replace(judged, run=run, curves=()), "csv")
    assert page == ",".join(COLUMNS) + "\n"
