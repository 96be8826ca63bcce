"""``fabricgauge collect``: judge the results of a submitted run."""

from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import combine_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import Printing
from fabricgauge.model.errors import UsageError
from fabricgauge.store import settings
from fabricgauge.store.run_directory import find

#: The directory of all runs, and how a run is shown.
result_options = combine_options(
    cli_options.output_option(
        "Directory of all runs; the nodes must share it. Default: $XDG_DATA_HOME/fabricgauge/runs."
    ),
    cli_options.format_option(),
    cli_options.fail_on_option,
    cli_options.quiet_option(),
    cli_options.verbose_option,
)


@click.command(context_settings=HELP_OPTIONS)
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="Lab whose Slurm has the jobs.")
@result_options
@click.pass_context
def collect(
    ctx: click.Context, /, run: str, lab: str | None, output: Path | None, quiet: bool,
    **printing: Any,
) -> None:  # fmt: skip
    """Take the results of a submitted run's jobs, judge them and report.

    Waits until all jobs have ended. RUN is a run directory, the beginning of its name, or `latest`.
    """
    from fabricgauge.cli.progress import progress_shown
    from fabricgauge.features.jobs.on_head import lab_outside, run_on_head
    from fabricgauge.features.jobs.options import show_when_complete
    from fabricgauge.store.holding import run_lock

    if lab is not None and not lab_outside():
        ctx.exit(run_on_head(lab))
    directory = find(output or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    with run_lock(directory), progress_shown(quiet) as progress:
        ctx.exit(show_when_complete(directory, Printing(**printing), progress, most_jobs=0))
