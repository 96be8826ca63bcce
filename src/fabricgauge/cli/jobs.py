"""Runs that Slurm's jobs make, from the command line: begun, resumed, waited for, shown."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec

from fabricgauge import settings
from fabricgauge.app.batch.job import Maker, Written
from fabricgauge.app.batch.numbers import numbers, scancel
from fabricgauge.app.batch.on_head import lab_outside
from fabricgauge.app.batch.pair_queue import AllStuck, PairQueue
from fabricgauge.app.batch.request import place_of, plan_of_jobs, target_of_jobs
from fabricgauge.app.batch.submit import (
    collected,
    hand_over,
    left_of_pairs,
    may_have_jobs,
    rest_of,
    unfinished,
)
from fabricgauge.app.programs import engine_for
from fabricgauge.app.progress import Progress
from fabricgauge.app.target import about
from fabricgauge.cli.options import Printing
from fabricgauge.cli.show import show
from fabricgauge.model.batch import Batch, BatchJob
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.judged import Judged
from fabricgauge.model.request import OWN_LAB
from fabricgauge.report.visible import visible
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import read_batch, write_batch

#: After an interrupt the command that ends the jobs names at most this many.
MOST_NAMED = 10


class Submission(msgspec.Struct, frozen=True):
    """What a submit does with its jobs: shows one only, or waits for them, or does not."""

    printing: Printing
    progress: Progress
    dry_run: bool = False
    no_wait: bool = False


def submitted(batch: Batch, partners: int | None, root: Path, how: Submission) -> int:
    """Begin a run of one job, or of one for each pair; returns the exit status."""
    plan = plan_of_jobs(batch, partners)
    if partners is not None:
        batch = msgspec.structs.replace(batch, pairs=plan)
    engine = engine_for(batch.mpi, how.progress)
    target = target_of_jobs(batch, settings.load(), how.progress, engine)
    directory = RunDirectory.create(root)
    with begun(directory):
        queue = None if partners is None else PairQueue(directory, batch, plan, engine)
        if queue is None or how.dry_run:
            maker = Maker(directory, engine, target.access, batch.request)
            written = queue.write_next() if queue else maker.write(plan, plan.launches)
        if how.dry_run:
            _print_job(written, queue.waiting if queue else 1)
            directory.discard()
            return 0
        write_batch(directory, about(target), batch)
        if queue is not None:
            _counted(directory, queue, queue.fill)
        else:
            job = hand_over(written, directory)
    if queue is not None:
        return _drained(directory, queue, how)
    return _awaited(directory, job, how)


def resumed(
    directory: RunDirectory, resume: Callable[[Batch], Batch], at_once: int, how: Submission
) -> int:
    """Submit what no job has measured or is about to measure.

    ``resume`` gives the stored batch the nodes and programs of the command line.
    """
    if why := directory.foreign:
        raise UsageError(
            f"others may change {directory.path} ({why}), so nothing is submitted from it."
            f" fabricgauge collect {directory.path} takes what its jobs have left; measure the rest"
            " in a new run, with --output in a directory of your own"
        )
    batch = resume(read_batch(directory))
    if batch.pairs is not None:
        engine = engine_for(batch.mpi, how.progress)
        changed = msgspec.structs.replace(batch, at_once=at_once or batch.at_once)
        queue = PairQueue(directory, changed, left_of_pairs(directory, batch), engine)
        _counted(directory, queue, queue.fill)
        return _drained(directory, queue, how)
    for number, state in unfinished(directory).items():
        raise UsageError(
            f"job {number} of this run is not over, it is {state}: wait for it with"
            f" fabricgauge collect {directory.path}, or end it with scancel {number}"
        )
    engine = engine_for(batch.mpi, how.progress)
    target = target_of_jobs(batch, settings.load(), how.progress)
    rest = rest_of(directory, target, batch, engine, batch.request.time)
    return _awaited(directory, hand_over(rest, directory), how)


def _awaited(directory: RunDirectory, job: BatchJob, how: Submission) -> int:
    """Wait for a job and for those that follow from it, unless nobody wants to wait."""
    click.echo(f"job {job.number} was submitted, for run {directory.path}", err=True)
    if how.no_wait:
        _say("Collect it later with", "collect", str(directory.path))
        return 0
    return followed(directory, how.printing, how.progress)


def _drained(directory: RunDirectory, queue: PairQueue, how: Submission) -> int:
    """Keep Slurm's queue filled until every pair had its job, unless nobody wants to wait."""
    if not how.no_wait:
        drain = partial(queue.drain, how.progress)
        counted = partial(_counted, directory, queue, drain)
        first = counted if queue.waiting or queue.unclear else drain
        return followed(directory, how.printing, how.progress, first)
    if queue.unclear:
        click.echo(f"sbatch did not say whether Slurm has their jobs: {queue.unclear}", err=True)
    if queue.waiting:
        what = f"Not in the queue yet: {queue.waiting} of the pairs. Submit them with"
        _say(what, *_resumption(directory))
    _say("Collect it later with", "collect", str(directory.path))
    return 0


def _counted(directory: RunDirectory, queue: PairQueue, submit_some: Callable[[], None]) -> None:
    """Do ``submit_some``, and say how many jobs Slurm has taken, however it ends."""
    try:
        submit_some()
    finally:
        total = queue.submitted + queue.unclear + queue.waiting
        said = f"{queue.submitted} of {total} jobs of run {directory.path} are submitted"
        click.echo(said, err=True)


def _print_job(written: Written, jobs: int) -> None:
    if jobs > 1:
        click.echo(f"# one of {jobs} jobs")
    command = ("sbatch", *written.options, str(written.script))
    click.echo("# Nothing was submitted; a submit without --dry-run makes the folder named here.")
    click.echo(f"# {shlex.join(command)}".replace("\n", "\n# "))
    click.echo(written.script.read_text("utf-8"), nl=False)


@contextmanager
def begun(directory: RunDirectory) -> Iterator[None]:
    """Discard a run that could not begin; keep it, and say so, if Slurm may have its jobs."""
    try:
        yield
    except BaseException as error:
        if may_have_jobs(directory, error):
            what = "Slurm has jobs of this run, or may have. Collect them later with"
            _say(what, "collect", str(directory.path))
        else:
            directory.discard()
        raise


def followed(
    directory: RunDirectory,
    printing: Printing,
    progress: Progress,
    first: Callable[[], None] = lambda: None,
    most_jobs: int | None = None,
) -> int:
    """Do ``first``, wait for all jobs, measure suspects again, and show what came out.

    Where Slurm refuses jobs of ``first``, the jobs that it has are still waited for. At most
    ``most_jobs`` follow from the results of others.

    Raises:
        AllStuck: Slurm takes no more jobs, and none that it has will start by itself.
    """
    try:
        try:
            first()
        except AllStuck:
            _say_how_to_go_on(directory)
            raise
        except CannotRun as error:
            click.echo(f"not all pairs were submitted: {visible(str(error))}", err=True)
        judged = collected(directory, settings.load(), progress, most_jobs)
    except KeyboardInterrupt:
        return _interrupted(directory)
    return shown(judged, directory, printing)


def _interrupted(directory: RunDirectory) -> int:
    """Say what goes on without us; returns the exit status."""
    if lab_outside() == OWN_LAB:
        kept = "The lab is removed, and its jobs with it. What they left is kept in"
        click.echo(f"{kept} {directory.path}", err=True)
        return 130
    known = numbers(directory)
    command = scancel(directory, known) if len(known) <= MOST_NAMED else "scancel"
    if lab_outside():
        command = f"fabricgauge lab exec --name {lab_outside()} head -- {command}"
    click.echo(f"What was submitted goes on; {command} ends it.", err=True)
    _say("Collect it later with", "collect", str(directory.path))
    return 130


def shown(judged: Judged, directory: RunDirectory, printing: Printing) -> int:
    """Print the report; returns the exit status."""
    status = show(judged, directory.path, printing)
    if not judged.run.complete:
        _say_how_to_go_on(directory)
    return status


def _say_how_to_go_on(directory: RunDirectory) -> None:
    """Say where the measurements are, and which command makes those that are missing."""
    if lab_outside() == OWN_LAB:
        click.echo(f"What was measured is kept in {directory.path}; the lab is removed.", err=True)
    else:
        _say("What was measured is kept. Measure the rest with", *_resumption(directory))


def _resumption(directory: RunDirectory) -> tuple[str, ...]:
    """Return the verb and the options that submit what a run has left."""
    place = place_of(read_batch(directory)).values()
    return ("submit", "--resume", str(directory.path), *(word for words in place for word in words))


def _say(what: str, verb: str, *words: str) -> None:
    """Print a sentence, and the command that it names, on standard error."""
    lab = lab_outside()
    where = ("--lab", lab) if lab not in ("", OWN_LAB) else ()
    click.echo(f"{what}: {shlex.join(('fabricgauge', verb, *where, *words))}", err=True)
