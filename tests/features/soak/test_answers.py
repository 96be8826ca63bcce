"""Answers of the management path before a load and under it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.soak.answers import (
    ACCESS,
    HOST,
    Answer,
    Asked,
    Times,
    compare_phases,
    judge_answer,
    judge_answers,
    parse_round,
)
from fabricgauge.model.verdict import Outcome

NAMES = {"10.77.0.12": "c2"}
ROUND = """\
answer echo 10.77.0.12 0 412000
answer connect 10.77.0.12 124 2001000000
answer echo 10.77.0.99 0 412000
answer opainfo - 126 900000
answer ibstat - 0 6340000
ibstat: a line of somebody else
answer echo-16 10.77.0.12 0 47436653 0.063
answer true - 0
"""


def answer(kind: str, before: list[float | None], loaded: list[float | None]) -> Answer:
    question = ("c1", kind, "c2" if kind == "echo" else "")
    return compare_phases({question: before}, {question: loaded})[0]


def test_a_round_has_times_and_missing_answers_and_nothing_that_cannot_be_asked() -> None:
    assert parse_round("c1", ROUND, NAMES) == {
        ("c1", "echo", "c2"): pytest.approx(412e-6),
        ("c1", "connect", "c2"): None,
        ("c1", "ibstat", ""): pytest.approx(6.34e-3),
        ("c1", "echo-16", "c2"): pytest.approx(63e-6),
    }


@pytest.mark.parametrize(("before", "loaded", "outcome"), [
    ([1e-3] * 5, [2e-3] * 9, Outcome.PASS),
    ([1e-3] * 5, [None, None, *[2e-3] * 6], Outcome.FAIL),
    ([1e-3] * 5, [None] * 2, Outcome.FAIL),
    ([1e-3] * 5, [None, *[2e-3] * 8], Outcome.WARN),
    ([1e-3] * 5, [None, None, *[2e-3] * 30], Outcome.WARN),
    ([1e-3] * 5, [0.3] * 9, Outcome.WARN),
    ([0.2] * 5, [0.3] * 9, Outcome.PASS),
    ([None] * 5, [None] * 9, Outcome.SKIPPED),
    ([1e-3] * 5, [], Outcome.SKIPPED),
])  # fmt: skip
def test_missing_answers_fail_and_slow_ones_warn(
    before: list[float | None], loaded: list[float | None], outcome: Outcome
) -> None:
    assert judge_answer(answer("echo", before, loaded)) is outcome


def test_the_headline_names_the_question_with_its_figures() -> None:
    bad = answer("echo", [1e-3] * 5, [None] * 4)
    outcome, reason = judge_answers((answer(ACCESS, [0.1] * 5, [0.1] * 4), bad))
    assert outcome is Outcome.FAIL
    for part in ("c1 → c2", "4 of 4", "5 of 5", "1.00 ms"):
        assert part in reason


def test_a_busy_host_is_not_taken_for_its_network() -> None:
    busy = answer(HOST, [1e-3] * 5, [0.5] * 4)
    outcome, reason = judge_answers((busy, answer("echo", [1e-3] * 5, [None] * 4)))
    assert outcome is Outcome.INCONCLUSIVE and reason.startswith("c1 ")


def test_a_class_that_waits_like_the_load_has_no_priority() -> None:
    plain = answer("echo", [50e-6] * 5, [2.65e-3] * 9)

    def in_class(loaded_s: float) -> Answer:
        question = ("c1", "echo-16", "c2")
        return compare_phases({question: [50e-6] * 5}, {question: [loaded_s] * 9})[0]

    outcome, reason = judge_answers((plain, in_class(2.4e-3)))
    assert outcome is Outcome.WARN and "class 16" in reason and "2.65 ms" in reason
    assert judge_answers((plain, in_class(41e-6)))[0] is Outcome.PASS
    idle = answer("echo", [50e-6] * 5, [60e-6] * 9)
    assert judge_answers((idle, in_class(60e-6)))[0] is Outcome.PASS


def test_nothing_that_answered_before_decides_nothing() -> None:
    outcome, _ = judge_answers((answer("echo", [None] * 5, [None] * 4),))
    assert outcome is Outcome.INCONCLUSIVE


_TIMES = st.lists(st.none() | st.floats(1e-6, 60.0), max_size=12)


@given(_TIMES, _TIMES)
def test_more_missing_answers_are_never_better(
    before: list[float | None], loaded: list[float | None]
) -> None:
    first = judge_answer(answer("echo", before, loaded))
    worse = judge_answer(answer("echo", before, [None] * len(loaded)))
    assert worse.rank <= first.rank or Outcome.SKIPPED in (first, worse) or len(loaded) == 1
    times: Times = {("c1", "echo", "c2"): before}
    asked = compare_phases(times, {})[0].before
    assert asked.asked == len(before) and asked.missing == before.count(None)
    assert asked == Asked(asked.asked, asked.missing, asked.median_s, asked.worst_s)


@given(st.text(alphabet="answer echo-0124.\n", max_size=200))
def test_no_text_of_a_node_breaks_the_reading(text: str) -> None:
    assert all(node == "c1" for node, _, _ in parse_round("c1", text, NAMES))


#: Ignores echoes while more than a tenth of 100 Mb/s leaves the interface.
DEAF_UNDER_LOAD = """
file=/sys/class/net/eth0/statistics/tx_bytes
ignore=/proc/sys/net/ipv4/icmp_echo_ignore_all
last=$(cat $file)
for step in $(seq 200); do
  sleep 0.2; now=$(cat $file)
  [ $((now - last)) -gt 100000 ] && echo 1 >$ignore || echo 0 >$ignore
  last=$now
done
"""


@pytest.mark.lab
@pytest.mark.engine
@pytest.mark.slow
def test_a_node_that_is_deaf_under_load_is_named(tmp_path: Path, lab: Callable[..., str]) -> None:
    program = str(Path(sys.executable).with_name("fabricgauge"))
    name = lab("--nodes", "3", "--network", "net1:100M")
    words = (program, "check", "--lab", name, "--soak", "8s", "--soak-share", "0.8", "--answers",
             "-q", "--format", "json", "-o", str(tmp_path))  # fmt: skip

    def ask() -> list[tuple[str, str, str]]:
        done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
        answers = json.loads(done.stdout)["soak"]["answers"]
        return [
            (entry["node"], entry["kind"], entry["peer"])
            for entry in answers
            if entry["loaded"]["missing"] >= 2 and not entry["before"]["missing"]
        ]

    assert ask() == []
    exec_words = (program, "lab", "exec", "--name", name, "c2", "--", "sh", "-c", DEAF_UNDER_LOAD)
    with subprocess.Popen(exec_words) as plant:
        try:
            assert ask() == [("c1", "echo", "c2")]
        finally:
            plant.terminate()
