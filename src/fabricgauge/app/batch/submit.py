"""A check that Slurm runs: submit, wait, collect, and measure suspects in a second job."""

import time
from collections.abc import Callable
from functools import partial

import msgspec

from fabricgauge.app.batch.attempts import attempts
from fabricgauge.app.batch.collect import gather
from fabricgauge.app.batch.job import Maker, Written, plan_of
from fabricgauge.app.batch.numbers import await_lost, cluster, find_lost, numbers, wait
from fabricgauge.app.batch.request import target_of_jobs
from fabricgauge.app.breakage import culprits_from_findings
from fabricgauge.app.groups import launches_without_culprits, rechecks
from fabricgauge.app.programs import engine_for
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.finding import Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.plan.outlook import remaining
from fabricgauge.run.batch import slurm
from fabricgauge.run.batch.job_state import FORGOTTEN, JobState
from fabricgauge.run.launchers.slurm import access
from fabricgauge.settings import Settings
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job, jobs, load, read_batch

#: NFS shows a new file a minute late at the most, by its usual settings.
LOOK_S, MOST_LOOKS = 2.0, 35

#: Most jobs that earlier jobs' results lead to: one for nodes that can connect where others cannot,
#: and two for suspects.
MOST_FOLLOWING = 3


def hand_over(written: Written, directory: RunDirectory) -> BatchJob:
    """Give a job to Slurm, and write its number down at once.

    Raises:
        CannotRun: Slurm did not take it; ``Unclear`` if it may have.
    """
    append_job(directory, written.job)  # after a kill the folder still leads to the job
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


def collected(
    directory: RunDirectory, settings: Settings, progress: Progress, most_jobs: int | None = None
) -> Judged:
    """Wait for the run's jobs, take what they left, measure suspects again, judge and report.

    At most ``most_jobs`` follow from what others found.

    Raises:
        CannotRun: no job has measured anything.
        UsageError: another program has completed the run meanwhile.
    """
    batch = read_batch(directory)
    target = target_of_jobs(batch, settings, progress)
    context, judged = _collect(directory, target)
    for _ in range(MOST_FOLLOWING if most_jobs is None else most_jobs):
        if directory.complete or not (suspects(context) or _others(context, batch)):
            break
        try:
            engine = engine_for(batch.mpi, progress)
            hand_over(next_job(context, batch, engine), directory)
        except CannotRun as error:  # what was measured is still shown
            progress.trouble(f"what follows was not submitted: {error}")
            break
        context, judged = _collect(directory, target)
    return judged


def _collect(directory: RunDirectory, target: Target) -> tuple[RunContext, Judged]:
    """Wait for the jobs that there are, take what they left, and judge it."""
    progress = target.progress
    try:
        await_lost(directory, progress)
        ask = partial(slurm.states, cluster=cluster(directory))
        states = wait(numbers(directory), ask, progress)
        await_files(directory, states)
        gather(directory, target, states)
        for job, state in states.items():
            if state.state not in ("COMPLETED", FORGOTTEN.state):
                progress.trouble(f"job {job} ended before its time: {state}")
        context = RunContext(target, directory, load(directory))
        return context, context.concluded(not context.left() and not suspects(context))
    except StoreError:
        final = directory.path.with_name(directory.identity)
        if directory.path.is_dir() or not final.is_dir():
            raise
        raise UsageError(
            f"{directory.identity} was completed by another program meanwhile: see fabricgauge"
            f" report {final}"
        ) from None


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


def suspects(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Launches that measure suspects again, where everything else is measured."""
    run = context.run
    again = any(launch.purpose == "again" for launch in run.plan.launches)
    if again or not any(launch.rounds for launch in run.launches) or context.left():
        return ()
    found = (launch for _, launch in rechecks(context))
    return tuple(one for one in found if not isinstance(one, Skipped))


def _others(context: RunContext, batch: Batch) -> tuple[PlannedLaunch, ...]:
    """Launches of nodes that can be measured although others cannot; where pairs are jobs, none."""
    if batch.pairs is not None:
        return ()
    return _unsubmitted(context) or _without_culprits(context)


def _unsubmitted(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Launches that no job was to make: those of nodes that can connect, where others cannot."""
    given = {one.number for job in jobs(context.directory)[1:] for one in job.launches}
    dead = {one.network for one in context.run.preflight if one.severity is Severity.FAIL}
    made = {launch.number for launch in context.run.launches}
    fresh = (one for one in context.left() if one.number not in given | made)
    return tuple(one for one in fresh if one.network in dead)


def _without_culprits(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Where a launch broke and its culprit is known: the other nodes' launches, now planned."""
    for one in context.run.launches:
        nodes = {node for finding in one.ended.culprits for node in finding.nodes}
        later = (each for each in context.plan.launches if each.number > one.number)
        if any(each.network == one.network and not nodes <= set(each.nodes) for each in later):
            continue
        if found := list(culprits_from_findings(one.ended.culprits)):
            context.culprits.setdefault(one.network or "", []).extend(found)
            context.broken.add(one.network)
    return launches_without_culprits(context)


def left_of_pairs(directory: RunDirectory, batch: Batch) -> Plan:
    """The plan of a run whose pairs are jobs, with those launches that have no result.

    Raises:
        UsageError: every pair has one.
    """
    pairs = batch.pairs or Plan("", Stopping(0.0, 0.0), False, ())
    if not (directory.path / "plan.json").exists():
        return pairs
    run = load(directory)
    left = {launch.number for launch in remaining(run.plan, run.launches)}
    launches = tuple(launch for launch in pairs.launches if launch.number in left)
    if not launches:
        raise UsageError(f"{directory.identity} has every pair; there is nothing to resume")
    return msgspec.structs.replace(pairs, launches=launches)


def rest_of(
    directory: RunDirectory, target: Target, batch: Batch, engine: Engine, time_limit: str
) -> Written:
    """A job for what the jobs of a run have left; the whole of it where none ever began.

    Raises:
        UsageError: nothing is left.
    """
    try:
        gather(directory, target, {})
    except CannotRun as nothing:
        target.progress.trouble(str(nothing))
    if (directory.path / "plan.json").exists():
        context = RunContext(target, directory, load(directory))
        return next_job(context, batch, engine, time_limit)
    if not jobs(directory):
        raise UsageError(f"{directory.identity} was never submitted; begin a new one")
    first = jobs(directory)[0]
    plan = plan_of(first, first.launches)
    maker = Maker(directory, engine, target.access, batch.request)
    return maker.write(plan, plan.launches)


def next_job(context: RunContext, batch: Batch, engine: Engine, time_limit: str = "") -> Written:
    """A job for what is left, or else for suspects.

    ``time_limit`` is in sbatch's form; without it what is left decides.

    Raises:
        UsageError: nothing is left.
    """
    launches = tuple(one for one in context.left() if one.number not in context.given_up)
    if not launches:
        launches = suspects(context)
        for one in launches:
            context.plan_further(one)
    if not launches:
        raise UsageError(f"{context.directory.identity} is complete; there is nothing to resume")
    needed = {node for launch in launches for node in launch.nodes}
    planned = (node for launch in context.plan.launches for node in launch.nodes)
    nodes = tuple(dict.fromkeys(node for node in planned if node in needed))  # in Slurm's order
    there = msgspec.structs.replace(access("0", nodes, batch.starter), virtual=batch.virtual)
    # Those nodes and no others; who asked for time asked for all that was to be measured then.
    request = msgspec.structs.replace(
        batch.request, nodes=len(nodes), nodelist=nodes, exclude=(), time=time_limit
    )
    return Maker(context.directory, engine, there, request).write(context.plan, launches)
