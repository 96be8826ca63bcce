"""Find Slurm's numbers of a run's jobs, and wait for the jobs without loading the controller."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fabricgauge.features.jobs.attempts import find_attempts
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import JobState, clusters
from fabricgauge.model.progress import Progress
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job, jobs, read_batch

#: Seconds to the first query, growth, and longest wait: long jobs are queried less often.
FIRST_S, FACTOR, LONGEST_S = 1.0, 1.3, 20.0


def intervals() -> Iterator[float]:
    """Yield seconds between queries, without end."""
    wait_s = FIRST_S
    while True:
        yield wait_s
        wait_s = min(LONGEST_S, wait_s * FACTOR)


def job_numbers_of(directory: RunDirectory) -> tuple[str, ...]:
    """Return Slurm's numbers of the run's jobs."""
    return tuple(number for number in number_by_folder(directory).values() if number)


def number_by_folder(directory: RunDirectory) -> dict[str, str]:
    """Return each folder's job number; a lost job has written its own number.

    It is empty if no number is known.
    """
    attempts = find_attempts(directory.path / "raw")
    in_jobs = {attempt.folder: attempt.job for attempt in attempts}
    return {job.folder: job.number or in_jobs.get(job.folder, "") for job in jobs(directory)}


def cluster_of(directory: RunDirectory) -> str:
    """Return the cluster of the run's jobs: all are submitted with the same options."""
    return next((job.cluster for job in reversed(jobs(directory)) if job.number), "")


def scancel_command(directory: RunDirectory, job_numbers: Iterable[str]) -> str:
    cluster = cluster_of(directory)
    option = (f"--clusters={cluster}",) if cluster else ()
    return " ".join(("scancel", *option, *job_numbers))


def find_lost(directory: RunDirectory) -> None:
    """Store the numbers of jobs that Slurm has although sbatch did not report them.

    Afterwards a job without a number was never accepted: Slurm does not know its script, and it has
    not begun.

    Raises:
        NoAnswer: it is unknown whether Slurm has them.
    """
    numbers_by_folder = number_by_folder(directory)
    lost = [job for job in jobs(directory) if not numbers_by_folder[job.folder]]
    if not lost:
        return
    cluster_names = cluster_of(directory) or clusters(read_batch(directory).request.further)
    scripts = slurm.scripts(cluster_names)
    # The end of a path is enough, and does not depend on the mount.
    run = directory.path.name
    by_end = {"/".join(script.split("/")[-3:]): known for script, known in scripts.items()}
    for job in lost:
        if known := by_end.get(f"{run}/{job.folder}/job.sh"):
            number, cluster = known.number, known.cluster
            append_job(directory, msgspec.structs.replace(job, number=number, cluster=cluster))


def wait_for_lost(
    directory: RunDirectory, progress: Progress, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Call ``find_lost`` until the controller answers."""
    message = ""
    for wait_s in intervals():
        try:
            find_lost(directory)
        except slurm.NoAnswer as error:
            if str(error) != message:
                message = str(error)
                progress.stage(message)
            sleep(wait_s)
        else:
            return


def wait_for_jobs(
    jobs: Sequence[str],
    ask: Callable[[Sequence[str]], dict[str, JobState]],
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, JobState]:
    """Wait for the end of all ``jobs``, with one query for all, and for an absent controller."""
    ended: dict[str, JobState] = {}
    shown: dict[str, str] = {}
    for wait_s in intervals():
        open_ = [job for job in jobs if job not in ended]
        if not open_:
            break
        for job, state in ask(open_).items():
            words = f"{state}: {state.stuck}; scancel {job} ends it" if state.stuck else str(state)
            if not state.known:
                words = "unknown: the controller does not answer"
            if shown.get(job) != words:
                progress.stage(f"job {job}: {words}")
                shown[job] = words
            if state.over:
                ended[job] = state
        if len(ended) < len(jobs):
            sleep(wait_s)
    return ended
