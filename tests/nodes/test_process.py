"""Other programs end when they should, and nothing that they printed is lost."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricgauge.nodes import process
from fabricgauge.nodes.process import MARKER

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start sleeping processes that carry a marker."""
    started = []

    def one(marker: str) -> int:
        child = subprocess.Popen(["sleep", "60"], env={**os.environ, MARKER: marker})
        started.append(child)
        return child.pid

    yield one
    for child in started:
        child.kill()
        child.wait()


def test_output_and_exit_status_are_kept() -> None:
    done = process.run(["sh", "-c", "cat; echo no >&2; exit 3"], timeout_s=10, stdin="in")
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out) == ("in", "no\n", 3, False)


def test_wait_ends_when_a_descendant_that_left_holds_the_output() -> None:
    script = "echo before; echo trouble >&2; setsid sleep 15 & sleep 60"
    done = process.run(["sh", "-c", script], timeout_s=3)
    assert done.timed_out
    assert done.wall_s < 12
    assert (done.stdout, done.stderr) == ("before\n", "trouble\n")


def test_last_words_of_a_program_that_is_ended_are_kept() -> None:
    script = "trap 'echo ended; exit 7' TERM; echo before; sleep 60 & wait"
    done = process.run(["sh", "-c", script], timeout_s=3)
    assert (done.stdout, done.exit_code, done.timed_out) == ("before\nended\n", 7, True)


def test_memory_is_bounded_when_a_program_prints_without_end() -> None:
    done = process.run(["yes", "12345678"], timeout_s=60, most_bytes=1000)
    assert done.is_full
    assert not done.timed_out
    assert done.wall_s < 10
    assert done.stdout == ("12345678\n" * 112)[:1000]


def test_output_of_just_the_bound_is_whole() -> None:
    done = process.run(["sh", "-c", "printf 12345; printf 678 >&2"], timeout_s=60, most_bytes=8)
    assert (done.stdout, done.stderr, done.is_full, done.exit_code) == ("12345", "678", False, 0)


def test_endless_output_ends_when_its_time_is_up() -> None:
    assert process.run(["yes"], timeout_s=0.2).timed_out


@pytest.mark.parametrize("program", ["cat", "true"])
def test_input_that_is_longer_than_a_pipe_is_read_or_refused(program: str) -> None:
    done = process.run([program], timeout_s=60, stdin="x" * 1_000_000)
    assert (len(done.stdout), done.exit_code) == (1_000_000 if program == "cat" else 0, 0)


def test_group_ends_a_child_that_another_thread_waits_for() -> None:
    group = process.ChildGroup()
    ended: list[process.Completed] = []

    def wait() -> None:
        ended.append(process.run(["sleep", "60"], timeout_s=60, group=group))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    time.sleep(0.2)
    group.end()
    waiting.join(timeout=10)
    assert [done.timed_out for done in ended] == [False]
    assert ended[0].exit_code < 0


def test_group_kills_a_child_that_ignores_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.2)
    group = process.ChildGroup()
    argv = ["sh", "-c", "trap '' TERM; sleep 60 & while :; do wait; done"]
    waiting = threading.Thread(
        target=process.run, args=(argv,), kwargs={"timeout_s": 60, "group": group}, daemon=True
    )
    waiting.start()
    time.sleep(0.3)
    group.end()
    waiting.join(timeout=10)
    assert not waiting.is_alive()


def test_group_ends_what_its_child_leaves_in_the_session() -> None:
    mark = f"test-group-{os.getpid()}"
    group = process.ChildGroup()
    script = "(trap '' TERM; exec sleep 60) & sleep 60"
    waiting = threading.Thread(
        target=process.run, args=(["sh", "-c", script],), daemon=True,
        kwargs={"timeout_s": 60, "group": group, "env": {MARKER: mark}},
    )  # fmt: skip
    waiting.start()
    time.sleep(0.3)
    group.end()
    waiting.join(timeout=10)
    assert not waiting.is_alive()
    assert process.end_marked(mark) == ()


def test_group_that_is_over_starts_nothing(tmp_path: Path) -> None:
    group = process.ChildGroup()
    group.end()
    done = process.run(["touch", str(tmp_path / "made")], timeout_s=60, group=group)
    assert done.exit_code != 0
    assert not (tmp_path / "made").exists()


def test_all_launches_of_a_run_are_ended_and_no_others(start: Start) -> None:
    run = f"test-process-{os.getpid()}"
    mine = {start(run), start(f"{run}/launch-01-1"), start(f"{run}/launch-02-1")}
    others = {start(f"{run}0/launch-01-1"), start(f"other/{run}/launch-01-1")}
    ended = process.end_marked(run)
    assert set(ended) == mine
    assert not others & set(ended)


def test_one_launch_is_ended_and_no_other(start: Start) -> None:
    run = f"test-process-{os.getpid()}"
    one, other = start(f"{run}/launch-01-1"), start(f"{run}/launch-01-10")
    assert process.end_marked(f"{run}/launch-01-1") == (one,)
    assert other not in process.end_marked("")


@pytest.mark.parametrize(
    ("trap", "left"), [('rm "$1"; exit', False), ("", True)], ids=["ends by itself", "goes on"]
)
def test_a_marked_process_may_remove_its_file_and_is_killed_if_it_goes_on(
    trap: str, left: bool, tmp_path: Path
) -> None:
    """Hydra's proxies leave a file in /tmp if nothing but SIGKILL reaches them."""
    file, run = tmp_path / "file", f"test-polite-{os.getpid()}"
    script = f"trap '{trap}' TERM; : >\"$1\"; while :; do sleep 0.02; done"
    with subprocess.Popen(["sh", "-c", script, "sh", str(file)], env={MARKER: run}) as child:
        while not file.exists():
            time.sleep(0.01)
        assert child.pid in process.end_marked(run)
        child.wait(timeout=10)
    assert file.exists() is left


def test_empty_run_identity_ends_nothing(start: Start) -> None:
    start("/launch-01-1")
    assert process.end_marked("") == ()


def test_this_process_survives_when_it_carries_the_marker_itself() -> None:
    script = (
        "from fabricgauge.nodes import process as p; "
        "print(p.end_marked('self/one'), p.end_marked('self'))"
    )
    done = process.run([sys.executable, "-c", script], timeout_s=30, env={MARKER: "self/one"})
    assert (done.stdout, done.exit_code) == ("() ()\n", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a stranger's process")
def test_a_strangers_process_survives_when_it_carries_the_marker() -> None:
    run = f"test-process-{os.getpid()}"
    with subprocess.Popen(
        ["sleep", "60"], env={**os.environ, MARKER: f"{run}/x"}, user=65534
    ) as stranger:
        try:
            assert process.end_marked(run) == ()
            assert process.end_marked(f"{run}/x") == ()
        finally:
            stranger.kill()
