from collections.abc import Sequence

from fabricgauge.features.jobs.numbers import LONGEST_S, wait_for_jobs
from fabricgauge.features.jobs.slurm.slurm import UNKNOWN, JobState
from fabricgauge.model.progress import Progress

PENDING, RUNNING, DONE = JobState("PENDING"), JobState("RUNNING"), JobState("COMPLETED")


class Told(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def stage(self, text: str) -> None:
        self.lines.append(text)


def waited(*answers: dict[str, JobState]) -> tuple[dict[str, JobState], list[float], list[str]]:
    """What the wait ends with, how long it slept each time, and what it told."""
    left, told = list(answers), Told()
    slept: list[float] = []

    def ask(jobs: Sequence[str]) -> dict[str, JobState]:
        now = left.pop(0)
        assert set(jobs) <= set(now)
        return {job: now[job] for job in jobs}

    ended = wait_for_jobs(list(answers[0]), ask, told, slept.append)
    assert not left
    return ended, slept, told.lines


def test_the_end_of_the_last_job_ends_the_wait() -> None:
    ended, slept, _ = waited(
        {"1": PENDING, "2": RUNNING}, {"1": RUNNING, "2": DONE}, {"1": DONE, "2": DONE}
    )
    assert ended == {"1": DONE, "2": DONE}
    assert len(slept) == 2


def test_the_questions_become_rare() -> None:
    _, slept, told = waited(*[{"1": PENDING}] * 60, {"1": DONE})
    assert slept == sorted(slept)
    assert slept[-1] == LONGEST_S
    assert sum(slept[:10]) > 10
    assert told == ["job 1: pending", "job 1: completed"]


def test_a_controller_that_is_away_is_waited_for() -> None:
    ended, _, told = waited({"1": RUNNING}, {"1": UNKNOWN}, {"1": UNKNOWN}, {"1": DONE})
    assert ended == {"1": DONE}
    assert len([line for line in told if "does not answer" in line]) == 1


def test_a_job_that_would_wait_for_ever_says_what_stops_it() -> None:
    stuck = JobState("PENDING", "ReqNodeNotAvail, UnavailableNodes:c3")
    _, _, told = waited({"1": JobState("PENDING", "Priority")}, {"1": stuck}, {"1": DONE})
    assert told[0] == "job 1: pending (Priority)"
    assert "a requested node is down" in told[1] and "scancel 1" in told[1]
