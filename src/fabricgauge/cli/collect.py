"""``fabricgauge collect``: what the jobs of a submitted run have left."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.measuring import Decorated, added
from fabricgauge.cli.nodes import OWN_LAB
from fabricgauge.cli.on_head import lab_outside, on_head
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.app.check import Outcome
    from fabricgauge.store.run_directory import RunDirectory

#: Jobs that are named to whoever interrupts.
MOST_NAMED = 10

_WHERE = (
    click.option(
        "-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
        help="Where runs are kept, seen by the nodes; default: $XDG_DATA_HOME/fabricgauge/runs.",
    ),
    click.option("--format", default="terminal", show_default=True, help="What to print."),
    click.option("-q", "--quiet", is_flag=True, help="Print the report only, no progress."),
)  # fmt: skip


def where_options(command: Decorated) -> Decorated:
    """Add where runs are kept, and how they are shown."""
    return added(command, _WHERE)


@click.command()
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="The lab whose Slurm has the jobs.")
@where_options
@click.pass_context
def collect(ctx: click.Context, /, run: str, **options: Any) -> None:
    """Take what the jobs of a submitted run left, judge it and report.

    Waits for jobs that are not over. RUN is a run directory, the beginning of its name, or
    `latest`.
    """
    from fabricgauge import settings
    from fabricgauge.cli.batch import collected
    from fabricgauge.cli.show import require_format
    from fabricgauge.store.run_directory import find

    require_format(options["format"])
    if options["lab"] is not None:
        ctx.exit(on_head(ctx, {"no_wait": False, "nodes": None, **options}))
    directory = find(options["output"] or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    try:
        outcome = collected(directory, settings.load(), options)
    except KeyboardInterrupt:
        ctx.exit(interrupted(directory))
    ctx.exit(shown(outcome, options))


def interrupted(directory: "RunDirectory") -> int:
    """Say what goes on without us; returns the exit status."""
    from fabricgauge.app.batch.numbers import cluster, numbers

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


def shown(outcome: "Outcome", options: dict[str, Any]) -> int:
    """Print the report; returns the exit status."""
    from fabricgauge.cli.show import show
    from fabricgauge.judge.judging import exit_status

    show(outcome.judged, outcome.path, options["format"])
    if not outcome.judged.run.complete:
        say_how_to_go_on(outcome.path)
    return exit_status(outcome.judged.overall)


def say_how_to_go_on(run: Path) -> None:
    """Where the measurements are, and which command makes those that are missing."""
    if lab_outside() == OWN_LAB:
        click.echo(f"What was measured is kept in {run}; the lab is removed.", err=True)
    else:
        say("What was measured is kept. Measure the rest with", "submit", "--resume", str(run))


def say(what: str, verb: str, *words: str) -> None:
    """A sentence and the command that it speaks of, on standard error."""
    import shlex

    lab = lab_outside()
    where = ("--lab", lab) if lab not in ("", OWN_LAB) else ()
    click.echo(f"{what}: {shlex.join(('fabricgauge', verb, *where, *words))}", err=True)
