"""``fabricgauge report``: show a stored run, or judge it again."""

from pathlib import Path

import click


@click.command()
@click.argument("run", default="latest")
@click.option(
    "-o",
    "--output",
    "root",
    envvar="FABRICGAUGE_REPORT_OUTPUT",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs are kept; default: $XDG_DATA_HOME/fabricgauge/runs.",
)
@click.option(
    "--format",
    "format_",
    envvar="FABRICGAUGE_REPORT_FORMAT",
    default="terminal",
    show_default=True,
    help="terminal, html, json, csv, markdown, junit, prometheus, osu or imb.",
)
@click.option("--pattern", default="", metavar="PATTERN",
              help="Only its tables, in the formats osu and imb.")  # fmt: skip
@click.option("--against", metavar="NAME", help="A reference whose curves stand beside yours.")
@click.option("--to", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write to FILE instead of the terminal.")  # fmt: skip
@click.pass_context
def report(
    ctx: click.Context,
    /,
    run: str,
    root: Path | None,
    format_: str,
    pattern: str,
    against: str | None,
    to: Path | None,
) -> None:
    """Judge a stored run by today's rules and thresholds and show it.

    RUN is a directory, an identity or its beginning, or `latest`. The run directory is
    not changed: the verdicts of the day it was measured stay in its verdicts.json.
    """
    from fabricgauge import settings
    from fabricgauge.app.conclude import conclude, reference_curves
    from fabricgauge.cli.show import require_format, show
    from fabricgauge.judge.judging import exit_status
    from fabricgauge.judge.thresholds import thresholds_from
    from fabricgauge.model.errors import UsageError
    from fabricgauge.model.pattern import PAIR_PATTERNS
    from fabricgauge.store.run_directory import find
    from fabricgauge.store.run_files import load

    require_format(format_)
    if pattern and pattern not in PAIR_PATTERNS:
        raise UsageError(f"no pattern {pattern!r}; there is {', '.join(PAIR_PATTERNS)}")
    directory = find(root or settings.run_root(), run)
    said = settings.load()
    thresholds = thresholds_from(said.thresholds, said.thresholds_origin)
    judged = conclude(load(directory), thresholds, reference_curves(against))
    show(judged, directory.path, format_, to, pattern)
    ctx.exit(exit_status(judged.overall))
