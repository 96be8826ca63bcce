"""``fabricgauge collect``: what the jobs of a submitted run have left."""

from pathlib import Path
from typing import Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing, together
from fabricgauge.model.errors import UsageError
from fabricgauge.store.run_directory import find

#: Where runs are kept, and how they are shown.
where_options = together(
    of.output_option(
        "Where runs are kept, seen by the nodes; default: $XDG_DATA_HOME/fabricgauge/runs."
    ),
    of.format_option(),
    of.fail_on_option,
    of.quiet_option(),
)


@click.command()
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="The lab whose Slurm has the jobs.")
@where_options
@click.pass_context
def collect(
    ctx: click.Context, /, run: str, lab: str | None, output: Path | None, quiet: bool,
    **printing: Any,
) -> None:  # fmt: skip
    """Take what the jobs of a submitted run left, judge it and report.

    Waits for jobs that are not over. RUN is a run directory, the beginning of its name, or
    `latest`.
    """
    from fabricgauge.app.batch.on_head import lab_outside, on_head
    from fabricgauge.cli.jobs import followed
    from fabricgauge.cli.progress import bar
    from fabricgauge.store.holding import held

    if lab is not None and not lab_outside():
        ctx.exit(on_head(lab))
    directory = find(output or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    with held(directory), bar(quiet) as progress:
        ctx.exit(followed(directory, Printing(**printing), progress, most_jobs=0))
