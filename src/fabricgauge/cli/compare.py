"""``fabricgauge compare``: one set of curves against another."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.model.comparison import Comparison

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--tolerance", default="5%", show_default=True, metavar="PERCENT",
              help="By how much of A's figure B may be worse.")  # fmt: skip
@click.option("--only", default="", metavar="PATTERN|BENCHMARK",
              help="Compare these curves alone, e.g. latency or osu_allreduce.")  # fmt: skip
@click.option("--format", "format_", envvar="FABRICGAUGE_COMPARE_FORMAT", default="terminal",
              show_default=True, help="terminal, html, json, csv or markdown.")  # fmt: skip
@click.option("--to", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write to FILE instead of the terminal.")  # fmt: skip
@click.option(
    "-o",
    "--output",
    "root",
    envvar="FABRICGAUGE_COMPARE_OUTPUT",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs are kept; default: $XDG_DATA_HOME/fabricgauge/runs.",
)
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    a: str,
    b: str,
    tolerance: str,
    only: str,
    format_: str,
    to: Path | None,
    root: Path | None,
) -> None:
    """Hold B against A, curve by curve and size by size.

    A and B are each a run (a directory, an identity or its beginning, `latest`), a file
    with another suite's output, or a published result by its name (`ref:NAME` where a
    file or run is called the same).

    Exit status: 1 if B is surely worse than A by more than the tolerance, 0 if not, 3 if
    the data do not decide it or nothing could be compared.
    """
    from fabricgauge import settings
    from fabricgauge.app.compare import compared
    from fabricgauge.compare.comparing import EXIT_STATUS

    allowed = _share(tolerance)
    _require_format(format_)
    found = compared(a, b, root or settings.run_root(), allowed, only)
    _show(found, format_, to)
    ctx.exit(EXIT_STATUS[found.outcome])


def _share(text: str) -> float:
    """``5%`` as 0.05; the sign is asked for, since 0.05 could be meant either way."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0


def _require_format(name: str) -> None:
    from fabricgauge.report.comparison.formats import FORMATS

    if name not in FORMATS:
        raise UsageError(f"no comparison format {name!r}; there is {', '.join(FORMATS)}")


def _show(comparison: "Comparison", format_: str, to: Path | None) -> None:
    from fabricgauge.cli.show import deliver, width
    from fabricgauge.report.comparison.formats import FORMATS
    from fabricgauge.report.interface import Setting

    setting = Setting(width=width(), colour=to is None and sys.stdout.isatty())
    deliver(FORMATS[format_](comparison, setting), to)
