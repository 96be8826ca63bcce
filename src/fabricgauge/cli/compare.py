"""``fabricgauge compare``: compare two sets of curves, stored or measured in turns."""

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, lazy_function
from fabricgauge.cli.show import page, print_report
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.verdict import exit_status
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory, find

if TYPE_CHECKING:
    from fabricgauge.model.varied import Design, Factor, Varied

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")

#: Options that have an effect on every comparison of A and B, and on a prediction for them.
_STORED = ("a", "b", "output", "format", "to", "quiet")

#: Default number of blocks of ``--vary``: it detects 3 % if launches differ by 2 %.
USUAL_BLOCKS = 10


@click.command()
@click.argument("a", default="")
@click.argument("b", default="")
@click.option("--tolerance", metavar="PERCENT",
              help="Allowed regression, relative to A. Default: 5%, with --vary 0%.")  # fmt: skip
@click.option("--only", default="", metavar="PATTERN|BENCHMARK,…",
              help="Compare only these curves, e.g. latency or osu_bw,osu_allreduce.")  # fmt: skip
@click.option("--mix", metavar="PROFILE",
              help="Predict an application's communication time on A and on B, from a run of"
              " profile.")  # fmt: skip
@cli_options.format_option("comparison")
@cli_options.fail_on_option
@cli_options.to_option
@cli_options.output_option()
@click.option(
    "--vary", multiple=True, metavar="FACTOR=A,B",
    type=Parsed("factor", lazy_function("check.plan.design", "parse_factor")),
    help="Measure settings A and B in turns: mpi=openmpi,mpich, transport=sockets,ofi,mpi,"
    " provider=tcp,shm (libfabric), memory=host,cuda, compiler=gcc,clang, bind=core,none, or"
    " env:NAME=X,Y. Write a comma in X as \\,; an empty X leaves NAME unchanged. May be repeated:"
    " all combinations are measured.",
)  # fmt: skip
@cli_options.nodelist_option()
@cli_options.exclude_option
@cli_options.lab_nodes_option
@cli_options.ppn_option
@cli_options.lab_option("Measure on a virtual cluster: NAME, or a new one for this command.")
@cli_options.launcher_option
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
    data are not sufficient, B lacks a curve that A has, a side is INVALID, or A and B have nothing
    to compare.
    """
    from fabricgauge.compare.comparing import AS_OF_A_RUN
    from fabricgauge.compare.sides import compare_operands
    from fabricgauge.judge.thresholds import thresholds_from

    root, only = options["output"] or settings.run_root(), options["only"]
    if options["vary"] or options["resume"]:
        if a or b:
            raise UsageError("--vary measures both sides itself; leave A and B out")
        if only:
            raise UsageError("--only selects curves of A and B; with --vary use --patterns")
        if options["mix"]:
            raise UsageError("--mix predicts for A and B; it has no effect on --vary")
        ctx.exit(_vary(ctx, options, root, _parse_percent(options["tolerance"] or "0%")))
    tolerance = _parse_percent(options["tolerance"] or "5%")
    if not a or not b:
        raise UsageError("compare needs A and B, or --vary; see fabricgauge compare --help")
    if options["mix"]:
        reason = "{} has no effect on a prediction by --mix"
        cli_options.refuse_without_effect(ctx, (*_STORED, "mix"), reason)
        _predict(a, b, root, options)
        return
    effective = (*_STORED, "tolerance", "only", "fail_on")
    reason = "{} has an effect only with --vary: A and B are already measured"
    cli_options.refuse_without_effect(ctx, effective, reason)
    configured = settings.load()
    limits = thresholds_from(configured.thresholds, configured.thresholds_origin)
    comparison = compare_operands(a, b, root, tolerance, only, limits)
    print_report("comparison", comparison, options["format"], options["to"])
    ctx.exit(exit_status(AS_OF_A_RUN[comparison.outcome], options["fail_on"]))


def _predict(a: str, b: str, root: Path, options: dict[str, Any]) -> None:
    """Print the communication time of an application on both sides."""
    from fabricgauge.compare.sides import find_side, with_doubts
    from fabricgauge.features.application.prediction import predict
    from fabricgauge.features.application.profile import find_profile

    mix = find_profile(options["mix"], root)
    sides = find_side(a, root), find_side(b, root)
    side_a, side_b = map(with_doubts, sides)
    invalid = [
        f"{letter} is {reason}"
        for letter, doubted_side in (("A", side_a), ("B", side_b))
        for reason in doubted_side.invalid[:1]
    ]
    prediction = predict(
        mix, side_a.name, sides[0].curves, side_b.name, sides[1].curves,
        tuple(dict.fromkeys((*side_a.notes, *side_b.notes))), invalid,
    )  # fmt: skip
    print_report("prediction", prediction, options["format"], options["to"])


def _parse_percent(text: str) -> float:
    """Return ``5%`` as 0.05; the sign is required, since 0.05 is ambiguous."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0


def _vary(ctx: click.Context, options: dict[str, Any], root: Path, tolerance: float) -> int:
    """Measure all combinations in turns, show the differences, return the exit status."""
    from fabricgauge.check.target import locate_target
    from fabricgauge.cli.progress import progress_shown
    from fabricgauge.features.vary import vary as app
    from fabricgauge.features.vary.varying import AS_OF_A_RUN
    from fabricgauge.store.holding import run_lock

    factors, resume = options["vary"], options["resume"]
    typed = ctx.get_parameter_source("seed") is click.core.ParameterSource.COMMANDLINE
    seed = options["seed"] if typed else None
    request = cli_options.build_request({**options, "resume": None})
    from_files = cli_options.names_from_files(ctx)
    with (
        progress_shown(options["quiet"]) as progress,
        locate_target(request, settings.load(), from_files, None, progress) as target,
    ):
        new_design = None
        if not resume:
            new_design = _plan_design(factors, options["seed"], target.request.launches)
        directory = find(root, resume) if resume else RunDirectory.create(root)
        with run_lock(directory):
            if new_design:
                design, arms = app.begin(new_design, target, directory)
            else:
                design, arms = app.take_up(target, directory, factors, seed)
            comparison, interrupted = app.run(design, arms, directory, tolerance)
            progress.close()
            print_report("varied", comparison, options["format"], options["to"])
            _write_page(comparison, directory)
    if interrupted:
        resume_words = () if resume else ("--resume", str(directory.path))
        command = shlex.join(("fabricgauge", *sys.argv[1:], *resume_words))
        click.echo(f"Finished measurements are kept. Measure the rest with: {command}", err=True)
    return 130 if interrupted else exit_status(AS_OF_A_RUN[comparison.finding], options["fail_on"])


def _plan_design(factors: "tuple[Factor, ...]", seed: int, launches: int) -> "Design":
    from fabricgauge.check.plan.design import make_design
    from fabricgauge.features.vary.varying import least_blocks

    least = least_blocks(factors)
    blocks = launches or max(USUAL_BLOCKS, least)
    if blocks < least:
        click.echo(
            f"--launches {blocks} is too small: an effect is certain only from {least} launches of"
            " each combination on; this comparison will stay undecided",
            err=True,
        )
    return make_design(factors, blocks, seed)


def _write_page(comparison: "Varied", directory: RunDirectory) -> None:
    html_file = str(directory.path / "report.html")
    try:
        directory.write_bytes("report.html", page("varied", comparison))
    except StoreError as error:
        html_file = f"none: {error}"
    click.echo(f"Comparison   {directory.path}\nHTML report  {html_file}", err=True)
