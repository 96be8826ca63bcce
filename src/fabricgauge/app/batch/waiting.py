"""Waiting for jobs without hammering the controller."""

import time
from collections.abc import Callable, Iterator, Sequence

from fabricgauge.app.progress import Progress
from fabricgauge.run.batch.job_state import JobState

#: The first question comes soon; a job that takes long is asked for less and less often.
FIRST_S, FACTOR, LONGEST_S = 1.0, 1.3, 20.0


def intervals() -> Iterator[float]:
    """Seconds between one question and the next, without end."""
    wait_s = FIRST_S
    while True:
        yield wait_s
        wait_s = min(LONGEST_S, wait_s * FACTOR)


def wait(
    jobs: Sequence[str],
    ask: Callable[[Sequence[str]], dict[str, JobState]],
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, JobState]:
    """The end of all ``jobs``, asked for together; a controller that is away is waited for."""
    ended: dict[str, JobState] = {}
    told: dict[str, str] = {}
    for wait_s in intervals():
        open_ = [job for job in jobs if job not in ended]
        if not open_:
            break
        for job, state in ask(open_).items():
            words = _words(job, state)
            if told.get(job) != words:
                progress.stage(f"job {job}: {words}")
                told[job] = words
            if state.over:
                ended[job] = state
        if len(ended) < len(jobs):
            sleep(wait_s)
    return ended


def _words(job: str, state: JobState) -> str:
    if not state.known:
        return "not known: the controller does not answer"
    return f"{state}: {state.stuck}, and scancel {job} ends it" if state.stuck else str(state)
