import re

import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting


def blocks() -> dict[str, str]:
    """Paragraphs by their title; of several with the same the first."""
    found: dict[str, str] = {}
    for block in report(sample.judged(), "osu").split("\n\n"):
        title = re.search(r"# OSU (.*) Test", block)
        found.setdefault(title[1] if title else "", block)
    return found


def reframe(size: int, text: str) -> float:
    """As ReFrame's hpctestlib reads the suite: the first match, in any line."""
    match = re.search(rf"^{size}\s+(\S+)", text, re.MULTILINE)
    assert match
    return float(match[1])


def test_reframe_finds_the_latency_in_microseconds_in_the_whole_report() -> None:
    page = report(sample.judged(), "osu")
    assert reframe(8, page) == pytest.approx(10.39)


def test_reframe_finds_the_bandwidth_in_the_paragraph_of_its_table() -> None:
    assert reframe(4 << 20, blocks()["MPI Bandwidth"]) == pytest.approx(117.046)


def test_one_pattern_alone_is_printed_for_readers_that_take_the_first_row() -> None:
    page = report(sample.judged(), "osu", Setting(pattern="bandwidth"))
    assert reframe(4 << 20, page) == pytest.approx(117.046)
    assert "Latency Test" not in page


def test_the_head_says_who_measured_and_the_verdict() -> None:
    names = ("c1", "c2")
    page = report(sample.judged(verdicts=sample_verdicts.invalid(names)), "osu")
    assert page.startswith(
        "# fabricgauge: measured by fabricgauge 0.1.0, not by the OSU Micro-Benchmarks\n"
    )
    assert "\n# fabricgauge: verdict INVALID: net1: both ranks ran on c1\n" in page


def test_our_reader_of_the_suite_reads_the_same_figures() -> None:
    judged = sample.judged()
    found = list(read(report(judged, "osu").encode().splitlines()))
    curves = [one for one in found if isinstance(one, SuiteCurve)]
    assert [(one.pattern, one.version) for one in curves] == [
        (one.pattern, "0.fabricgauge") for one in judged.curves
    ]
    assert not any(one.failures or one.cut_off for one in curves)
    for ours, theirs in zip(judged.curves, curves, strict=True):
        for point, again in zip(ours.points, theirs.points, strict=True):
            value = (point.bandwidth or point.time).value
            assert again.message_bytes == point.message_bytes
            assert again.estimate.value == pytest.approx(value, rel=2e-3)
    assert not any(isinstance(one, UnparsedLine) for one in found)


def test_small_figures_keep_four_digits_and_all_have_as_many_decimals() -> None:
    table = blocks()["MPI Bandwidth"]
    assert re.search(r"^1 +1\.562$", table, re.MULTILINE)
    assert re.search(r"^4194304 +117\.046$", table, re.MULTILINE)


def test_a_loopback_is_no_table() -> None:
    judged = sample.judged()
    alone = msgspec.structs.replace(judged.curves[0], network="loopback:c1")
    page = report(msgspec.structs.replace(judged, curves=(alone,)), "osu")
    assert "# OSU" not in page


def test_no_name_becomes_a_row() -> None:
    names = ("c1\n8     0.001", "c2")
    page = report(sample.judged(names, sample_verdicts.failing(names)), "osu")
    assert reframe(8, page) == pytest.approx(10.39)


def test_a_run_without_curves_is_its_head_alone() -> None:
    page = report(msgspec.structs.replace(sample.judged(), curves=()), "osu")
    assert all(line.startswith("#") for line in page.splitlines() if line)
    assert "the engine measured nothing" in page
