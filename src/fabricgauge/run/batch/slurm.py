"""Slurm's own programs: submit a job, ask what became of it.

Sources: sbatch(1), squeue(1), sacct(1) of Slurm 22.05.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.run.batch.job_state import FORGOTTEN, UNKNOWN, JobState
from fabricgauge.run.environment import SLURM_CREDENTIAL, kept_back

#: Slurm's programs wait up to a minute for a controller that is busy or restarting.
TIMEOUT_S = 90.0

#: Jobs in one question. A word of a command line has 128 KiB at the most (execve(2)), a number
#: and its comma have 11 characters.
MOST_ASKED = 1000

#: How sbatch says that there are too many jobs already, by its limits or by a site's policy.
_TOO_MANY = re.compile(
    r"MaxSubmit|MaxJobCount|submit limit|job submit|Job violates accounting/QOS policy",
    re.IGNORECASE,
)

#: How it says that nobody was there to take a job.
_AWAY = re.compile(
    r"temporarily unable to accept job|Unable to contact slurm controller", re.IGNORECASE
)

#: A limit by its name. "Job violates accounting/QOS policy (job submit limit, user's size and/or
#: time limits)" follows any of them; only those on submitting are about the number of jobs
#: (slurm_protocol_defs.c of Slurm 22.05, job_reason_string()).
_LIMIT = re.compile(r"\b(?:QOS|Assoc)[A-Z]\w*")

#: How it says that the controller may have taken the job, but that its answer did not come.
_UNCLEAR = re.compile(r"Socket timed out|Zero Bytes were transmitted", re.IGNORECASE)

#: Its answer, alone in a line: a site's wrapper may print others, or leave --parsable out.
_TAKEN = re.compile(r"(?:Submitted batch job )?(\d+)(?:;(\S+)| on cluster (\S+))?")

#: Variables of an allocation that say nothing of another job, and where Slurm itself is.
_OF_A_JOB = ("SLURM_", "SLURMD_", "SRUN_", "PMI_", "PMIX_")
_OF_THE_SITE = frozenset({"SLURM_CONF", "SLURM_CLUSTERS"})

#: What a user's profile may say to sbatch and would make it return late, or make many jobs of one.
_NOT_FOR_US = frozenset({"SBATCH_WAIT", "SBATCH_ARRAY_INX"})


#: What stands above the jobs of a cluster that was named to squeue.
_TITLE = "CLUSTER: "


class NotNow(CannotRun):
    """Slurm takes no further job of this user now; it may later."""


class Away(NotNow):
    """The controller is away, or too busy to take any job."""


class Unclear(CannotRun):
    """Nobody knows whether Slurm has taken a job."""


class NoAnswer(CannotRun):
    """squeue did not say which jobs there are."""


class Submitted(msgspec.Struct, frozen=True):
    """Slurm's number of a job, and the cluster that has it where that is not our own."""

    number: str
    cluster: str = ""


def submit(options: Sequence[str], script: Path) -> Submitted:
    """Hand a script over.

    Raises:
        ToolMissing: there is no sbatch.
        NotNow: a limit on the number of jobs; ``Away`` if the controller does not take any.
        Unclear: sbatch did not say whether the job was taken.
        CannotRun: Slurm refused, in its own words.
    """
    argv = ("sbatch", "--parsable", *options, str(script))
    without = foreign(os.environ) | (kept_back(os.environ) - {SLURM_CREDENTIAL})
    done = process.run(argv, timeout_s=TIMEOUT_S, without=without)
    said = " ".join((done.stderr or done.stdout).split()) or "it said nothing"
    if done.exit_code == 0:
        for line in reversed(done.stdout.splitlines()):
            if found := _TAKEN.fullmatch(line.strip()):
                return Submitted(found[1], found[2] or found[3] or "")
    if done.exit_code == 0 or done.timed_out or _UNCLEAR.search(said):
        raise Unclear(
            f"sbatch did not say whether Slurm has taken the job, but: {said:.500}; squeue tells"
        )
    raise _refusal(said)(f"sbatch did not take the job: {said}")


def _refusal(said: str) -> type[CannotRun]:
    if _AWAY.search(said):
        return Away
    limits = _LIMIT.findall(said)
    if limits and not any("Submit" in limit for limit in limits):
        return CannotRun
    return NotNow if _TOO_MANY.search(said) else CannotRun


def foreign(environment: Mapping[str, str]) -> frozenset[str]:
    """Variables that a new job must not inherit, as when it is submitted from another one.

    Its steps would obey them: srun ends where the memory of two jobs is told by two rules.
    """
    inside = "SLURM_JOB_ID" in environment
    return _NOT_FOR_US | {
        name
        for name in environment
        if inside and name.startswith(_OF_A_JOB) and name not in _OF_THE_SITE
    }


def states(jobs: Sequence[str], cluster: str = "") -> dict[str, JobState]:
    """What became of each job; one question for ``MOST_ASKED`` of them.

    ``cluster`` is the one that has them, empty for our own.
    """
    parts = (jobs[first : first + MOST_ASKED] for first in range(0, len(jobs), MOST_ASKED))
    return {job: state for part in parts for job, state in _states(part, cluster).items()}


def _states(jobs: Sequence[str], cluster: str) -> dict[str, JobState]:
    argv = (
        "squeue", *_of(cluster), "--noheader", "--states=all", "--format=%i|%T|%r",
        f"--jobs={','.join(jobs)}",
    )  # fmt: skip
    done = process.run(argv, timeout_s=TIMEOUT_S)
    found = dict(_rows(done.stdout.splitlines()))
    lost = [job for job in jobs if job not in found]
    if done.exit_code == 0 or "Invalid job id" in done.stderr:
        # Other words than jobs are no answer: without the accounts' word nothing is over then.
        unparsed = any(map(_is_unparsed, done.stdout.splitlines()))
        return {**found, **_accounted(lost, cluster, UNKNOWN if unparsed else FORGOTTEN)}
    return {job: found.get(job, UNKNOWN) for job in jobs}


def scripts(clusters: str = "") -> dict[str, Submitted]:
    """The scripts of this user's jobs that Slurm still knows, and whose jobs they are.

    ``clusters`` are those to ask, with commas between, empty for sbatch's own choice.

    Raises:
        ToolMissing: there is no squeue.
        NoAnswer: it did not answer.
    """
    clusters = clusters or os.environ.get("SBATCH_CLUSTERS", "")  # which squeue does not heed
    argv = ("squeue", *_of(clusters), "--me", "--noheader", "--states=all", "--format=%i|%o")
    done = process.run(argv, timeout_s=TIMEOUT_S)
    lines = done.stdout.splitlines()
    if done.exit_code != 0 or any(map(_is_unparsed, lines)):
        said = " ".join((done.stderr or done.stdout).split()) or "it said nothing"
        raise NoAnswer(f"squeue did not say which jobs there are, but: {said:.500}")
    there = "" if "," in clusters else clusters
    found: dict[str, Submitted] = {}
    for line in lines:
        if line.startswith(_TITLE):
            there = line.removeprefix(_TITLE).strip()
        number, _, script = line.strip().partition("|")
        if number.isdecimal():
            found[script] = Submitted(number, there)
    return found


def lost_nodes(nodes: Sequence[str]) -> dict[str, str]:
    """Slurm's word for the state of each node that is down, failed or does not respond (``*``).

    Source: sinfo(1) of Slurm 22.05, "Node State Codes". Empty where sinfo does not answer.
    """
    argv = ("sinfo", "--Node", "--noheader", "--format=%N %T", f"--nodes={','.join(nodes)}")
    try:
        done = process.run(argv, timeout_s=TIMEOUT_S)
    except ToolMissing:
        return {}
    said = (line.split() for line in done.stdout.splitlines())
    states = {words[0]: words[1] for words in said if len(words) == 2}
    lost = {node: state for node, state in states.items() if state.startswith(("down", "fail"))}
    return lost | {node: state for node, state in states.items() if state.endswith("*")}


def _of(cluster: str) -> tuple[str, ...]:
    return (f"--clusters={cluster}",) if cluster else ()


def _accounted(jobs: Sequence[str], cluster: str, otherwise: JobState) -> dict[str, JobState]:
    """States of jobs that squeue does not list, where the site keeps accounts."""
    if not jobs:
        return {}
    argv = (
        "sacct", *_of(cluster), "-n", "-X", "-P", "-o", "JobID,State,Reason", "-j", ",".join(jobs),
    )  # fmt: skip
    try:
        done = process.run(argv, timeout_s=TIMEOUT_S)
    except ToolMissing:
        return dict.fromkeys(jobs, otherwise)
    # Accounts may be late: what the controller does not know runs no more, whatever they say.
    found = {job: state for job, state in _rows(done.stdout.splitlines()) if state.over}
    return {job: found.get(job, otherwise) for job in jobs}


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, JobState]]:
    for line in lines:
        job, _, rest = line.strip().partition("|")
        state, _, reason = rest.partition("|")
        if job.isdecimal() and state.split():
            # sacct writes "CANCELLED by 1000".
            yield job, JobState(state.split()[0], reason)


def _is_unparsed(line: str) -> bool:
    """Whether a line is neither a job's, nor empty, nor the title of a cluster's."""
    return "|" not in line and bool(line.strip()) and not line.startswith(_TITLE)
