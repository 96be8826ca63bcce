"""Run a check through Slurm: submit, wait, collect, and measure suspects in a second job."""

import time
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from fabricgauge.check.breakage import culprits_from_findings
from fabricgauge.check.groups import launches_without_culprits, rechecks
from fabricgauge.check.plan.outlook import find_remaining
from fabricgauge.check.programs import engine_for
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.features.jobs.attempts import find_attempts
from fabricgauge.features.jobs.collect import GaveUp, collect_results
from fabricgauge.features.jobs.fetching import fetch_results
from fabricgauge.features.jobs.job import JobFiles, JobWriter, carried_bases, plan_of
from fabricgauge.features.jobs.numbers import (
    cluster_of,
    find_lost,
    job_numbers_of,
    wait_for_jobs,
    wait_for_lost,
)
from fabricgauge.features.jobs.request import plan_of_jobs, target_of_jobs
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import FORGOTTEN, JobState
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun, StoreError, UsageError
from fabricgauge.model.finding import Severity
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.progress import Progress
from fabricgauge.nodes.launch.launchers.slurm import access
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import append_job, jobs, load, read_batch
from fabricgauge.store.settings import Settings

#: With its usual settings NFS shows a new file a minute late at most.
LOOK_S, MAX_LOOKS = 2.0, 35

#: Most jobs that follow from earlier jobs' results: one for nodes that can connect while others
#: cannot, and two for suspects.
MAX_FOLLOWING_JOBS = 3


def submit_job(written: JobFiles, directory: RunDirectory) -> BatchJob:
    """Submit a job to Slurm, and store its number at once.

    Raises:
        CannotRun: Slurm did not take it; ``Unclear`` if it may have.
    """
    append_job(directory, written.job)  # after a kill the folder still leads to the job
    submitted = slurm.submit(written.options, written.script)
    job = replace(written.job, number=submitted.number, cluster=submitted.cluster)
    append_job(directory, job)
    return job


def may_have_jobs(directory: RunDirectory, error: BaseException) -> bool:
    """Check if Slurm has, or may have, a job of the run although submitting failed.

    A job is stored before sbatch is started: only its refusal proves that there is none.
    """
    refused = isinstance(error, CannotRun) and not isinstance(error, slurm.Unclear)
    run_jobs = jobs(directory)
    # For an earlier job without a number sbatch's answer was unclear.
    return len(run_jobs) > 1 or any(job.number or not refused for job in run_jobs)


def unfinished(directory: RunDirectory) -> dict[str, JobState]:
    """Return the jobs of a run that are not over, and their states.

    Raises:
        NoAnswer: it is unknown whether Slurm has a job without a number.
    """
    find_lost(directory)
    states = slurm.states(job_numbers_of(directory), cluster_of(directory))
    return {job: state for job, state in states.items() if not state.over}


def wait_and_judge(
    directory: RunDirectory, settings: Settings, progress: Progress, most_jobs: int | None = None
) -> Judged:
    """Wait for the run's jobs, add their results, measure suspects again, judge and report.

    At most ``most_jobs`` follow from earlier results.

    Raises:
        CannotRun: no job has measured anything.
        UsageError: another program has completed the run meanwhile.
    """
    batch = read_batch(directory)
    target = target_of_jobs(batch, settings, progress)
    jobs_left = MAX_FOLLOWING_JOBS if most_jobs is None else most_jobs
    while True:
        try:
            context, judged = _collect(directory, target)
            break
        except GaveUp as error:
            if not jobs_left:
                next_step = f"fabricgauge submit --resume {directory.path} measures the other nodes"
                raise CannotRun(f"{error}. {next_step}") from error
            jobs_left -= 1
            engine = engine_for(batch.mpi, progress)
            submit_job(write_rest_job(directory, target, batch, engine, ""), directory)
    for _ in range(jobs_left):
        if directory.complete or not (
            recheck_launches(context)
            or (batch.pairs is None and (_unsubmitted(context) or _without_culprits(context)))
        ):
            break
        try:
            engine = engine_for(batch.mpi, progress)
            submit_job(next_job(context, batch, engine), directory)
        except CannotRun as error:  # the results so far are still shown
            progress.trouble(f"the following job was not submitted: {error}")
            break
        context, judged = _collect(directory, target)
    return judged


def _collect(directory: RunDirectory, target: Target) -> tuple[RunContext, Judged]:
    progress = target.progress
    try:
        wait_for_lost(directory, progress)
        ask = partial(slurm.states, cluster=cluster_of(directory))
        states = wait_for_jobs(job_numbers_of(directory), ask, progress)
        request = read_batch(directory).request
        if request.carried:
            progress.stage("fetching the results from the job's first node")
            for remains in fetch_results(directory, request, carried_bases(), states):
                progress.trouble(remains)
        wait_for_files(directory, states)
        collect_results(directory, target, states)
        for job, state in states.items():
            if state.state not in ("COMPLETED", FORGOTTEN.state):
                progress.trouble(f"job {job} ended early: {state}")
        context = RunContext(target, directory, load(directory))
        return context, context.conclude(
            not context.unmade_launches() and not recheck_launches(context)
        )
    except StoreError:
        final = directory.path.with_name(directory.identity)
        if directory.path.is_dir() or not final.is_dir():
            raise
        raise UsageError(
            f"another program has completed {directory.identity}: see fabricgauge report {final}"
        ) from None


def wait_for_files(
    directory: RunDirectory,
    states: dict[str, JobState],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait for the last file of completed jobs: a shared file system may show it late."""
    ended = {job for job, state in states.items() if state.state == "COMPLETED"}
    for _ in range(MAX_LOOKS):
        ended_jobs = {
            attempt.job for attempt in find_attempts(directory.path / "raw") if attempt.ended
        }
        if ended <= ended_jobs:
            return
        sleep(LOOK_S)


def recheck_launches(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Return launches that measure suspects again, if everything else is measured."""
    run = context.run
    has_rechecks = any(launch.purpose == "again" for launch in run.plan.launches)
    if (
        has_rechecks
        or not any(launch.rounds for launch in run.launches)
        or context.unmade_launches()
    ):
        return ()
    planned_rechecks = (launch for _, launch in rechecks(context))
    return tuple(launch for launch in planned_rechecks if not isinstance(launch, Skipped))


def _unsubmitted(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Return launches that no job has, of nodes that connect or hold programs as others cannot."""
    planned = (launch for job in jobs(context.directory) for launch in job.launches)
    numbers = {launch.number for launch in context.run.launches} | {
        # The first job, and one in its place, number their launches once they know the networks.
        launch.number
        for launch in planned
        if not launch.nodes[0].isdecimal()
    }
    failed = (finding for finding in context.run.preflight if finding.severity is Severity.FAIL)
    dead = {finding.network for finding in failed}
    # A node that answers without being measured cannot hold the programs: the job made no launch.
    stopped = any(node.answers for node in context.run.fabric.unreached)
    return tuple(
        launch
        for launch in context.unmade_launches()
        if launch.number not in numbers and (stopped or launch.network in dead)
    )


def _without_culprits(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Plan launches of the other nodes if a launch broke and its culprit is known."""
    for broken in context.run.launches:
        nodes = {node for finding in broken.ended.culprits for node in finding.nodes}
        later = (launch for launch in context.plan.launches if launch.number > broken.number)
        if any(
            launch.network == broken.network and not nodes <= set(launch.nodes) for launch in later
        ):
            continue
        if culprits := list(culprits_from_findings(broken.ended.culprits)):
            context.culprits.setdefault(broken.network or "", []).extend(culprits)
            context.broken.add(broken.network)
    return launches_without_culprits(context)


def unmeasured_pairs(directory: RunDirectory, batch: Batch) -> Plan:
    """Return the plan of a run whose pairs are jobs, with the launches that have no result.

    Raises:
        UsageError: every pair has a result.
    """
    pairs = batch.pairs or Plan("", Stopping(0.0, 0.0), False, ())
    if not (directory.path / "plan.json").exists():
        return pairs
    run = load(directory)
    numbers_left = {launch.number for launch in find_remaining(run.plan, run.launches)}
    launches = tuple(launch for launch in pairs.launches if launch.number in numbers_left)
    if not launches:
        raise UsageError(f"{directory.identity} has measured every pair; nothing to resume")
    return replace(pairs, launches=launches)


def write_rest_job(
    directory: RunDirectory, target: Target, batch: Batch, engine: Engine, time_limit: str
) -> JobFiles:
    """Write a job for the unmeasured rest of a run; for all of it if no job began.

    Raises:
        UsageError: nothing is left.
    """
    try:
        collect_results(directory, target, {})
    except CannotRun as nothing:
        target.progress.trouble(str(nothing))
    if (directory.path / "plan.json").exists():
        context = RunContext(target, directory, load(directory))
        return next_job(context, batch, engine, time_limit)
    if not jobs(directory):
        raise UsageError(f"{directory.identity} was never submitted; start a new one")
    first, request = jobs(directory)[0], batch.request
    plan = plan_of(first, first.launches)
    attempts = find_attempts(directory.path / "raw")
    if attempts and attempts[-1].gave_up:
        unable = attempts[-1].unable()
        nodes = tuple(node for node in attempts[-1].nodes if node not in unable)
        request = replace(request, nodes=len(nodes), nodelist=nodes, exclude=())
        plan = plan_of_jobs(replace(batch, request=request), None)
    return JobWriter(directory, engine, target.access, request).write(plan, plan.launches)


def next_job(context: RunContext, batch: Batch, engine: Engine, time_limit: str = "") -> JobFiles:
    """Write a job for the unmeasured rest, or else for suspects.

    ``time_limit`` is in sbatch's form; without it the rest decides.

    Raises:
        UsageError: nothing is left.
    """
    launches = tuple(
        launch for launch in context.unmade_launches() if launch.number not in context.given_up
    )
    if not launches:
        launches = recheck_launches(context)
        for launch in launches:
            context.add_to_plan(launch)
    if not launches:
        raise UsageError(f"{context.directory.identity} is complete; nothing to resume")
    needed = {node for launch in launches for node in launch.nodes}
    planned = (node for launch in context.plan.launches for node in launch.nodes)
    nodes = tuple(dict.fromkeys(node for node in planned if node in needed))  # in Slurm's order
    hosts = replace(access("0", nodes, batch.starter), virtual=batch.virtual)
    # Ask for these nodes only; an earlier time limit was for the whole run.
    request = replace(batch.request, nodes=len(nodes), nodelist=nodes, exclude=(), time=time_limit)
    return JobWriter(context.directory, engine, hosts, request).write(context.plan, launches)
