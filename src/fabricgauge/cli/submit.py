"""``fabricgauge submit``: checks that Slurm runs, by one job or a job for each pair of nodes."""

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.collect import begun, followed, said_again, say, where_options
from fabricgauge.cli.options import Printing
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import UsageError
from fabricgauge.run.batch.options import further

if TYPE_CHECKING:
    from fabricgauge.app.batch.job import Written
    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.model.engine import Engine
    from fabricgauge.model.request import MeasurementRequest
    from fabricgauge.store.run_directory import RunDirectory


@click.command()
@of.lab_option("Submit to the Slurm of a lab: NAME, or one made for this check.")
@of.slurm_options
@of.network_options
@of.measure_options
@of.fabric_options
@click.option("--no-wait", is_flag=True, help="Submit and return; `collect` does the rest.")
@click.option("--resume", metavar="RUN", help="Submit what a run has left to measure.")
@where_options
@click.option("--dry-run", is_flag=True, help="Print the job script, submit nothing.")
@click.pass_context
def submit(
    ctx: click.Context,
    /,
    lab: str | None,
    output: Path | None,
    dry_run: bool,
    no_wait: bool,
    resume: str | None,
    **asked: Any,
) -> None:
    """Have Slurm run a check: write its job, submit, wait, judge.

    The job needs a shell, srun and the engine, no Python. It asks its nodes what they are, makes
    the launches on each network that it finds, and leaves everything in the run directory. A second
    job on the same nodes measures suspects again.
    """
    from fabricgauge.app.batch.on_head import on_head
    from fabricgauge.app.batch.request import at_once, batch_of
    from fabricgauge.cli.show import require_format
    from fabricgauge.store.holding import held
    from fabricgauge.store.run_directory import find

    require_format(asked["format"])
    nodes = asked["nodes"] or 0
    if lab is not None:
        ctx.exit(on_head(lab, said_again(ctx), nodes, no_wait))
    root = (output or settings.run_root()).absolute()
    printing = Printing(asked["format"], asked["quiet"], asked["fail_on"])
    if resume:
        _require_of_resumption(ctx)
        directory = find(root, resume)
        with held(directory):
            ctx.exit(_resumed(directory, asked["time"], asked["at_once"] or 0, printing, no_wait))
    request = of.request_of({**asked, "nodes": None, "launcher": None})
    said = {name: asked[name] for name in _SAID_TO_SLURM}
    job = Request(nodes=nodes, further=further(asked["sbatch"]), **said)
    batch = batch_of(request, job, asked["launcher"], settings.load())
    batch = msgspec.structs.replace(batch, at_once=at_once(asked["at_once"] or 0, batch))
    ctx.exit(_submitted(request, batch, asked["pair_jobs"], root, printing, dry_run, no_wait))


#: Options of the job that are sbatch's own.
_SAID_TO_SLURM = (
    "partition", "time", "reservation", "account", "qos", "constraint", "exclusive", "job_name",
)  # fmt: skip

#: What may be said anew when a run is resumed; the run knows everything else.
_ANEW = frozenset({
    "resume", "time", "lab", "no_wait", "dry_run", "at_once", "output", "format", "quiet",
    "fail_on",
})  # fmt: skip


def _require_of_resumption(ctx: click.Context) -> None:
    """Raises:
    UsageError: an option that a resumed run does not heed.
    """
    default = click.core.ParameterSource.DEFAULT
    for one in ctx.command.params:
        name = one.name or ""
        if name not in _ANEW and ctx.get_parameter_source(name) is not default:
            raise UsageError(f"--resume takes {one.opts[-1]} from the run; leave it out")
    if ctx.params["dry_run"]:
        raise UsageError("--dry-run shows a new run's job; leave it out with --resume")


def _submitted(
    request: "MeasurementRequest", batch: Batch, partners: int | None, root: Path,
    printing: Printing, dry_run: bool, no_wait: bool,
) -> int:  # fmt: skip
    """Begin a run of one job, or of one for each pair; returns the exit status."""
    from fabricgauge.app.batch.job import Maker
    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.app.batch.request import plan_of_job, plan_of_pairs, target_of_jobs
    from fabricgauge.app.batch.submit import hand_over
    from fabricgauge.app.target import about
    from fabricgauge.store.run_directory import RunDirectory
    from fabricgauge.store.run_files import write_batch

    if partners is None:
        plan = plan_of_job(request, batch)
    else:
        plan = plan_of_pairs(request, batch, partners)
        batch = msgspec.structs.replace(batch, pairs=plan)
    engine = _engine(batch, printing)
    target = target_of_jobs(batch, settings.load(), engine)
    directory = RunDirectory.create(root)
    with begun(directory):
        queue = None if partners is None else PairQueue(directory, batch, plan, engine)
        if queue is None or dry_run:
            maker = Maker(directory, engine, target.access, batch.request)
            written = queue.write_next() if queue else maker.write(plan, plan.launches)
        if dry_run:
            _print_job(written, queue.waiting if queue else 1)
            directory.discard()
            return 0
        write_batch(directory, about(target), batch)
        if queue is not None:
            _counted(directory, queue, queue.fill)
        else:
            job = hand_over(written, directory)
    if queue is not None:
        return _drained(directory, queue, printing, no_wait)
    return _awaited(directory, job, printing, no_wait)


def _engine(batch: Batch, printing: Printing) -> "Engine":
    from fabricgauge.app.programs import engine_for
    from fabricgauge.cli.progress import bar

    with bar(printing.quiet) as progress:
        return engine_for(batch.mpi, progress)


def _resumed(
    directory: "RunDirectory", time: str, at_once: int, printing: Printing, no_wait: bool
) -> int:
    """Submit what no job has measured or is about to measure."""
    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.app.batch.request import target_of_jobs
    from fabricgauge.app.batch.submit import hand_over, left_of_pairs, rest_of, unfinished
    from fabricgauge.cli.progress import bar
    from fabricgauge.store.run_files import read_batch

    batch = read_batch(directory)
    if why := directory.foreign:
        raise UsageError(
            f"{directory.path} may have been changed by others ({why}), so nothing is submitted"
            " from it: begin a new run, with --output in a directory of your own"
        )
    if batch.pairs is None:
        for number, state in unfinished(directory).items():
            raise UsageError(
                f"job {number} of this run is not over, it is {state}: wait for it with"
                f" fabricgauge collect {directory.path}, or end it with scancel {number}"
            )
    engine = _engine(batch, printing)
    if batch.pairs is None:
        target = target_of_jobs(batch, settings.load())
        with bar(printing.quiet) as progress:
            rest = rest_of(directory, target, batch, engine, progress, time)
        return _awaited(directory, hand_over(rest, directory), printing, no_wait)
    changed = msgspec.structs.replace(batch, at_once=at_once or batch.at_once)
    queue = PairQueue(directory, changed, left_of_pairs(directory, batch), engine)
    _counted(directory, queue, queue.fill)
    return _drained(directory, queue, printing, no_wait)


def _awaited(directory: "RunDirectory", job: BatchJob, printing: Printing, no_wait: bool) -> int:
    """Wait for a job and for those that follow from it, unless nobody wants to wait."""
    click.echo(f"job {job.number} was submitted, for run {directory.path}", err=True)
    if no_wait:
        say("Collect it later with", "collect", str(directory.path))
        return 0
    return followed(directory, printing)


def _drained(
    directory: "RunDirectory", queue: "PairQueue", printing: Printing, no_wait: bool
) -> int:
    """Keep Slurm's queue filled until every pair had its job, unless nobody wants to wait."""
    from fabricgauge.cli.progress import bar

    if not no_wait:

        def drain() -> None:
            with bar(printing.quiet) as progress:
                queue.drain(progress)

        more = queue.waiting or queue.unclear
        return followed(
            directory, printing, partial(_counted, directory, queue, drain) if more else drain
        )
    if queue.unclear:
        click.echo(f"sbatch did not say whether Slurm has their jobs: {queue.unclear}", err=True)
    if queue.waiting:
        rest = ("submit", "--resume", str(directory.path))
        say(f"Not in the queue yet: {queue.waiting} of the pairs. Submit them with", *rest)
    say("Collect it later with", "collect", str(directory.path))
    return 0


def _counted(
    directory: "RunDirectory", queue: "PairQueue", submit_some: Callable[[], None]
) -> None:
    """Do ``submit_some``, and say how many jobs Slurm has taken, however it ends."""
    try:
        submit_some()
    finally:
        total = queue.submitted + queue.unclear + queue.waiting
        said = f"{queue.submitted} of {total} jobs of run {directory.path} are submitted"
        click.echo(said, err=True)


def _print_job(written: "Written", jobs: int) -> None:
    if jobs > 1:
        click.echo(f"# one of {jobs} jobs")
    command = ("sbatch", *written.options, str(written.script))
    click.echo("# Nothing was submitted; a submit without --dry-run makes the folder named here.")
    click.echo(f"# {shlex.join(command)}".replace("\n", "\n# "))
    click.echo(written.script.read_text("utf-8"), nl=False)
