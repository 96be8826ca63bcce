"""``fabricgauge collect``: what the jobs of a submitted run have left."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.measuring import Decorated, added
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.app.check import Outcome

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
    directory = find(options["output"] or settings.run_root(), run)
    if directory.complete:
        raise UsageError(f"{directory.identity} is complete: see fabricgauge report {run}")
    ctx.exit(shown(collected(directory, settings.load(), options), options))


def shown(outcome: "Outcome", options: dict[str, Any]) -> int:
    """Print the report; returns the exit status."""
    from fabricgauge.cli.show import show
    from fabricgauge.judge.judging import exit_status

    show(outcome.judged, outcome.path, options["format"])
    if not outcome.judged.run.complete:
        rest = ("submit", "--resume", str(outcome.path))
        say("What was measured is kept. Measure the rest with", *rest)
    return exit_status(outcome.judged.overall)


def say(what: str, *words: str) -> None:
    """A sentence and the command that it speaks of, on standard error."""
    import shlex

    click.echo(f"{what}: {shlex.join(('fabricgauge', *words))}", err=True)
