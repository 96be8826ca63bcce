"""``fabricgauge compare``: compare two sets of curves, stored or measured in turns."""

import re
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, lazy_function
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.model.errors import UsageError
from fabricgauge.model.features import load_role
from fabricgauge.model.verdict import exit_status
from fabricgauge.store import settings

if TYPE_CHECKING:
    from fabricgauge.compare.matching import Unlike

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")

#: Options that have an effect on every comparison of A and B, and on a prediction for them.
_STORED = ("a", "b", "output", "format", "to", "quiet", "verbose")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("a", default="")
@click.argument("b", default="")
@click.option("--tolerance", metavar="PERCENT",
              help="Allowed regression, relative to A. Default: 5%, with --vary 0%.")  # fmt: skip
@click.option("--only", default="", metavar="PATTERN|BENCHMARK,…",
              help="Compare only these curves, e.g. latency or osu_bw,osu_allreduce.")  # fmt: skip
@click.option("--pair", "unlike", multiple=True, metavar="CURVE=CURVE",
              help="Compare only these two unlike curves of A and B, e.g."
              " ib_send_lat=ib_write_lat. May be repeated.")  # fmt: skip
@click.option("--mix", metavar="PROFILE",
              help="Predict an application's communication time on A and on B, from a run of"
              " profile.")  # fmt: skip
@cli_options.format_option("comparison")
@cli_options.fail_on_option
@cli_options.to_option
@cli_options.verbose_option
@cli_options.output_option()
@click.option(
    "--vary", multiple=True, metavar="FACTOR=A,B",
    type=Parsed("factor", lazy_function("check.plan.design", "parse_factor")),
    help="Measure settings A and B in turns: mpi=openmpi,mpich, transport=sockets,ofi,mpi,"
    " provider=tcp,shm (libfabric), memory=host,cuda, buffers=single,multiple, compiler=gcc,clang,"
    " bind=core,none, numbers of ranks (ppn=1,2,4 or ranks=2,4,8) or of iperf3's connections"
    " (parallel=1,2,4), two builds of a suite (tool-path=DIR,DIR with --tool), or"
    " env:NAME=X,Y. Write a comma in X as \\,; an empty X leaves NAME unchanged. May be repeated:"
    " all combinations are measured.",
)  # fmt: skip
@cli_options.tool_options
@cli_options.node_options
@cli_options.lab_nodes_option
@cli_options.ppn_option
@cli_options.ssh_config_option
@cli_options.rank_order_option
@cli_options.seed_option
@click.option("--resume", metavar="DIR", help="Measure the rest of an interrupted --vary.")
@cli_options.quiet_option("Print only the result, no progress.")
@cli_options.network_options
@cli_options.memory_options
@cli_options.measure_options("10 of each combination, or more if --vary needs more")
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Compare B with A, curve by curve and size by size.

    A and B are each a run (a directory, an identity or its beginning, `latest`), a file with output
    of another suite, or the name of a published result (`ref:NAME` if a file or run has the same
    name).

    With --mix, predicts the time that an application's messages take on A and on B.

    With --vary, takes no A and B: measures all combinations of settings in turns and compares each
    value with the first value of its setting.

    Exit status: 1 if B is certainly worse than A by more than the tolerance; 0 if not; 3 if the
    data are not sufficient, B lacks a curve that A has, a side is INVALID, A and B are one
    measurement, or they have nothing to compare.
    """
    from fabricgauge.compare.comparing import AS_OF_A_RUN
    from fabricgauge.compare.sides import compare_operands
    from fabricgauge.judge.thresholds import thresholds_from

    root, only = options["output"] or settings.run_root(), options["only"]
    if options["vary"] or options["resume"]:
        if a or b:
            raise UsageError("--vary measures both sides itself; leave A and B out")
        if only or options["unlike"]:
            name = "--only" if only else "--pair"
            raise UsageError(f"{name} selects curves of A and B; with --vary use --patterns")
        if options["mix"]:
            raise UsageError("--mix predicts for A and B; it has no effect on --vary")
        vary = load_role("vary")
        ctx.exit(vary(ctx, options, root, _parse_percent(options["tolerance"] or "0%")))
    tolerance = _parse_percent(options["tolerance"] or "5%")
    if not a or not b:
        raise UsageError("compare needs A and B, or --vary; see fabricgauge compare --help")
    if options["mix"]:
        reason = "{} has no effect on a prediction by --mix"
        cli_options.refuse_without_effect(ctx, (*_STORED, "mix"), reason)
        load_role("predict")(a, b, root, options)
        return
    if only and options["unlike"]:
        raise UsageError("--pair names the curves to compare; leave --only out")
    unlike = [_parse_unlike(text) for text in options["unlike"]]
    effective = (*_STORED, "tolerance", "only", "unlike", "fail_on")
    reason = "{} has an effect only with --vary: A and B are already measured"
    cli_options.refuse_without_effect(ctx, effective, reason)
    configured = settings.load()
    limits = thresholds_from(configured.thresholds, configured.thresholds_origin)
    comparison = compare_operands(a, b, root, tolerance, only, limits, unlike)
    print_report("comparison", comparison, options["format"], options["to"])
    ctx.exit(exit_status(AS_OF_A_RUN[comparison.outcome], options["fail_on"]))


def _parse_unlike(text: str) -> "Unlike":
    from fabricgauge.compare.matching import Unlike

    left, _, right = (word.strip() for word in text.partition("="))
    if not left or not right:
        raise UsageError(f"--pair {text!r} is not CURVE=CURVE; write e.g. ib_send_lat=ib_write_lat")
    return Unlike(left, right)


def _parse_percent(text: str) -> float:
    """Return ``5%`` as 0.05; the sign is required, since 0.05 is ambiguous."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0
