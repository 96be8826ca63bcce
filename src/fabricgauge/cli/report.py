"""``fabricgauge report``: judge a stored run again and show it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import Printing, is_verbose, report_file, show, show_screen
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.features import load_all
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.verdict import exit_status
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory, find


@click.command(context_settings=HELP_OPTIONS)
@click.argument("run", default="latest")
@cli_options.output_option()
@cli_options.format_option()
@click.option("--pattern", default="", metavar="PATTERN",
              help="Print only the tables of this pattern, with --format osu or imb.")  # fmt: skip
@cli_options.against_option
@cli_options.fail_on_option
@cli_options.to_option
@cli_options.verbose_option
@click.pass_context
def report(
    ctx: click.Context, /, run: str, output: Path | None, pattern: str, against: str | None,
    **printing: Any,
) -> None:  # fmt: skip
    """Judge a stored run by today's rules and thresholds and show it.

    RUN is a directory, an identity or its beginning, or `latest`: anything that `runs` lists. The
    run directory does not change: its verdicts.json keeps the verdicts of the day of the
    measurement.
    """
    from fabricgauge.check.kept_screen import read_screen
    from fabricgauge.judge.thresholds import thresholds_from

    if pattern and pattern not in PAIR_PATTERNS:
        raise UsageError(f"no pattern {pattern!r}; choose from {', '.join(PAIR_PATTERNS)}")
    is_typed = ctx.get_parameter_source("pattern") is click.core.ParameterSource.COMMANDLINE
    if is_typed and pattern and printing["format"] not in ("osu", "imb"):
        raise UsageError(
            f"--pattern has no effect with --format {printing['format']}; use --format osu or imb"
        )
    directory = _find_stored(output, run)
    shown = (
        show_stored(directory, printing["format"], printing["to"])
        for show_stored in load_all("stored", directory.has)
    )
    outcome = next((outcome for outcome in shown if outcome is not None), None)
    if outcome is not None:
        ctx.exit(exit_status(outcome, printing["fail_on"]))
    configured = settings.load()
    thresholds = thresholds_from(configured.thresholds, configured.thresholds_origin)
    how = Printing(**printing)
    is_brief = how.format == "terminal" and not (against or is_verbose() or report_file())
    if is_brief and (kept := read_screen(directory, thresholds)):
        ctx.exit(show_screen(*kept, directory.path, how))
    from fabricgauge.check.conclude import conclude, describe_change, reference_curves
    from fabricgauge.report.visible import visible
    from fabricgauge.store.run_files import load

    judged = conclude(load(directory), thresholds, reference_curves(against))
    if change := describe_change(directory, judged):
        click.echo(visible(change), err=True)
    ctx.exit(show(judged, directory.path, how, pattern))


def _find_stored(output: Path | None, run: str) -> RunDirectory:
    """Return the run of that name, else the traced paths of that name.

    Raises:
        StoreError: neither exists.
    """
    root = output or settings.run_root()
    try:
        return find(root, run)
    except StoreError:
        if output or run == "latest" or not settings.path_root().is_dir():
            raise
        with suppress(StoreError):
            return find(settings.path_root(), run)
        raise
