"""The sweep: who meets whom, when it gives way, and what it states."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.history import sweep
from fabricgauge.features.history.sweep import (
    Measured,
    SweepRequest,
    choose_pairs,
    find_measured,
    parse_load,
    parse_sinfo,
    parse_waiting,
    state_coverage,
)
from fabricgauge.features.history.values import RunRow
from fabricgauge.model.errors import CannotRun

REQUEST = SweepRequest("", "", "normal", "slurm", 120, 2, 7, dry_run=False)


def make_run(
    started_s: float, nodes: Sequence[str], place: str = "", trouble: str = "",
    complete: bool = True,
) -> RunRow:  # fmt: skip
    members = tuple(nodes)
    return RunRow("r", started_s, complete, "PASS", "", place, members, (), "mpich", 0, 0, trouble)


def test_new_pairs_and_long_unmeasured_nodes_come_first() -> None:
    measured = find_measured([make_run(1, ("a", "b")), make_run(2, ("c", "d")),
                              make_run(3, ("a", "c"))])  # fmt: skip
    # e was never measured, b longest ago; a and b have met, a and d have not.
    assert choose_pairs(["a", "b", "c", "d", "e"], measured, 9) == (("b", "e"), ("a", "d"))
    assert choose_pairs(["a", "b"], measured, 9) == (("a", "b"),)
    assert choose_pairs(["a"], measured, 9) == ()


def test_simulated_and_broken_runs_measured_nobody() -> None:
    runs = [make_run(1, ("a", "b"), place="simulated star:4"), make_run(2, ("a", "b"), trouble="x"),
            make_run(3, ("a", "b"), complete=False)]  # fmt: skip
    assert find_measured(runs) == Measured({}, {})


@given(st.integers(2, 40), st.integers(1, 8))
def test_all_nodes_are_measured_within_the_stated_sweeps(nodes: int, pairs: int) -> None:
    """Each sweep measures the nodes that waited longest, so that none is left out."""
    names = [f"n{number}" for number in range(nodes)]
    runs: list[RunRow] = []
    seen: set[str] = set()
    for week in range(-(-nodes // (2 * pairs)) + 1):
        chosen = choose_pairs(names, find_measured(runs), pairs)
        members = [node for pair in chosen for node in pair]
        assert len(members) == len(set(members))
        seen.update(members)
        runs += [make_run(week + 1, pair) for pair in chosen]
    assert seen == set(names)


@given(st.integers(3, 9))
def test_partners_change_until_all_have_met(nodes: int) -> None:
    names = [f"n{number}" for number in range(nodes)]
    runs: list[RunRow] = []
    for week in range(6 * nodes):
        runs += [make_run(week + 1, pair)
                 for pair in choose_pairs(names, find_measured(runs), nodes)]  # fmt: skip
    met = {frozenset(run.nodes) for run in runs}
    assert len(met) >= 0.9 * nodes * (nodes - 1) / 2


def test_coverage_is_stated_in_weeks() -> None:
    assert REQUEST.pairs == 30
    assert "17 sweeps" in state_coverage(REQUEST, 1000)
    assert "17.0 weeks" in state_coverage(REQUEST, 1000)
    small = SweepRequest("", "", "", "slurm", 3, 2, 7, dry_run=False)
    assert "below one pair" in state_coverage(small, 10)


def test_only_idle_nodes_are_idle() -> None:
    text = "c1|idle\nc2|idle*\nc3|allocated\nc4|idle\nc4|drained\nc5|idle~\nnonsense\n"
    states = parse_sinfo(text)
    assert [node for node, state in states.items() if state == "idle"] == ["c1"]


@pytest.mark.parametrize(
    ("reason", "waits"),
    [("Resources", True), ("Priority", True), ("None", True), ("Dependency", False),
     ("JobHeldUser", False), ("BeginTime", False)],
)  # fmt: skip
def test_a_job_that_waits_for_nodes_ends_the_sweep(reason: str, waits: bool) -> None:
    assert parse_waiting(f"17|simulation|{reason}\n") == (("17",) if waits else ())
    assert parse_waiting(f"18|fabricgauge-sweep-ab12|{reason}\n") == ()


class Queue:
    """Slurm as a sweep sees it: each pair takes ``seconds``; a job waits from the third look on."""

    longest_s = 30.0

    def __init__(self, seconds: float, waits: bool) -> None:
        self.seconds, self.waits, self.looks, self.cancelled = seconds, waits, 0, 0

    def find_waiting(self) -> tuple[str, ...]:
        self.looks += 1
        return ("17",) if self.waits and self.looks > 2 else ()

    def is_free(self, pair: tuple[str, str]) -> bool:
        return True

    def measure(self, pair: tuple[str, str], root: Path) -> tuple[str, ...]:
        return ("sleep", str(self.seconds))

    def cancel(self) -> None:
        self.cancelled += 1


def test_a_sweep_gives_way_while_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "LOOK_S", 0.05)
    lines: list[str] = []
    queue = Queue(20, waits=True)
    pairs = [(f"a{number}", f"b{number}") for number in range(8)]
    began_s = time.monotonic()
    statuses = sweep.measure_pairs(queue, pairs, Path(), lines.append)
    assert time.monotonic() < began_s + 15
    assert queue.cancelled == 1
    assert 0 not in statuses
    assert lines == ["job 17 waits for nodes: the sweep ends"]


def test_a_queue_that_cannot_be_read_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreadable(Queue):
        def find_waiting(self) -> tuple[str, ...]:
            if super().find_waiting():
                raise CannotRun("squeue failed: slurm_load_jobs error")
            return ()

    monkeypatch.setattr(sweep, "LOOK_S", 0.05)
    lines: list[str] = []
    queue = Unreadable(20, waits=True)
    pairs = [(f"a{number}", f"b{number}") for number in range(8)]
    began_s = time.monotonic()
    statuses = sweep.measure_pairs(queue, pairs, Path(), lines.append)
    assert time.monotonic() < began_s + 15
    assert (queue.cancelled, 0 in statuses) == (1, False)
    assert len(lines) == 1 and "squeue failed" in lines[0]


def test_jobs_of_all_partitions_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []

    def ask(argv: Sequence[str]) -> str:
        asked.append(argv)
        return "17|simulation|Resources\n"

    monkeypatch.setattr(sweep, "_ask", ask)
    assert sweep.SlurmQueue(REQUEST).find_waiting() == ("17",)
    assert not any("partition" in word or word == "normal" for word in asked[0])


def test_the_line_for_cron_looks_for_drift_after_any_sweep() -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "watch-over-time.md"
    (line,) = (line for line in page.read_text().splitlines() if line.startswith("0 3 * * 0"))
    assert "; fabricgauge history drift" in line and "&&" not in line


def test_a_sweep_that_nobody_disturbs_measures_all_pairs() -> None:
    queue = Queue(0, waits=False)
    pairs = [(f"a{number}", f"b{number}") for number in range(5)]
    assert sweep.measure_pairs(queue, pairs, Path(), lambda _line: None) == [0] * 5
    assert queue.cancelled == 0


def test_a_sweep_does_not_begin_while_a_job_waits() -> None:
    queue = Queue(0, waits=True)
    queue.looks = 5
    assert sweep.measure_pairs(queue, [("a", "b")], Path(), lambda _line: None) == []


def test_a_load_that_is_not_understood_is_no_idle_node() -> None:
    assert parse_load("0.03 0.01 0.00 1/123 4567\n") == 0.03
    assert parse_load("") == parse_load("x") == float("inf")
