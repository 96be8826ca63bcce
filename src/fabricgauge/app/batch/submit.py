"""A check that Slurm runs: submit, wait, collect, and measure suspects in a second job."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from fabricgauge.app.batch.attempts import attempts
from fabricgauge.app.batch.collect import gather
from fabricgauge.app.batch.job import Maker, Written
from fabricgauge.app.batch.numbers import await_lost, cluster, find_lost, numbers
from fabricgauge.app.batch.waiting import wait
from fabricgauge.app.check import Outcome, concluded
from fabricgauge.app.engine_job import left_of
from fabricgauge.app.pairs import fabric_result, rechecks
from fabricgauge.app.progress import Progress
from fabricgauge.app.target import Target
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.run.batch import slurm
from fabricgauge.run.batch.job_state import FORGOTTEN, JobState
from fabricgauge.run.launchers.slurm import Allocation, access
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job, jobs, load, write_plan

#: NFS shows a new file a minute late at the most, by its usual settings.
LOOK_S, MOST_LOOKS = 2.0, 35

#: Jobs that follow from what others found, without anybody asking for them.
MOST_FOLLOWING = 2


def hand_over(written: Written, directory: RunDirectory) -> BatchJob:
    """Give a job to Slurm, and write its number down at once.

    Raises:
        CannotRun: Slurm did not take it; ``Unclear`` if it may have.
    """
    append_job(directory, written.job)  # whoever is killed now finds the job by its folder
    made = slurm.submit(written.options, written.script)
    job = msgspec.structs.replace(written.job, number=made.number, cluster=made.cluster)
    append_job(directory, job)
    return job


def may_have_jobs(directory: RunDirectory, error: BaseException) -> bool:
    """Whether Slurm has a job of the run, or may have one, although submitting ended so.

    A job is written down before sbatch is started: only its refusal says that there is none.
    """
    refused = isinstance(error, CannotRun) and not isinstance(error, slurm.Unclear)
    made = jobs(directory)
    # Of an earlier one without a number sbatch's answer was unclear.
    return len(made) > 1 or any(job.number or not refused for job in made)


def unfinished(directory: RunDirectory) -> dict[str, JobState]:
    """The jobs of a run that are not over, and their states.

    Raises:
        NoAnswer: nobody knows whether Slurm has a job whose number was not told.
    """
    find_lost(directory)
    known = slurm.states(numbers(directory), cluster(directory))
    return {job: state for job, state in known.items() if not state.over}


def collect(directory: RunDirectory, target: Target, progress: Progress) -> Outcome:
    """Wait for the run's jobs, take what they left, judge and report it.

    Raises:
        CannotRun: no job has measured anything.
    """
    await_lost(directory, progress)
    ask = partial(slurm.states, cluster=cluster(directory))
    states = wait(numbers(directory), ask, progress)
    await_files(directory, states)
    gather(directory, target, states)
    for job, state in states.items():
        if state.state not in ("COMPLETED", FORGOTTEN.state):
            progress.trouble(f"job {job} ended before its time: {state}")
    complete = not left_of(load(directory)) and not suspects(directory)
    judged = concluded(directory, complete, target.thresholds, progress)
    return Outcome(judged, directory.path, interrupted=False)


def await_files(
    directory: RunDirectory,
    states: dict[str, JobState],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait for the last file of jobs that came to their end: a shared file system may be late."""
    ended = {job for job, state in states.items() if state.state == "COMPLETED"}
    for _ in range(MOST_LOOKS):
        seen = {one.job for one in attempts(directory.path / "raw") if one.ended}
        if ended <= seen:
            return
        sleep(LOOK_S)


def suspects(directory: RunDirectory) -> tuple[PlannedLaunch, ...]:
    """Launches that measure suspects again, where everything else is measured."""
    run = load(directory)
    again = any(launch.purpose == "again" for launch in run.plan.launches)
    if again or not any(launch.rounds for launch in run.launches) or left_of(run):
        return ()
    found = (one.launch for one in rechecks(run, fabric_result(run)))
    return tuple(one for one in found if not isinstance(one, Skipped))


def left_of_pairs(directory: RunDirectory, batch: Batch) -> Plan:
    """The plan of a run whose pairs are jobs, with those launches that have no result.

    Raises:
        UsageError: every pair has one.
    """
    pairs = batch.pairs or Plan("", Stopping(0.0, 0.0), False, ())
    if not (directory.path / "plan.json").exists():
        return pairs
    left = {launch.number for launch in left_of(load(directory))}
    launches = tuple(launch for launch in pairs.launches if launch.number in left)
    if not launches:
        raise UsageError(f"{directory.identity} has every pair; there is nothing to resume")
    return msgspec.structs.replace(pairs, launches=launches)


def next_job(
    directory: RunDirectory, batch: Batch, engine: Engine, time_limit: str = ""
) -> Written:
    """A job for what is left, or else for suspects; the whole of it where no job ever began.

    ``time_limit`` is in sbatch's form; without it what is left decides.

    Raises:
        UsageError: nothing is left.
    """
    if not (directory.path / "plan.json").exists():
        if not jobs(directory):
            raise UsageError(f"{directory.identity} was never submitted; begin a new one")
        first = jobs(directory)[0]
        plan = Plan(first.profile, first.stopping, first.check_data, first.launches)
        nowhere = HostAccess(batch.starter, (), virtual=batch.virtual)
        return Maker(directory, engine, nowhere, batch.request).write(plan, plan.launches)
    plan, launches = _following(directory)
    nodes = _in_order(directory, launches)
    there = msgspec.structs.replace(
        access(Allocation("0", nodes), nodes, batch.starter), virtual=batch.virtual
    )
    # Those nodes and no others; who asked for time asked for all that was to be measured then.
    request = msgspec.structs.replace(
        batch.request, nodes=len(nodes), nodelist=nodes, exclude=(), time=time_limit
    )
    return Maker(directory, engine, there, request).write(plan, launches)


def _following(directory: RunDirectory) -> tuple[Plan, tuple[PlannedLaunch, ...]]:
    run = load(directory)
    rest = left_of(run)
    if rest:
        return run.plan, rest
    again = suspects(directory)
    if not again:
        raise UsageError(f"{directory.identity} is complete; there is nothing to resume")
    plan = msgspec.structs.replace(run.plan, launches=(*run.plan.launches, *again))
    write_plan(directory, plan)
    return plan, again


def _in_order(directory: RunDirectory, launches: Sequence[PlannedLaunch]) -> tuple[str, ...]:
    """The nodes that these launches need, in Slurm's order."""
    needed = {node for launch in launches for node in launch.nodes}
    planned = (node for launch in load(directory).plan.launches for node in launch.nodes)
    return tuple(dict.fromkeys(node for node in planned if node in needed))
