"""``fabricgauge compare``: one set of curves against another."""

import re
from typing import Any

import click

from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing
from fabricgauge.cli.vary import Comparing, vary, vary_options
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import exit_status

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
@of.format_option("comparison")
@of.fail_on_option
@of.to_option
@of.output_option()
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
    from fabricgauge.cli.show import printer
    from fabricgauge.compare.comparing import AS_OF_A_RUN
    from fabricgauge.report.content.comparison import KIND

    measured = bool(options["vary"] or options["resume"])
    tolerance = _share(options["tolerance"] or ("0%" if measured else "5%"))
    if measured:
        if a or b:
            raise UsageError("--vary measures what it compares; leave A and B out")
        if options["only"]:
            raise UsageError("--only narrows a comparison of A and B; with --vary use --patterns")
        printing = Printing(options["format"], options["quiet"], options["fail_on"], options["to"])
        how = Comparing(
            options["vary"], options["seed"], options["resume"],
            options["output"] or settings.run_root(), tolerance, printing,
        )  # fmt: skip
        request = of.request_of({**options, "resume": None})
        ctx.exit(vary(request, of.from_files(ctx), how))
    if not a or not b:
        raise UsageError("compare needs A and B, or --vary; see fabricgauge compare --help")
    print_report = printer(KIND, options["format"], options["to"])
    found = compared(a, b, options["output"] or settings.run_root(), tolerance, options["only"])
    print_report(found)
    ctx.exit(exit_status(AS_OF_A_RUN[found.outcome], options["fail_on"]))


def _share(text: str) -> float:
    """``5%`` as 0.05; the sign is asked for, since 0.05 could be meant either way."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0
