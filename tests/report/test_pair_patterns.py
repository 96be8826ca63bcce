"""Patterns beyond the default ones, and their variants, in the reports of two nodes."""

import csv
import io
import json

import msgspec
import pytest
from tests.report import sample

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.estimate import Curve
from fabricgauge.model.judged import Judged
from fabricgauge.model.pattern import PAIR_PATTERNS, PATTERNS, THREADED_PATTERNS, Pattern
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.report.formats import report

OTHERS = tuple(one for one in PAIR_PATTERNS if one not in sample.PATTERNS)
EXTRA: tuple[tuple[Pattern, str], ...] = (
    ("put_latency", "fence"),
    ("put_latency", "pscw"),
    ("threads_latency", "4 threads"),
)


def curves() -> tuple[Curve, ...]:
    plain = [Curve("net1", one, "c1", "c2", (), "") for one in OTHERS]
    varied = [Curve("net1", pattern, "c1", "c2", (), told) for pattern, told in EXTRA]
    return tuple(
        msgspec.structs.replace(one, points=tuple(sample.points(one.pattern, False, 1.0)))
        for one in (*plain, *varied)
    )


def judged(only_others: bool = False) -> Judged:
    usual = sample.judged()
    return msgspec.structs.replace(usual, curves=(() if only_others else usual.curves) + curves())


@pytest.mark.parametrize("format_", ["terminal", "markdown"])
def test_every_pattern_is_named_with_its_figure(format_: str) -> None:
    page = report(judged(), format_)
    for curve in curves():
        if (format_, curve.pattern) != ("markdown", "put_latency"):  # which has a column there
            assert curve.word in page.replace("\\", "")


def test_patterns_that_were_asked_for_alone_are_shown() -> None:
    page = report(judged(only_others=True), "terminal")
    assert "put_latency:pscw" in page
    assert "half RTT" not in page


@pytest.mark.parametrize("format_", ["terminal", "markdown"])
def test_the_default_set_has_no_table_of_others(format_: str) -> None:
    assert "ther patterns" not in report(sample.judged(), format_)


def test_html_says_what_a_sample_of_every_pattern_is() -> None:
    assert set(PAIR_PATTERNS) <= set(PATTERNS)
    page = report(judged(), "html")
    assert all(PATTERNS[pattern].sample in page for pattern in OTHERS)


def test_variants_are_told_apart_by_programs() -> None:
    rows = list(csv.DictReader(io.StringIO(report(judged(), "csv"))))
    assert {"put_latency", "put_latency:fence", "threads_latency:4"} <= {r["pattern"] for r in rows}
    document = json.loads(report(judged(), "json"))
    told = {(one["pattern"], one["variant"]) for one in document["curves"]}
    assert {("put_latency", ""), *EXTRA} <= told
    assert 'pattern="put_latency:fence"' in report(judged(), "prometheus")


@pytest.mark.parametrize(
    ("format_", "found"),
    [
        ("osu", {"osu_get_latency", "osu_get_bw", "osu_acc_latency", "osu_fop_latency",
                 "osu_cas_latency", "osu_latency_persistent", "osu_bw_persistent"}),
        ("imb", {"PingPing", "Unidir_get"}),
    ],
)  # fmt: skip
def test_the_suites_own_readers_find_their_benchmarks(format_: str, found: set[str]) -> None:
    page = report(judged(only_others=True), format_)
    told = [one for one in read(page.encode().splitlines()) if isinstance(one, SuiteCurve)]
    assert found <= {one.benchmark for one in told}


@pytest.mark.parametrize("format_", ["osu", "imb"])
def test_what_the_suites_define_otherwise_is_left_out(format_: str) -> None:
    page = report(judged(), format_)
    assert "(fence)" not in page and "thread" not in page
    assert page.count("\n# fabricgauge: net1, c1 → c2") > len(THREADED_PATTERNS)
