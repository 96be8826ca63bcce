"""``fabricgauge submit``: checks that Slurm runs."""

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.collect import say, shown, where_options
from fabricgauge.cli.fabric import fabric_options
from fabricgauge.cli.measuring import added, measure_options, network_options
from fabricgauge.cli.nodes import OWN_LAB, own_lab
from fabricgauge.model.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from fabricgauge.app.batch.job import Written
    from fabricgauge.model.batch import BatchJob
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory

#: Options of ``check`` that a job cannot have, as the code that reads both expects them.
_NOT_OURS: dict[str, Any] = {"tool": None, "sim": None, "sim_fault": (), "place": None}

_JOB = (
    click.option("-p", "--partition", default="", help="Partition; default: the site's."),
    click.option("-N", "--nodes", type=click.IntRange(2, 1 << 20), help="How many nodes."),
    click.option("-w", "--nodelist", metavar="NODES", help="These nodes, e.g. c[1-2] or @group."),
    click.option("-x", "--exclude", metavar="NODES", help="Nodes that the job must not get."),
    click.option("-t", "--time", default="", help="Time limit; default: what the plan can take."),
    click.option("--reservation", default="", help="Reservation to run in."),
    click.option("-A", "--account", default="", help="Account to charge."),
    click.option("--qos", default="", help="Quality of service."),
    click.option("-C", "--constraint", default="", help="Features that the nodes must have."),
    click.option("--exclusive", is_flag=True, help="Share the nodes with no other job."),
    click.option(
        "-J", "--job-name", default="fabricgauge", show_default=True, help="What the job is called."
    ),
    click.option(
        "--sbatch", multiple=True, metavar="OPTION",
        help="A further option of sbatch, e.g. --sbatch=--mem=0; may be repeated.",
    ),
    click.option(
        "--launcher", type=click.Choice(["slurm", "srun"]), default="slurm", show_default=True,
        help="Who starts the ranks: MPI's own launcher by way of Slurm, or srun.",
    ),
)  # fmt: skip


def _job_options(command: Callable[..., None]) -> Callable[..., None]:
    return added(command, _JOB)


@click.command()
@click.option(
    "--lab",
    is_flag=False,
    flag_value=OWN_LAB,
    metavar="[NAME]",
    help="Submit to the Slurm of a lab: NAME, or one made for this check.",
)
@_job_options
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
        ctx.exit(_on_head(ctx, options))
    chosen = {**_NOT_OURS, **options}
    do = _resumed if options["resume"] else _submit
    ctx.exit(do(chosen, settings.load()))


def _on_head(ctx: click.Context, options: dict[str, Any]) -> int:
    """The same command on the head of a lab, whose Slurm answers there."""
    import subprocess
    from contextlib import nullcontext

    from fabricgauge.lab.reach import entry
    from fabricgauge.lab.spec import HEAD
    from fabricgauge.lab.state import load_complete

    own = options["lab"] == OWN_LAB
    where = own_lab(options["nodes"], slurm=True) if own else nullcontext(options["lab"])
    with where as name:
        again = (sys.executable, "-c", _AGAIN, "submit", *_said_again(ctx))
        # An argv list; and a terminal's interrupt reaches the child as well as us.
        return subprocess.run([*entry(load_complete(name), HEAD), *again], check=False).returncode


#: The command line as a program; what is installed as `fabricgauge` need not be in the path.
_AGAIN = "import sys; sys.argv[0] = 'fabricgauge'; from fabricgauge.cli.main import main; main()"


def _said_again(ctx: click.Context) -> Iterator[str]:
    """The options that were given, but --lab, each as one word."""
    default = click.core.ParameterSource.DEFAULT
    for one in ctx.command.params:
        name, value = one.name or "", ctx.params.get(one.name or "")
        if name == "lab" or ctx.get_parameter_source(name) is default:
            continue
        values = value if isinstance(value, tuple) else (value,)
        for each in values:
            flag = isinstance(one, click.Option) and one.is_flag
            yield one.opts[-1] if flag else f"{one.opts[-1]}={each}"


def _submit(options: dict[str, Any], said: "Settings") -> int:
    from fabricgauge.app.batch.job import Maker, first_plan
    from fabricgauge.app.batch.submit import hand_over
    from fabricgauge.app.site import about
    from fabricgauge.cli import batch as of
    from fabricgauge.cli import request
    from fabricgauge.store.jobs import write_batch

    batch = of.batch(options, said)
    engine = of.engine(batch, options)
    site = of.site(batch, said, engine)
    wanted = request.wanted(options, of.nobody_yet(batch))
    plan = first_plan(wanted, of.subnets(batch), batch.unpinned)
    root = options["output"]
    directory = request.directory({**options, "output": root.absolute() if root else None})
    submitted = False
    try:
        written = Maker(directory, engine, site.reach, batch.request).write(plan, plan.launches)
        if options["dry_run"]:
            _print(written)
            return 0
        write_batch(directory, about(site), batch)
        job = hand_over(written, directory)
        submitted = True
    finally:
        if not submitted:
            directory.discard()
    return _awaited(directory, job, options)


def _resumed(options: dict[str, Any], said: "Settings") -> int:
    from fabricgauge.app.batch.submit import unfinished
    from fabricgauge.cli import batch as of
    from fabricgauge.cli import request
    from fabricgauge.store.jobs import read_batch

    if options["dry_run"]:
        raise UsageError("--dry-run shows a new run's job; leave it out with --resume")
    directory = request.directory(options)
    batch = read_batch(directory)
    for number, state in unfinished(directory).items():
        raise UsageError(
            f"job {number} of this run is not over, it is {state}: wait for it with"
            f" fabricgauge collect {directory.path}, or end it with scancel {number}"
        )
    job = of.next_job(directory, batch, said, options)
    return _awaited(directory, job, options)


def _awaited(directory: "RunDirectory", job: "BatchJob", options: dict[str, Any]) -> int:
    """Wait for a job and for those that follow from it, unless nobody wants to wait."""
    from fabricgauge import settings
    from fabricgauge.app.batch.submit import MOST_FOLLOWING, suspects
    from fabricgauge.cli import batch as of
    from fabricgauge.store.jobs import read_batch

    click.echo(f"job {job.number} was submitted, for run {directory.path}", err=True)
    if options["no_wait"]:
        say("Collect it later with", "collect", str(directory.path))
        return 0
    said = settings.load()
    try:
        outcome = of.collected(directory, said, options)
        for _ in range(MOST_FOLLOWING):
            if directory.complete or not suspects(directory):
                break
            try:
                of.next_job(directory, read_batch(directory), said, options)
            except CannotRun as error:  # what was measured is shown all the same
                click.echo(f"suspects were not measured again: {error}", err=True)
                break
            outcome = of.collected(directory, said, options)
    except KeyboardInterrupt:
        click.echo("What was submitted goes on; scancel ends it.", err=True)
        say("Collect it later with", "collect", str(directory.path))
        return 130
    return shown(outcome, options)


def _print(written: "Written") -> None:
    import shlex

    command = ("sbatch", *written.options, str(written.script))
    click.echo(f"# {shlex.join(command)}".replace("\n", "\n# "))
    click.echo(written.script.read_text("utf-8"), nl=False)
