"""``fabricgauge compare``: one set of curves against another."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.options import from_files, request_of
from fabricgauge.cli.vary import Comparing, vary, vary_options
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.model.comparison import Comparison

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")


@click.command()
@click.argument("a", default="")
@click.argument("b", default="")
@click.option(
    "--tolerance",
    metavar="PERCENT",
    help="Allowed regression, relative to A; default: 5%, with --vary 0%.",
)
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
@vary_options
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Hold B against A, curve by curve and size by size.

    A and B are each a run (a directory, an identity or its beginning, `latest`), a file
    with another suite's output, or a published result by its name (`ref:NAME` where a
    file or run is called the same).

    With --vary there is no A and B: all combinations of stacks and settings are measured now,
    in turns, and every level is held against the first of its factor.

    Exit status: 1 if B is surely worse than A by more than the tolerance, 0 if not, 3 if
    the data do not decide it or nothing could be compared.
    """
    from fabricgauge import settings
    from fabricgauge.app.compare import compared
    from fabricgauge.compare.comparing import EXIT_STATUS

    measured = bool(options["vary"] or options["resume"])
    tolerance = _share(options["tolerance"] or ("0%" if measured else "5%"))
    if measured:
        if a or b:
            raise UsageError("--vary measures what it compares; leave A and B out")
        if options["only"]:
            raise UsageError("--only narrows a comparison of A and B; with --vary use --patterns")
        root = options["root"] or settings.run_root()
        how = Comparing(
            options["vary"], options["seed"], options["resume"], root, tolerance,
            options["format_"], options["to"], options["quiet"],
        )  # fmt: skip
        request = request_of({**options, "resume": None})
        ctx.exit(vary(request, from_files(ctx), how))
    if not a or not b:
        raise UsageError("compare needs A and B, or --vary; see fabricgauge compare --help")
    _require_format(options["format_"])
    found = compared(a, b, options["root"] or settings.run_root(), tolerance, options["only"])
    _show(found, options["format_"], options["to"])
    ctx.exit(EXIT_STATUS[found.outcome])


def _share(text: str) -> float:
    """``5%`` as 0.05; the sign is asked for, since 0.05 could be meant either way."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0


def _require_format(name: str) -> None:
    from fabricgauge.report.content.comparison import KIND
    from fabricgauge.report.formats import formats_of

    formats = formats_of(KIND)
    if name not in formats:
        raise UsageError(f"no comparison format {name!r}; there is {', '.join(formats)}")


def _show(comparison: "Comparison", format_: str, to: Path | None) -> None:
    from fabricgauge.cli.show import deliver, width
    from fabricgauge.report.content.comparison import KIND
    from fabricgauge.report.formats import formats_of
    from fabricgauge.report.interface import Setting

    setting = Setting(width=width(), colour=to is None and sys.stdout.isatty())
    deliver(formats_of(KIND)[format_](comparison, setting), to)
