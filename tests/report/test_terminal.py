import re
from pathlib import Path

import msgspec
import pytest
from tests.report import sample, sample_verdicts

from fabricgauge.model.evidence import WireLedger, WireShares
from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.report.formats import report
from fabricgauge.report.interface import Setting

SNAPSHOTS = Path(__file__).parent / "snapshots"
PLACES = Setting(run_directory="runs/k3f9", html_file="runs/k3f9/report.html")
NODES = ("c1", "c2")


def text(judged: Judged, setting: Setting = PLACES) -> str:
    return report(judged, "terminal", setting)


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("pass", sample_verdicts.passing(NODES)),
        ("fail", sample_verdicts.failing(NODES)),
        ("invalid", sample_verdicts.invalid(NODES)),
    ],
)
def test_the_page_is_that_of_the_snapshot(name: str, verdicts: tuple[Verdict, ...]) -> None:
    expected = (SNAPSHOTS / f"terminal-{name}.txt").read_text()
    assert text(sample.judged(verdicts=verdicts)) == expected


def test_the_page_fits_a_screen() -> None:
    page = text(sample.judged(verdicts=sample_verdicts.failing(NODES)))
    assert len(page.splitlines()) <= 60
    assert max(map(len, page.splitlines())) <= 80


def test_many_calm_verdicts_share_a_row_and_the_others_do_not() -> None:
    many = sample_verdicts.failing(NODES) + sample_verdicts.passing(NODES) * 3
    page = text(sample.judged(verdicts=many), Setting(width=200))
    assert "launches differ by 7.1 %" in page
    assert "the directions differ by 0.2 %" not in page
    assert "every rank ran on its own node" in page  # what was proved is always told


def test_the_verdict_is_the_first_word() -> None:
    assert text(sample.judged()).split()[0] == "PASS"
    assert text(sample.judged(verdicts=sample_verdicts.invalid(NODES))).split()[0] == "INVALID"


def test_there_is_no_escape_sequence_without_colour() -> None:
    assert "\x1b" not in text(sample.judged())


def test_colour_changes_no_word() -> None:
    coloured = text(sample.judged(), msgspec.structs.replace(PLACES, colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == text(sample.judged()).split()


def test_hostile_names_are_shown_and_not_obeyed() -> None:
    names = ("[bold red]c1[/]", "c2\x1b[2J\n PASS ")
    page = text(sample.judged(names, sample_verdicts.passing(names)), Setting(width=200))
    assert "[bold red]c1[/]" in page
    assert "\x1b" not in page
    assert "c2\\x1b[2J\\x0a PASS " in page


def test_a_virtual_run_is_marked_on_the_page() -> None:
    assert "figures describe the lab" in text(sample.judged())
    assert "figures describe the lab" not in text(sample.judged(virtual=False))


def test_a_run_without_any_result_still_has_a_page() -> None:
    judged = sample.judged(verdicts=())
    run = msgspec.structs.replace(judged.run, launches=(), complete=False)
    page = text(msgspec.structs.replace(judged, run=run, curves=(), ceilings={}))
    assert "launch 1: it was never started" in page
    assert "no ceiling" in page


def test_where_the_wires_time_went_is_told_of_what_does_not_pass() -> None:
    shares = WireShares(0.70, 0.05, 0.01, 0.0, 0.0, 0.0, 0.24)
    of = [
        WireLedger("net1", pattern, size, "c1", "c2", sender, 1, shares)
        for pattern in ("bandwidth", "put_bandwidth")
        for size in (65536, 1 << 20)
        for sender in ("c1", "c2")
    ]
    one, *rest = sample_verdicts.passing(NODES)
    about = VerdictSubject("stream", "net1", ("c1", "c2"), "bandwidth")
    low = msgspec.structs.replace(one, rule="fraction", outcome=Outcome.WARN, about=about)
    judged = msgspec.structs.replace(sample.judged(), verdicts=(low, *rest), ledgers=tuple(of))
    page = text(judged, Setting(width=200))
    told = "payload 70.0 %, idle 24.0 %, headers 5.0 %, acknowledgements 1.0 % of the line rate"
    assert page.count(told) == 2  # each end of the stream that is low, at its largest size
    assert "at 1 MiB" in page
    passing = msgspec.structs.replace(sample.judged(), ledgers=tuple(of))
    assert "of the line rate" not in text(passing)
