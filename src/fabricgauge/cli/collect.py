"""``fabricgauge collect``: what the jobs of a submitted run have left, and how one goes on."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as of
from fabricgauge.cli.options import Decorated, Printing, added
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.request import OWN_LAB

if TYPE_CHECKING:
    from fabricgauge.app.conclude import CheckOutcome
    from fabricgauge.store.run_directory import RunDirectory

#: Jobs that are named to whoever interrupts.
MOST_NAMED = 10

_WHERE = (
    of.output_option(
        "Where runs are kept, seen by the nodes; default: $XDG_DATA_HOME/fabricgauge/runs."
    ),
    of.format_option(),
    of.fail_on_option,
    of.quiet_option(),
)  # fmt: skip


def where_options(command: Decorated) -> Decorated:
    """Add where runs are kept, and how they are shown."""
    return added(command, _WHERE)


@click.command()
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="The lab whose Slurm has the jobs.")
@where_options
@click.pass_context
def collect(
    ctx: click.Context, /, run: str, lab: str | None, output: Path | None, **printing: Any
) -> None:
    """Take what the jobs of a submitted run left, judge it and report.

    Waits for jobs that are not over. RUN is a run directory, the beginning of its name, or
    `latest`.
    """
    from fabricgauge import settings
    from fabricgauge.app.batch.on_head import on_head
    from fabricgauge.cli.show import require_format
    from fabricgauge.store.holding import held
    from fabricgauge.store.run_directory import find

    require_format(printing["format"])
    if lab is not None:
        ctx.exit(on_head(lab, said_again(ctx)))
    directory = find(output or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    with held(directory):
        ctx.exit(followed(directory, Printing(**printing), most_jobs=0))


def said_again(ctx: click.Context) -> tuple[str, ...]:
    """The command line without --lab, each option as one word; what is no option comes last."""
    default = click.core.ParameterSource.DEFAULT
    words = [str(ctx.info_name)]
    for one in ctx.command.params:
        name, value = one.name or "", ctx.params.get(one.name or "")
        if name == "lab" or ctx.get_parameter_source(name) is default:
            continue
        if isinstance(one, click.Option):
            values = tuple(value or ()) if one.multiple else (value,)
            words += [one.opts[-1] if one.is_flag else f"{one.opts[-1]}={_word(v)}" for v in values]
    arguments = [one for one in ctx.command.params if isinstance(one, click.Argument)]
    said = (str(ctx.params[one.name or ""]) for one in arguments)
    return (*words, "--", *said) if arguments else tuple(words)


def _word(value: Any) -> str:
    """What an option was given, from what it was taken for."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


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


def followed(
    directory: "RunDirectory",
    printing: Printing,
    first: Callable[[], None] = lambda: None,
    most_jobs: int | None = None,
) -> int:
    """Do ``first``, wait for all jobs, measure suspects again, and show what came out.

    Where Slurm refuses what ``first`` submits, what it has is waited for all the same. At most
    ``most_jobs`` follow from what others found.

    Raises:
        AllStuck: it refuses, and what it has would be waited for without end.
    """
    from fabricgauge import settings
    from fabricgauge.app.batch.pair_queue import AllStuck
    from fabricgauge.app.batch.submit import collected
    from fabricgauge.cli.progress import bar
    from fabricgauge.report.visible import visible

    try:
        try:
            first()
        except AllStuck:
            say_how_to_go_on(directory.path)
            raise
        except CannotRun as error:
            click.echo(f"not all pairs were submitted: {visible(str(error))}", err=True)
        with bar(printing.quiet) as progress:
            outcome = collected(directory, settings.load(), progress, most_jobs)
    except KeyboardInterrupt:
        return interrupted(directory)
    return shown(outcome, printing)


def interrupted(directory: "RunDirectory") -> int:
    """Say what goes on without us; returns the exit status."""
    from fabricgauge.app.batch.numbers import cluster, numbers
    from fabricgauge.app.batch.on_head import lab_outside

    if lab_outside() == OWN_LAB:
        kept = "The lab is removed, and its jobs with it. What they left is kept in"
        click.echo(f"{kept} {directory.path}", err=True)
        return 130
    there = cluster(directory)
    which = (*((f"--clusters={there}",) if there else ()), *numbers(directory))
    few = which if len(which) <= MOST_NAMED else ()
    inside = ("fabricgauge", "lab", "exec", "--name", lab_outside(), "head", "--")
    command = " ".join((*(inside if lab_outside() else ()), "scancel", *few))
    click.echo(f"What was submitted goes on; {command} ends it.", err=True)
    say("Collect it later with", "collect", str(directory.path))
    return 130


def shown(outcome: "CheckOutcome", printing: Printing) -> int:
    """Print the report; returns the exit status."""
    from fabricgauge.cli.show import show

    status = show(outcome.judged, outcome.path, printing)
    if not outcome.judged.run.complete:
        say_how_to_go_on(outcome.path)
    return status


def say_how_to_go_on(run: Path) -> None:
    """Where the measurements are, and which command makes those that are missing."""
    from fabricgauge.app.batch.on_head import lab_outside

    if lab_outside() == OWN_LAB:
        click.echo(f"What was measured is kept in {run}; the lab is removed.", err=True)
    else:
        say("What was measured is kept. Measure the rest with", "submit", "--resume", str(run))


def say(what: str, verb: str, *words: str) -> None:
    """A sentence and the command that it speaks of, on standard error."""
    from fabricgauge.app.batch.on_head import lab_outside

    lab = lab_outside()
    where = ("--lab", lab) if lab not in ("", OWN_LAB) else ()
    click.echo(f"{what}: {shlex.join(('fabricgauge', verb, *where, *words))}", err=True)
