"""Figures whose truth is known: no network is condemned, and no machine passes for a network."""

from pathlib import Path

from benchmarks.import_truth import page, rows

from fabricgauge.model.verdict import Outcome

PAGE = Path(__file__).parents[2] / "docs" / "development" / "judging-logs.md"


def test_no_verdict_of_known_figures_is_a_false_one_and_the_page_shows_them() -> None:
    found = rows()
    alone = found["one machine, a network claimed"]
    assert alone[Outcome.PASS] == 0
    assert alone[Outcome.INVALID] > 70
    published = found["a network, as published"]
    assert published[Outcome.INVALID] == published[Outcome.FAIL] == 0
    half = found["a network at half its rate"]
    # A table that ends at 32 KiB need not fill the link: only its full rate decides. One of both
    # directions at once warns at most.
    assert set(half) <= {Outcome.FAIL, Outcome.WARN, Outcome.INCONCLUSIVE, Outcome.SKIPPED}
    assert half[Outcome.WARN] <= 3
    assert half[Outcome.FAIL] > 2 * half[Outcome.INCONCLUSIVE]
    assert set(found["a network that falls at 4 MiB, two hosts stated"]) == {Outcome.WARN}
    assert set(found["the same, hosts not known"]) == {Outcome.INCONCLUSIVE}
    # The first row grows with each log that is recorded.
    shown = PAGE.read_text(encoding="utf-8")
    others = [line for line in page().splitlines() if "one machine" not in line]
    assert not [line for line in others if line not in shown], "python -m benchmarks.import_truth"
