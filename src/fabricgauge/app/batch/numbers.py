"""Slurm's numbers of a run's jobs, and waiting for these without hammering the controller."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fabricgauge.app.batch.attempts import attempts
from fabricgauge.app.progress import Progress
from fabricgauge.run.batch import slurm
from fabricgauge.run.batch.job_state import JobState
from fabricgauge.run.batch.options import clusters
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job, jobs, read_batch

#: The first question comes soon; a job that takes long is asked for less and less often.
FIRST_S, FACTOR, LONGEST_S = 1.0, 1.3, 20.0


def intervals() -> Iterator[float]:
    """Seconds between one question and the next, without end."""
    wait_s = FIRST_S
    while True:
        yield wait_s
        wait_s = min(LONGEST_S, wait_s * FACTOR)


def numbers(directory: RunDirectory) -> tuple[str, ...]:
    """Slurm's numbers of the run's jobs."""
    return tuple(number for number in by_folder(directory).values() if number)


def by_folder(directory: RunDirectory) -> dict[str, str]:
    """Each folder's job number; that of a lost job is the one that the job itself wrote.

    Empty where no number is known.
    """
    said = {one.folder: one.job for one in attempts(directory.path / "raw")}
    return {one.folder: one.number or said.get(one.folder, "") for one in jobs(directory)}


def cluster(directory: RunDirectory) -> str:
    """The cluster that has the run's jobs: all are submitted with the same options."""
    return next((one.cluster for one in reversed(jobs(directory)) if one.number), "")


def scancel(directory: RunDirectory, which: Iterable[str]) -> str:
    """The command that ends those jobs of the run."""
    there = cluster(directory)
    return " ".join(("scancel", *((f"--clusters={there}",) if there else ()), *which))


def find_lost(directory: RunDirectory) -> None:
    """Write down the numbers of jobs that Slurm has although sbatch did not say so.

    Afterwards a job without a number was never taken: Slurm does not know its script, which is
    the run's own, and it has not begun.

    Raises:
        NoAnswer: nobody knows yet whether Slurm has them.
    """
    known = by_folder(directory)
    lost = [one for one in jobs(directory) if not known[one.folder]]
    if not lost:
        return
    asked = cluster(directory) or clusters(read_batch(directory).request.further)
    found = slurm.scripts(asked)
    # The end of a path is enough, and the same by whatever mount the directory was reached.
    run = directory.path.name
    by_end = {"/".join(script.split("/")[-3:]): taken for script, taken in found.items()}
    for one in lost:
        if taken := by_end.get(f"{run}/{one.folder}/job.sh"):
            there = msgspec.structs.replace(one, number=taken.number, cluster=taken.cluster)
            append_job(directory, there)


def await_lost(
    directory: RunDirectory, progress: Progress, sleep: Callable[[float], None] = time.sleep
) -> None:
    """``find_lost``, by a controller that is away as soon as it answers."""
    told = ""
    for wait_s in intervals():
        try:
            find_lost(directory)
        except slurm.NoAnswer as error:
            if str(error) != told:
                told = str(error)
                progress.stage(told)
            sleep(wait_s)
        else:
            return


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
