"""Begin, resume, await and show runs that Slurm jobs measure, here or on the head of a lab."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import click
import msgspec

from fabricgauge.check.programs import engine_for
from fabricgauge.check.target import describe_run, own_lab
from fabricgauge.cli.show import Printing, show
from fabricgauge.features.jobs.job import JobFiles, JobWriter
from fabricgauge.features.jobs.numbers import job_numbers_of, scancel_command
from fabricgauge.features.jobs.pair_queue import AllStuck, PairQueue
from fabricgauge.features.jobs.request import place_of, plan_of_jobs, target_of_jobs
from fabricgauge.features.jobs.submit import (
    may_have_jobs,
    submit_job,
    unfinished,
    unmeasured_pairs,
    wait_and_judge,
    write_rest_job,
)
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import load_complete
from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.judged import Judged
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import OWN_LAB
from fabricgauge.report.visible import visible
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import read_batch, write_batch

#: After an interrupt, the printed scancel command names at most this number of jobs.
MOST_NAMED = 10


class Submission(msgspec.Struct, frozen=True):
    """How a submit ends: it prints one job script, waits for the jobs, or returns at once."""

    printing: Printing
    progress: Progress
    dry_run: bool = False
    no_wait: bool = False


def submit_run(batch: Batch, partners: int | None, root: Path, submission: Submission) -> int:
    """Begin a run of one job, or of one job for each pair; return the exit status.

    ``partners`` is None for one job; else each node gets that number of pairs, all for 0.
    """
    plan = plan_of_jobs(batch, partners)
    if partners is not None:
        batch = msgspec.structs.replace(batch, pairs=plan)
    engine = engine_for(batch.mpi, submission.progress)
    target = target_of_jobs(batch, settings.load(), submission.progress, engine)
    directory = RunDirectory.create(root)
    with discarded_unless_submitted(directory):
        queue = None if partners is None else PairQueue(directory, batch, plan, engine)
        if queue is None or submission.dry_run:
            maker = JobWriter(directory, engine, target.access, batch.request)
            job_files = queue.write_next() if queue else maker.write(plan, plan.launches)
        if submission.dry_run:
            _print_job(job_files, queue.waiting if queue else 1)
            directory.discard()
            return 0
        write_batch(directory, describe_run(target), batch)
        if queue is not None:
            _submit_and_count(directory, queue, queue.fill)
        else:
            job = submit_job(job_files, directory)
    if queue is not None:
        return _drain_queue(directory, queue, submission)
    return _await_job(directory, job, submission)


def resume_run(
    directory: RunDirectory,
    update: Callable[[Batch], Batch],
    at_once: int,
    submission: Submission,
) -> int:
    """Submit the measurements that no job has made or will make; return the exit status.

    ``update`` gives the stored batch the nodes and programs of the command line.
    """
    if reason := directory.foreign:
        raise UsageError(
            f"others may change {directory.path} ({reason}), so no job is submitted from it."
            f" fabricgauge collect {directory.path} judges the results of its jobs; measure the"
            " rest in a new run, with --output in a directory of your own"
        )
    batch = update(read_batch(directory))
    if batch.pairs is not None:
        engine = engine_for(batch.mpi, submission.progress)
        changed = msgspec.structs.replace(batch, at_once=at_once or batch.at_once)
        queue = PairQueue(directory, changed, unmeasured_pairs(directory, batch), engine)
        _submit_and_count(directory, queue, queue.fill)
        return _drain_queue(directory, queue, submission)
    for number, state in unfinished(directory).items():
        raise UsageError(
            f"job {number} of this run has not ended (state {state}): wait for it with"
            f" fabricgauge collect {directory.path}, or end it with scancel {number}"
        )
    engine = engine_for(batch.mpi, submission.progress)
    target = target_of_jobs(batch, settings.load(), submission.progress)
    job_files = write_rest_job(directory, target, batch, engine, batch.request.time)
    return _await_job(directory, submit_job(job_files, directory), submission)


def _await_job(directory: RunDirectory, job: BatchJob, submission: Submission) -> int:
    """Wait for a job and for the jobs that follow from it, unless ``no_wait`` is set."""
    click.echo(f"job {job.number} was submitted, for run {directory.path}", err=True)
    if submission.no_wait:
        _print_command("Collect it later with", "collect", str(directory.path))
        return 0
    return show_when_complete(directory, submission.printing, submission.progress)


def _drain_queue(directory: RunDirectory, queue: PairQueue, submission: Submission) -> int:
    """Keep Slurm's queue filled until each pair has had its job, unless ``no_wait`` is set."""
    if not submission.no_wait:
        drain = partial(queue.drain, submission.progress)
        drain_and_count = partial(_submit_and_count, directory, queue, drain)
        submit_jobs = drain_and_count if queue.waiting or queue.unclear else drain
        return show_when_complete(directory, submission.printing, submission.progress, submit_jobs)
    if queue.unclear:
        click.echo(f"{queue.unclear} jobs have no number; Slurm may have them", err=True)
    if queue.waiting:
        sentence = f"Not in the queue yet: {queue.waiting} pairs. Submit them with"
        _print_command(sentence, *_resume_words(directory))
    _print_command("Collect it later with", "collect", str(directory.path))
    return 0


def _submit_and_count(
    directory: RunDirectory, queue: PairQueue, submit_jobs: Callable[[], None]
) -> None:
    try:
        submit_jobs()
    finally:
        total = queue.submitted + queue.unclear + queue.waiting
        message = f"{queue.submitted} of {total} jobs of run {directory.path} are submitted"
        click.echo(message, err=True)


def _print_job(job_files: JobFiles, jobs: int) -> None:
    if jobs > 1:
        click.echo(f"# one of {jobs} jobs")
    command = ("sbatch", *job_files.options, str(job_files.script))
    click.echo("# Nothing was submitted. Without --dry-run, submit creates the folder named here.")
    click.echo(f"# {shlex.join(command)}".replace("\n", "\n# "))
    click.echo(job_files.script.read_text("utf-8"), nl=False)


@contextmanager
def discarded_unless_submitted(directory: RunDirectory) -> Iterator[None]:
    """Discard the run after an exception; keep it, with a message, if Slurm may have its jobs."""
    try:
        yield
    except BaseException as error:
        if may_have_jobs(directory, error):
            sentence = "Slurm has jobs of this run, or may have. Collect them later with"
            _print_command(sentence, "collect", str(directory.path))
        else:
            directory.discard()
        raise


def show_when_complete(
    directory: RunDirectory,
    printing: Printing,
    progress: Progress,
    submit_jobs: Callable[[], None] = lambda: None,
    most_jobs: int | None = None,
) -> int:
    """Call ``submit_jobs``, wait for all jobs, measure suspects again, and show the results.

    If Slurm refuses some of the jobs, waits for the jobs that it has accepted. At most
    ``most_jobs`` further jobs follow from the results.

    Raises:
        AllStuck: Slurm accepts no more jobs, and no accepted job will start by itself.
    """
    try:
        try:
            submit_jobs()
        except AllStuck:
            _print_how_to_resume(directory)
            raise
        except CannotRun as error:
            click.echo(f"Slurm did not accept all pair jobs: {visible(str(error))}", err=True)
        judged = wait_and_judge(directory, settings.load(), progress, most_jobs)
    except KeyboardInterrupt:
        return _report_interrupt(directory)
    return show_run(judged, directory, printing)


def _report_interrupt(directory: RunDirectory) -> int:
    if lab_outside() == OWN_LAB:
        sentence = "The lab and its jobs are removed. Finished measurements are kept in"
        click.echo(f"{sentence} {directory.path}", err=True)
        return 130
    job_numbers = job_numbers_of(directory)
    command = (
        scancel_command(directory, job_numbers) if len(job_numbers) <= MOST_NAMED else "scancel"
    )
    if lab_outside():
        command = f"fabricgauge lab exec --name {lab_outside()} head -- {command}"
    click.echo(f"The submitted jobs go on. To end them: {command}", err=True)
    _print_command("Collect it later with", "collect", str(directory.path))
    return 130


def show_run(judged: Judged, directory: RunDirectory, printing: Printing) -> int:
    """Print the report, and how to resume an incomplete run; return the exit status."""
    status = show(judged, directory.path, printing)
    if not judged.run.complete:
        _print_how_to_resume(directory)
    return status


def _print_how_to_resume(directory: RunDirectory) -> None:
    if lab_outside() == OWN_LAB:
        path = directory.path
        click.echo(f"Finished measurements are kept in {path}; the lab is removed.", err=True)
    else:
        sentence = "Finished measurements are kept. Measure the rest with"
        _print_command(sentence, *_resume_words(directory))


def _resume_words(directory: RunDirectory) -> tuple[str, ...]:
    """Return the verb and the options that submit the missing measurements of a run."""
    options = place_of(read_batch(directory)).values()
    words = (word for option_words in options for word in option_words)
    return ("submit", "--resume", str(directory.path), *words)


def _print_command(sentence: str, verb: str, *words: str) -> None:
    lab = lab_outside()
    lab_words = ("--lab", lab) if lab not in ("", OWN_LAB) else ()
    command = shlex.join(("fabricgauge", verb, *lab_words, *words))
    click.echo(f"{sentence}: {command}", err=True)


#: Variable with the lab to which an outer program sent the command line.
_LAB_VARIABLE = "FABRICGAUGE_FROM_OUTSIDE"

#: The command line as a program; `fabricgauge` need not be in the path.
_MAIN_PROGRAM = (
    "import sys; sys.argv[0] = 'fabricgauge'; from fabricgauge.cli.main import main; main()"
)


def run_on_head(lab: str, nodes: int = 0, no_wait: bool = False) -> int:
    """Run this command line on the head; return its exit status. ``nodes`` is for a lab of its own.

    On the head ``lab_outside`` names the lab, whatever ``--lab`` is.

    Raises:
        UsageError: a job would be left in a lab that is removed at once.
    """
    is_own_lab = lab == OWN_LAB
    if is_own_lab and no_wait:
        raise UsageError(
            "--no-wait: this check's own lab is removed at its end; bring a lab up with fabricgauge"
            " lab up --slurm, and name it with --lab"
        )
    with own_lab(nodes, with_slurm=True) if is_own_lab else nullcontext(lab) as name:
        argv = [
            *entry(load_complete(name), HEAD),
            sys.executable,
            "-c",
            _MAIN_PROGRAM,
            *sys.argv[1:],
        ]
        return _run_interruptible(argv, {_LAB_VARIABLE: OWN_LAB if is_own_lab else name})


def lab_outside() -> str:
    """Return the lab to which an outer program sent us, OWN_LAB for its own; empty if none did."""
    return os.environ.get(_LAB_VARIABLE, "")


def _run_interruptible(argv: Sequence[str], variables: dict[str, str]) -> int:
    """Run a program that gets our interrupts, also those without a terminal; return its exit
    status.

    It has a session of its own: a terminal would interrupt it a second time while it ends.
    """
    with subprocess.Popen(argv, env={**os.environ, **variables}, start_new_session=True) as child:
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                return child.wait()
            except KeyboardInterrupt:
                child.send_signal(number)
        return 130
