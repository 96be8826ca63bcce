"""``fabricgauge report``: show a stored run, or judge it again."""

from pathlib import Path
from typing import Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing
from fabricgauge.cli.show import print_report, show
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.scaled import SCALED
from fabricgauge.store.run_directory import RunDirectory, find


@click.command()
@click.argument("run", default="latest")
@of.output_option()
@of.format_option()
@click.option("--pattern", default="", metavar="PATTERN",
              help="Only its tables, in the formats osu and imb.")  # fmt: skip
@of.against_option
@of.fail_on_option
@of.to_option
@click.pass_context
def report(
    ctx: click.Context, /, run: str, output: Path | None, pattern: str, against: str | None,
    **printing: Any,
) -> None:  # fmt: skip
    """Judge a stored run by today's rules and thresholds and show it.

    RUN is a directory, an identity or its beginning, or `latest`. The run directory is
    not changed: the verdicts of the day it was measured stay in its verdicts.json.
    """
    from fabricgauge.app.conclude import conclude, reference_curves
    from fabricgauge.judge.thresholds import thresholds_from
    from fabricgauge.store.run_files import load

    if pattern and pattern not in PAIR_PATTERNS:
        raise UsageError(f"no pattern {pattern!r}; there is {', '.join(PAIR_PATTERNS)}")
    directory = find(output or settings.run_root(), run)
    if _shown_as_application(directory, printing["format"], printing["to"]):
        return
    said = settings.load()
    thresholds = thresholds_from(said.thresholds, said.thresholds_origin)
    judged = conclude(load(directory), thresholds, reference_curves(against))
    ctx.exit(show(judged, directory.path, Printing(**printing), pattern))


def _shown_as_application(directory: RunDirectory, name: str, to: Path | None) -> bool:
    """Whether the directory holds an application's profile or scaling, which is then printed."""
    from fabricgauge.app.profile import is_profile, profiles_at, require_recorded
    from fabricgauge.app.scale import stored

    place = directory.path
    if (place / SCALED).exists():
        print_report("scale", stored(directory), name, to, run_directory=str(place))
    elif is_profile(place):
        found = require_recorded(profiles_at(place), 0)
        print_report("profile", found, name, to, run_directory=str(place))
    else:
        return False
    return True
