"""Answers of the management path before a load and under it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from threading import Semaphore

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features import soak
from fabricgauge.features.soak import answers as answers_module
from fabricgauge.features.soak.answers import (
    ACCESS,
    HOST,
    Answer,
    Asked,
    Asker,
    Times,
    compare_phases,
    judge_answer,
    judge_answers,
    judge_each,
    parse_round,
)
from fabricgauge.model.host_access import Host
from fabricgauge.model.verdict import Outcome
from fabricgauge.nodes.process import Completed

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


@pytest.mark.parametrize(("line", "took_s"), [
    ("perfquery - 0 5000000", [5e-3]),
    ("perfquery - 1 5000000", [None]),
    ("ibstat - 255 5000000", [None]),
    ("echo 10.77.0.12 2 5000000", [None]),
    ("opainfo - 126 5000000", []),
    ("opainfo - 127 5000000", []),
    ("true - 0 " + "9" * 400, []),
    ("true - " + "9" * 5000 + " 5000000", []),
    ("echo 10.77.0.12 0 5000000 " + "9" * 400, [5e-3]),
])  # fmt: skip
def test_an_exit_status_is_an_answer_a_missing_one_or_no_question(
    line: str, took_s: list[float | None]
) -> None:
    assert list(parse_round("c1", f"answer {line}\n", NAMES).values()) == took_s


def test_programs_that_fail_on_a_node_are_missing_answers(tmp_path: Path) -> None:
    """ping ends with 2 without a network, tools of InfiniBand with 1 if datagrams are lost."""
    for name, code in (("ping", 2), ("perfquery", 1), ("ibstat", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    script = resources.files(soak).joinpath("answers.sh").read_text("utf-8")
    done = subprocess.run(
        ("sh", "-c", script, "answers", "lo", "none", "127.0.0.1"), text=True, check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True,
    )  # fmt: skip
    answers = parse_round("c1", done.stdout, {"127.0.0.1": "c2"})
    assert answers["c1", "echo", "c2"] is None
    assert answers["c1", "perfquery", ""] is None
    assert answers["c1", "ibstat", ""] and answers["c1", HOST, ""]


@pytest.mark.parametrize("kind", ["perfquery", "echo"])
@pytest.mark.parametrize("loaded", [[], [None] * 4])
def test_what_answered_before_and_never_under_load_fails(
    kind: str, loaded: list[float | None]
) -> None:
    sound = (answer(ACCESS, [0.1] * 5, [0.1] * 4), answer("connect", [1e-3] * 5, [1e-3] * 4))
    outcome, reason = judge_answers((*sound, answer(kind, [1e-3] * 5, loaded)))
    assert outcome is Outcome.FAIL and kind in reason
    assert judge_answers((*sound, answer(kind, [1e-3] * 5, [1e-3] * 4)))[0] is Outcome.PASS


@pytest.mark.parametrize("silent", [("echo", "connect"), ()])
def test_the_way_to_a_node_and_an_empty_program_pass_no_network(silent: tuple[str, ...]) -> None:
    """A ring that is silent from the beginning, and a network without addresses."""
    host = tuple(answer(kind, [1e-3] * 5, [1e-3] * 4) for kind in (ACCESS, HOST))
    ring = tuple(answer(kind, [None] * 5, [None] * 4) for kind in silent)
    outcome, reason = judge_answers((*host, *ring))
    assert outcome is Outcome.INCONCLUSIVE and ("address" in reason) is not bool(silent)
    question = ("c1", "ibstat", "")
    (tool,) = compare_phases({question: [1e-3] * 5}, {question: [1e-3] * 4})
    expected = Outcome.INCONCLUSIVE if silent else Outcome.PASS
    assert judge_answers((*host, *ring, tool))[0] is expected


@pytest.mark.parametrize(("loaded", "asked", "outcome"), [
    ([1e-3] * 8, (8, 0), Outcome.PASS),
    ([1e-3] * 7, (8, 1), Outcome.WARN),
    ([1e-3] * 5, (8, 3), Outcome.FAIL),
    ([1e-3, None, 1e-3, 1e-3], (8, 5), Outcome.FAIL),
    ([], (8, 8), Outcome.FAIL),
])  # fmt: skip
def test_a_question_that_cannot_be_asked_any_more_is_missing(
    loaded: list[float | None], asked: tuple[int, int], outcome: Outcome
) -> None:
    """The node was reached in eight rounds; a ninth did not reach it, and asked nothing."""
    question, way = ("c1", "perfquery", ""), ("c1", ACCESS, "")
    before: Times = {way: [0.1] * 5, question: [1e-3] * 5, ("c1", "opainfo", ""): [None] * 5}
    answers = compare_phases(before, {way: [0.1] * 8 + [None], question: loaded})
    by_kind = {answer.kind: answer for answer in answers}
    assert (by_kind["perfquery"].loaded.asked, by_kind["perfquery"].loaded.missing) == asked
    assert judge_answer(by_kind["perfquery"]) is outcome
    assert by_kind[ACCESS].loaded == Asked(9, 1, 0.1, 0.1)
    # What never had an answer is not asked for.
    assert judge_answer(by_kind["opainfo"]) is Outcome.SKIPPED
    assert by_kind["opainfo"].loaded.asked == 0


@pytest.mark.parametrize("content", ["#!/bin/sh\nexit 127\n", "#!/no/such/shell\n", None])
def test_a_program_that_goes_in_mid_run_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    tool = tmp_path / "opainfo"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asker = Asker([Host("c1", ())], None)

    def install(text: str) -> None:
        tool.write_text(text)
        tool.chmod(0o755)

    install("#!/bin/sh\nexit 0\n")
    before, loaded = asker.ask(2), asker.ask(2)
    if content is None:
        tool.unlink()
    else:
        install(content)
    for question, times in asker.ask(3).items():
        loaded.setdefault(question, []).extend(times)
    by_kind = {answer.kind: answer for answer in compare_phases(before, loaded)}
    assert (by_kind["opainfo"].loaded.asked, by_kind["opainfo"].loaded.missing) == (5, 3)
    outcome, reason = judge_answers((answer("echo", [1e-3] * 5, [1e-3] * 5), by_kind["opainfo"]))
    assert outcome is Outcome.FAIL and "opainfo" in reason


def test_a_load_without_a_round_judges_nothing() -> None:
    answers = tuple(answer(kind, [1e-3] * 5, []) for kind in (ACCESS, "echo"))
    assert set(judge_each(answers).values()) == {Outcome.SKIPPED}
    assert judge_answers(answers)[0] is Outcome.INCONCLUSIVE


def test_an_error_of_the_asking_leaves_only_failures_decided() -> None:
    sound = answer("echo", [1e-3] * 5, [1e-3] * 4)
    late = answer("connect", [1e-3] * 5, [0.3] * 4)
    for answers in ((), (sound,), (sound, late)):
        outcome, reason = judge_answers(answers, "ValueError: no number")
        assert outcome is Outcome.INCONCLUSIVE and "ValueError: no number" in reason
    lost = answer("echo", [1e-3] * 5, [None] * 4)
    assert judge_answers((lost,), "ValueError: no number")[0] is Outcome.FAIL


def wait_for(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


class Rounds:
    """Stands for the nodes: answers one round whenever it is allowed to, or raises an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.allowed, self.begun = Semaphore(0), 0
        self.error: Exception | None = None
        monkeypatch.setattr(answers_module, "run", self.run)
        monkeypatch.setattr(answers_module, "PAUSE_S", 0.0)

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.begun += 1
        assert self.allowed.acquire(timeout=20)
        if self.error:
            raise self.error
        return Completed(tuple(argv), 0, "answer true - 0 1000000\n", "", 0.1)


def test_a_round_under_way_as_the_load_ends_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, asker = Rounds(monkeypatch), Asker([Host("c1", ())], None)
    asker.note_load()
    rounds.allowed.release()
    wait_for(lambda: rounds.begun == 2)
    asker.note_load()
    rounds.allowed.release()
    wait_for(lambda: rounds.begun == 3)
    rounds.allowed.release(9)
    asker.end()
    assert asker.loaded["c1", HOST, ""] == [pytest.approx(1e-3)]
    assert asker.error == ""


def test_an_error_while_asking_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, asker = Rounds(monkeypatch), Asker([Host("c1", ())], None)
    asker.note_load()
    rounds.allowed.release()
    wait_for(lambda: rounds.begun == 2)
    rounds.error = OverflowError("int too large")
    rounds.allowed.release()
    wait_for(lambda: bool(asker.error))
    asker.note_load()
    asker.end()
    assert asker.error == "OverflowError: int too large"
    assert len(asker.loaded["c1", HOST, ""]) == 1


def test_an_error_before_the_load_ends_the_asking_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, asker = Rounds(monkeypatch), Asker([Host("c1", ())], None)
    rounds.error = OverflowError("int too large")
    rounds.allowed.release(9)
    assert asker.ask(2) == {}
    asker.note_load()
    asker.end()
    assert asker.error and rounds.begun == 1


def test_the_end_does_not_wait_for_a_node_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "hang").write_text(f"#!/bin/sh\necho > {tmp_path}/begun\nexec sleep 60\n")
    (tmp_path / "hang").chmod(0o755)
    asker = Asker([Host("c1", (str(tmp_path / "hang"),))], None)
    asker.note_load()
    wait_for((tmp_path / "begun").exists)
    began_s = time.monotonic()
    asker.end()
    assert time.monotonic() - began_s < 5
    assert asker.loaded == {}


@pytest.mark.parametrize(("before", "loaded", "outcome"), [
    ([1e-3] * 5, [2e-3] * 9, Outcome.PASS),
    ([1e-3] * 5, [None, None, *[2e-3] * 6], Outcome.FAIL),
    ([1e-3] * 5, [None] * 2, Outcome.FAIL),
    ([1e-3] * 5, [None, *[2e-3] * 8], Outcome.WARN),
    ([1e-3] * 5, [None, None, *[2e-3] * 30], Outcome.WARN),
    ([1e-3] * 5, [0.3] * 9, Outcome.WARN),
    ([0.2] * 5, [0.3] * 9, Outcome.PASS),
    ([None] * 5, [None] * 9, Outcome.SKIPPED),
    ([1e-3] * 5, [], Outcome.FAIL),
    ([1e-3] * 5, [None], Outcome.FAIL),
    ([], [1e-3] * 9, Outcome.SKIPPED),
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


#: Ignores echoes from the sixth 0.2 s on in which more than 4 Mb/s left the interface: connecting
#: nodes takes one or two, and a load that a busy machine interrupts stays a load.
DEAF_UNDER_LOAD = """
file=/sys/class/net/eth0/statistics/tx_bytes
last=$(cat $file) busy=0
for step in $(seq 1000); do
  sleep 0.2; now=$(cat $file)
  [ $((now - last)) -gt 100000 ] && busy=$((busy + 1))
  [ $busy -gt 5 ] && echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all
  last=$now
done
"""


@pytest.mark.lab
@pytest.mark.engine
@pytest.mark.slow
def test_a_node_that_is_deaf_under_load_is_named(tmp_path: Path, lab: Callable[..., str]) -> None:
    program = str(Path(sys.executable).with_name("fabricgauge"))
    name = lab("--nodes", "3", "--network", "net1:100M")
    words = (program, "check", "--lab", name, "--soak", "20s", "--soak-share", "0.8", "--answers",
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
