"""What a check says is held against what was planted."""

from pathlib import Path

import pytest
from benchmarks.truth_cases import CASES
from benchmarks.verdict_truth import Run, judged, main


def said(case: str, exit_status: int, *named: str, nodes: int = 4, overall: str = "FAIL") -> Run:
    day = "2026-01-01T00:00:00+00:00"
    return Run(case, nodes, False, 0, day, exit_status, overall, "", named, 40.0, 0.1)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (said("healthy", 0, overall="PASS"), "right"),
        (said("healthy", 0, overall="WARN"), "missed"),
        (said("healthy", 1, "c2"), "somebody else"),
        (said("healthy", 3, overall="INCONCLUSIVE"), "undecided"),
        (said("rate 50 %", 1, "c3"), "right"),
        (said("rate 50 %", 1, "c1-c2", nodes=2), "right"),
        (said("rate 50 %", 1, "c3", "c4"), "also others"),
        (said("rate 50 %", 1, "c4"), "somebody else"),
        (said("rate 50 %", 1), "nobody"),
        (said("rate 50 %", 0), "missed"),
        (said("rate 50 %", 3), "undecided"),
        (said("rate 50 %", 2), "no end"),
        (said("dead pair", 1, "c1-c3"), "right"),
        (said("dead pair", 1, "c3"), "also others"),
        (said("two dead pairs", 1, "c1-c3", "c2-c4"), "right"),
        (said("route by another network", 1, "c1", "c3"), "right"),
        (said("route by another network", 1, "c1", "c4"), "somebody else"),
        (said("two dead pairs", 1, "c1-c3", "c2-c3"), "also others"),
    ],
)
def test_what_was_said_beside_what_was_planted(run: Run, expected: str) -> None:
    (case,) = (one for one in CASES if one.name == run.case)
    assert judged(case, run) == expected


def test_what_was_run_before_is_not_run_again_and_a_torn_line_is_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    line = (
        b'{"case":"healthy","nodes":2,"busy":false,"repeat":0,"date_utc":"2026-01-01T00:00:00",'
        b'"exit_status":0,"overall":"PASS","headline":"","named":[],"wall_s":30,"load":0.1}\n'
    )
    results.write_bytes(line + b'{"case":"heal')
    main(["--results", str(results), "--nodes", "2", "--case", "healthy"])
    assert results.read_bytes() == line
    assert "healthy" in capsys.readouterr().out
