import re

import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.report.formats import report


def rows(benchmark: str, mode: str = "") -> dict[int, list[float]]:
    """The rows of a benchmark's first table by size: repetitions and figures."""
    page = report(sample.judged(), "imb")
    start = page.index(f"# Benchmarking {benchmark} \n")
    table = page[page.index(f"MODE: {mode} ", start) if mode else start :].split("\n\n")[0]
    numbers = [line.split() for line in table.splitlines() if re.match(r" +\d", line)]
    return {int(one[0]): [float(word) for word in one[1:]] for one in numbers}


def test_the_head_says_who_measured_and_the_verdict() -> None:
    page = report(sample.judged(verdicts=sample_verdicts.failing(("c1", "c2"))), "imb")
    assert "#    Intel(R) MPI Benchmarks 2021.fabricgauge, MPI-1 part\n" in page
    said = "# fabricgauge: measured by fabricgauge 0.1.0, not by the Intel(R) MPI Benchmarks\n"
    assert said in page
    assert (
        "# fabricgauge: verdict FAIL: c1 → c2: the stream reaches 9.98 % of the ceiling\n" in page
    )


def test_a_ping_pong_has_half_round_trips_and_what_they_carry() -> None:
    repetitions, time_us, megabytes_per_s = rows("PingPong")[1 << 20]
    assert repetitions == 3600
    assert time_us == pytest.approx(9230.28)
    assert megabytes_per_s == pytest.approx((1 << 20) / time_us, rel=1e-4)


def test_our_reader_of_the_suite_reads_the_same_figures() -> None:
    judged = sample.judged()
    found = list(read(report(judged, "imb").encode().splitlines()))
    curves = [one for one in found if isinstance(one, SuiteCurve)]
    of_ours = [one for one in curves if one.pattern and one.quantity in ("time", "bandwidth")]
    assert sorted(str(one.pattern) for one in of_ours) == sorted(
        one.pattern for one in judged.curves
    )
    assert not any(one.failures or one.cut_off for one in curves)
    for one in of_ours:
        assert one.ranks == 2
        assert one.unit_rule == "µs" or one.unit_rule.startswith("MB = 10^6 bytes")
    for ours in judged.curves:
        theirs = next(
            one
            for one in of_ours
            if one.pattern == ours.pattern and len(one.points) == len(ours.points)
        )
        last, again = ours.points[-1], theirs.points[-1]
        assert again.estimate.value == pytest.approx((last.bandwidth or last.time).value, rel=1e-4)
    assert not any(isinstance(one, UnparsedLine) for one in found)


def test_an_empty_message_has_a_time_and_no_bandwidth() -> None:
    assert rows("PingPong")[0][1:] == [10.50, 0.0]


def test_a_stream_has_bandwidth_and_message_rate() -> None:
    _, megabytes_per_s, rate = rows("Uniband")[1024]
    assert megabytes_per_s == pytest.approx(113.187)
    assert rate == pytest.approx(113.19e6 / 1024, rel=1e-4)


def test_the_stream_of_puts_is_aggregate_and_timed_per_put() -> None:
    _, time_us, megabytes_per_s = rows("Unidir_put", "AGGREGATE")[1 << 20]
    assert megabytes_per_s == pytest.approx(117.186)
    assert time_us == pytest.approx((1 << 20) / 117.19, rel=1e-3)


def test_one_sided_tables_stand_in_a_part_of_their_own() -> None:
    first, second = report(sample.judged(), "imb").split("MPI-RMA part")
    assert "Unidir_put" not in first
    assert second.count("# Benchmarking Unidir_put") == 2


def test_columns_are_as_wide_as_those_of_the_suite() -> None:
    page = report(sample.judged(), "imb")
    assert "\n       #bytes #repetitions      t[usec]   Mbytes/sec\n" in page
    assert "\n            8         3600        10.39      0.76982\n" in page
    assert "\n       #bytes #repetitions   Mbytes/sec      Msg/sec\n" in page


def test_no_name_becomes_a_row() -> None:
    names = ("c1\n            8         1000         0.01", "c2")
    page = report(sample.judged(names, sample_verdicts.failing(names)), "imb")
    assert not re.search(r"^ +8 +1000", page, re.MULTILINE)


def test_a_run_without_curves_is_its_head_alone() -> None:
    page = report(msgspec.structs.replace(sample.judged(), curves=()), "imb")
    assert all(line.startswith("#") or not line for line in page.splitlines())
