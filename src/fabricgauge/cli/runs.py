"""``fabricgauge runs``: list stored runs."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.model.features import load_all
from fabricgauge.store import settings

if TYPE_CHECKING:
    from fabricgauge.model.run import StoredRun
    from fabricgauge.store.run_directory import RunDirectory


@click.command(context_settings=HELP_OPTIONS)
@click.option(
    "-n", "--last", type=click.IntRange(0), default=20, show_default=True, metavar="N",
    help="Show the newest N runs; 0 shows all.",
)  # fmt: skip
@cli_options.output_option("Directory of runs. Default: those of runs and of traced paths.")
@cli_options.format_option("runs")
@cli_options.to_option
def runs(last: int, output: Path | None, **options: Any) -> None:
    """List stored runs, the newest first: kind, start, nodes, verdict, directory.

    The verdict is that of the day of the measurement. `report RUN` judges a run again.
    """
    from fabricgauge.model.run import StoredRuns
    from fabricgauge.store.run_directory import run_directories

    roots = (output,) if output else (settings.run_root(), settings.path_root())
    directories = [directory for root in roots for directory in run_directories(root)]
    directories.sort(key=lambda directory: directory.identity, reverse=True)
    listed = tuple(map(_describe, islice(directories, last or None)))
    older = len(directories) - len(listed)
    stored = StoredRuns(tuple(map(str, roots)), listed, older)
    print_report("runs", stored, options["format"], options["to"])


def _describe(directory: "RunDirectory") -> "StoredRun":
    """Return a run as the feature describes it that wrote it, else as a measured run."""
    from fabricgauge.model.errors import StoreError
    from fabricgauge.store.run_directory import describe, describe_run

    try:
        described = (list_stored(directory) for list_stored in load_all("listed", directory.has))
        return next(filter(None, described), None) or describe_run(directory)
    except StoreError as error:
        return describe(directory, "", problem=str(error))
