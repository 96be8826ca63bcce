import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "nccl-tests"
TEXT = (FIXTURES / "2.19.6--all-reduce-two-nodes-json.out").read_bytes()


def curves(text: bytes) -> list[SuiteCurve]:
    found = read(text.splitlines(keepends=True), "report.json")
    return [one for one in found if isinstance(one, SuiteCurve)]


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(TEXT), **fields}).encode()


def of_rows(rows: list[dict[str, Any]]) -> list[SuiteCurve]:
    return curves(changed(results=rows))


def row() -> dict[str, Any]:
    last: dict[str, Any] = json.loads(TEXT)["results"][-1]
    return last


def test_the_report_says_what_the_text_of_the_same_run_says() -> None:
    printed = curves((FIXTURES / "2.19.6--all-reduce-two-nodes.out").read_bytes())
    written = curves(TEXT)
    assert [(one.benchmark, one.quantity, one.hosts, one.ranks) for one in written] == [
        (one.benchmark, one.quantity, one.hosts, one.ranks) for one in printed
    ]
    for ours, theirs in zip(written, printed, strict=True):
        assert ours.points[-1].estimate.value == pytest.approx(
            theirs.points[-1].estimate.value, rel=1e-3
        )
        assert ours.settings["nccl"] == theirs.settings["nccl"] == "2.28.9"


def test_wrong_elements_make_a_row_corrupt() -> None:
    wrong = row()
    wrong["in_place"]["nwrong"] = 4.0
    failed = [one for one in of_rows([wrong]) if one.settings["placement"] == "in-place"]
    assert [one.trouble for one in failed[0].failures] == ["corrupt"]
    assert failed[0].points == ()


def test_data_that_was_not_checked_is_no_failure() -> None:
    unchecked = row()
    unchecked["in_place"]["nwrong"] = None
    assert not any(one.failures for one in of_rows([unchecked]))


@pytest.mark.parametrize("word", [b"inf", b"-nan", b'"nan"'])
def test_a_bandwidth_that_is_no_number_is_a_failure(word: bytes) -> None:
    alg_bw = json.dumps(row()["out_of_place"]["alg_bw"]).encode()
    curve = next(one for one in curves(TEXT.replace(alg_bw, word)) if one.quantity == "time")
    assert [one.trouble for one in curve.failures] == ["not a number"]


def test_a_report_that_breaks_off_gives_its_whole_rows_and_says_so() -> None:
    whole = TEXT.index(b'{"size":65536')
    cut = curves(TEXT[: whole + 40])
    assert cut[0].cut_off == "the JSON report breaks off behind the row of 32768 bytes"
    assert [point.message_bytes for point in cut[0].points] == [2**i for i in range(3, 16)]


def test_a_report_without_results_is_told_of() -> None:
    cut = curves(TEXT[: TEXT.index(b'"results"')] + b"}")
    assert [(len(one.points), one.cut_off) for one in cut] == [
        (0, "the JSON report has no results")
    ]


def test_the_misspelt_average_of_older_versions_is_read() -> None:
    old = TEXT.replace(b"average_bus_bandwidth", b"average_bus_bandwidith")
    old = old.replace(b'"bandwidth":', b'"bandwidith":')
    assert curves(old)[0].settings["average bus bandwidth"].startswith("20.7062 GB/s, the mean")


def test_single_iterations_stay_with_the_time() -> None:
    timed = row()
    timed["in_place_per_iter"] = {"min_us": 250.0, "max_us": 400.0, "p99_us": 390.0}
    curve = next(
        one
        for one in of_rows([timed])
        if one.quantity == "time" and one.settings["placement"] == "in-place"
    )
    assert curve.points[0].besides == pytest.approx(
        {"minimum": 250e-6, "maximum": 400e-6, "p99": 390e-6}
    )


def test_rows_that_are_none_are_reported() -> None:
    found = list(read([changed(results=[1, {"size": "x"}, row()])], "report.json"))
    assert {one.reason for one in found if isinstance(one, UnparsedLine)} == {
        "a row of nccl-tests' JSON report"
    }
    assert sum(isinstance(one, SuiteCurve) for one in found) == 6


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)), st.binary(max_size=6))
def test_no_change_makes_it_raise(start: int, length: int, new: bytes) -> None:
    list(read([TEXT[:start] + new + TEXT[start + length % 40 :]], "report.json"))
