"""Slurm's own programs: submit a job, ask what became of it.

Sources: sbatch(1), squeue(1), scontrol(1), sacct(1) of Slurm 22.05.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.model.errors import CannotRun, ToolMissing

#: Slurm's programs wait up to a minute for a controller that is busy or restarting.
TIMEOUT_S = 90.0

#: States in which a job still has something before it.
_LIVE = frozenset({
    "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "SPECIAL_EXIT",
    "RESIZING",
})  # fmt: skip

#: How sbatch says that there are too many jobs already, by its limits or by a site's policy.
_TOO_MANY = re.compile(
    r"MaxSubmit|MaxJobCount|submit limit|job submit|Job violates accounting/QOS policy|"
    r"temporarily unable to accept job",
    re.IGNORECASE,
)


class TooManyJobs(CannotRun):
    """Slurm takes no further job of this user now; it may once others have ended."""


class JobState(msgspec.Struct, frozen=True):
    """Slurm's word for a job's state, and why it waits or what it ended with.

    ``known`` is false where the controller did not answer.
    """

    state: str
    reason: str = ""
    known: bool = True

    @property
    def over(self) -> bool:
        return self.known and self.state not in _LIVE

    def __str__(self) -> str:
        reason = self.reason if self.reason not in ("", "None") else ""
        return f"{self.state.lower()} ({reason})" if reason else self.state.lower()


#: Of a job that the controller has forgotten, and that was not accounted for either.
FORGOTTEN = JobState("FORGOTTEN")
UNKNOWN = JobState("UNKNOWN", known=False)


def submit(options: Sequence[str], script: Path) -> str:
    """Hand a script over; returns the job's number.

    Raises:
        ToolMissing: there is no sbatch.
        TooManyJobs: a limit on the number of jobs.
        CannotRun: Slurm refused, in its own words.
    """
    argv = ("sbatch", "--parsable", *options, str(script))
    done = process.run(argv, timeout_s=TIMEOUT_S)
    number = done.stdout.strip().partition(";")[0]
    if done.exit_code == 0 and number.isdecimal():
        return number
    said = " ".join((done.stderr or done.stdout).split()) or "it said nothing"
    kind = TooManyJobs if _TOO_MANY.search(said) else CannotRun
    raise kind(f"sbatch did not take the job: {said}")


def states(jobs: Sequence[str]) -> dict[str, JobState]:
    """What became of each job; one question for all of them, however many there are."""
    if not jobs:
        return {}
    argv = ("squeue", "--noheader", "--states=all", "--format=%i|%T|%r", f"--jobs={','.join(jobs)}")
    done = process.run(argv, timeout_s=TIMEOUT_S)
    found = dict(_rows(done.stdout.splitlines()))
    lost = [job for job in jobs if job not in found]
    if lost and done.exit_code != 0 and "Invalid job id" not in done.stderr:
        return {job: found.get(job, UNKNOWN) for job in jobs}
    return {**found, **_accounted(lost)}


def _accounted(jobs: Sequence[str]) -> dict[str, JobState]:
    """States of jobs that the controller has forgotten, where the site keeps accounts."""
    if not jobs:
        return {}
    argv = ("sacct", "-n", "-X", "-P", "-o", "JobID,State,Reason", "-j", ",".join(jobs))
    try:
        done = process.run(argv, timeout_s=TIMEOUT_S)
    except ToolMissing:
        return dict.fromkeys(jobs, FORGOTTEN)
    # The controller no longer knows it: whatever the accounts say, it does not run any more.
    found = {job: state for job, state in _rows(done.stdout.splitlines()) if state.over}
    return {job: found.get(job, FORGOTTEN) for job in jobs}


def _rows(lines: Iterable[str]) -> Iterable[tuple[str, JobState]]:
    for line in lines:
        job, _, rest = line.strip().partition("|")
        state, _, reason = rest.partition("|")
        if job.isdecimal() and state:
            # sacct writes "CANCELLED by 1000".
            yield job, JobState(state.split()[0], reason)
