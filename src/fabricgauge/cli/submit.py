"""``fabricgauge submit``: checks that Slurm runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.collect import interrupted, say, say_how_to_go_on, shown, where_options
from fabricgauge.cli.fabric import fabric_options
from fabricgauge.cli.measuring import measure_options, network_options
from fabricgauge.cli.nodes import OWN_LAB
from fabricgauge.cli.on_head import on_head
from fabricgauge.cli.slurm_options import slurm_options
from fabricgauge.model.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from fabricgauge.app.batch.job import Written
    from fabricgauge.model.batch import BatchJob
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory

#: Options of ``check`` that a job cannot have, as the code that reads both expects them.
_NOT_OURS: dict[str, Any] = {"tool": None, "sim": None, "sim_fault": (), "place": None}


@click.command()
@click.option(
    "--lab",
    is_flag=False,
    flag_value=OWN_LAB,
    metavar="[NAME]",
    help="Submit to the Slurm of a lab: NAME, or one made for this check.",
)
@slurm_options
@network_options
@measure_options
@fabric_options
@click.option("--no-wait", is_flag=True, help="Submit and return; `collect` does the rest.")
@click.option("--resume", metavar="RUN", help="Submit what a run has left to measure.")
@where_options
@click.option("--dry-run", is_flag=True, help="Print the job script, submit nothing.")
@click.pass_context
def submit(ctx: click.Context, /, **options: Any) -> None:
    """Have Slurm run a check: write its job, submit, wait, judge.

    The job needs a shell, srun and the engine, no Python. It asks its nodes what they are, makes
    the launches on each network that it finds, and leaves everything in the run directory. Whoever
    is suspected then is measured again by a second job on the same nodes.
    """
    from fabricgauge import settings
    from fabricgauge.cli.show import require_format

    require_format(options["format"])
    if options["lab"] is not None:
        ctx.exit(on_head(ctx, options))
    if options["resume"]:
        _require_of_resumption(ctx)
    chosen = {**_NOT_OURS, **options}
    ctx.exit(_action(options)(chosen, settings.load()))


#: What may be said anew when a run is resumed; the run knows everything else.
_ANEW = frozenset({
    "resume", "time", "lab", "no_wait", "dry_run", "at_once", "output", "format", "quiet",
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


def _action(options: dict[str, Any]) -> "Callable[[dict[str, Any], Settings], int]":
    from fabricgauge.cli import pair_jobs

    if options["resume"]:
        return _resumed
    return _submit if options["pair_jobs"] is None else pair_jobs.submit


def _submit(options: dict[str, Any], said: "Settings") -> int:
    from fabricgauge.app.batch.job import Maker, first_plan
    from fabricgauge.app.batch.submit import hand_over
    from fabricgauge.app.target import about
    from fabricgauge.cli import batch as of
    from fabricgauge.cli import request
    from fabricgauge.store.run_files import write_batch

    batch = of.batch(options, said)
    wanted = request.wanted(options, of.nobody_yet(batch))
    plan = first_plan(wanted, of.subnets(batch), batch.unpinned)
    engine = of.engine(batch, options)
    target = of.target(batch, said, engine)
    root = options["output"]
    directory = request.directory({**options, "output": root.absolute() if root else None})
    with begun(directory):
        written = Maker(directory, engine, target.access, batch.request).write(plan, plan.launches)
        if options["dry_run"]:
            printed(written)
            directory.discard()
            return 0
        write_batch(directory, about(target), batch)
        job = hand_over(written, directory)
    return _awaited(directory, job, options)


@contextmanager
def begun(directory: "RunDirectory") -> Iterator[None]:
    """Discard a run that could not begin; keep one of which Slurm may have a job, and say so."""
    from fabricgauge.app.batch.submit import may_have_jobs

    try:
        yield
    except BaseException as error:
        if may_have_jobs(directory, error):
            path = str(directory.path)
            say("Slurm has jobs of this run, or may have. Collect them later with", "collect", path)
        else:
            directory.discard()
        raise


def _resumed(options: dict[str, Any], said: "Settings") -> int:
    from fabricgauge.app.batch.submit import unfinished
    from fabricgauge.cli import batch as of
    from fabricgauge.cli import request
    from fabricgauge.store.run_files import read_batch

    if options["dry_run"]:
        raise UsageError("--dry-run shows a new run's job; leave it out with --resume")
    directory = request.directory(options)
    batch = read_batch(directory)
    if batch.pairs is not None:
        from fabricgauge.cli import pair_jobs

        return pair_jobs.resume(directory, batch, options)
    for number, state in unfinished(directory).items():
        raise UsageError(
            f"job {number} of this run is not over, it is {state}: wait for it with"
            f" fabricgauge collect {directory.path}, or end it with scancel {number}"
        )
    job = of.next_job(directory, batch, said, options)
    return _awaited(directory, job, options)


def _awaited(directory: "RunDirectory", job: "BatchJob", options: dict[str, Any]) -> int:
    """Wait for a job and for those that follow from it, unless nobody wants to wait."""
    click.echo(f"job {job.number} was submitted, for run {directory.path}", err=True)
    if options["no_wait"]:
        say("Collect it later with", "collect", str(directory.path))
        return 0
    return followed(directory, options)


def followed(
    directory: "RunDirectory", options: dict[str, Any], first: Callable[[], None] = lambda: None
) -> int:
    """Do ``first``, wait for all jobs, measure suspects again, and show what came out.

    Where Slurm refuses what ``first`` submits, what it has is waited for all the same.

    Raises:
        AllStuck: it refuses, and what it has would be waited for without end.
    """
    from fabricgauge import settings
    from fabricgauge.app.batch.pair_queue import AllStuck
    from fabricgauge.app.batch.submit import MOST_FOLLOWING, suspects
    from fabricgauge.cli import batch as of
    from fabricgauge.report.visible import visible
    from fabricgauge.store.run_files import read_batch

    said = settings.load()
    try:
        try:
            first()
        except AllStuck:
            say_how_to_go_on(directory.path)
            raise
        except CannotRun as error:
            click.echo(f"not all pairs were submitted: {visible(str(error))}", err=True)
        outcome = of.collected(directory, said, options)
        for _ in range(MOST_FOLLOWING):
            if directory.complete or not suspects(directory):
                break
            try:
                of.next_job(directory, read_batch(directory), said, options)
            except CannotRun as error:  # what was measured is shown all the same
                click.echo(f"suspects were not measured again: {visible(str(error))}", err=True)
                break
            outcome = of.collected(directory, said, options)
    except KeyboardInterrupt:
        return interrupted(directory)
    return shown(outcome, options)


def printed(written: "Written") -> None:
    import shlex

    command = ("sbatch", *written.options, str(written.script))
    click.echo("# Nothing was submitted; a submit without --dry-run makes the folder named here.")
    click.echo(f"# {shlex.join(command)}".replace("\n", "\n# "))
    click.echo(written.script.read_text("utf-8"), nl=False)
