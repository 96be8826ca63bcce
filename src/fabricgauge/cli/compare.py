"""``fabricgauge compare``: one set of curves against another, stored or measured in turns."""

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.show import page, print_report
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.verdict import exit_status
from fabricgauge.store.run_directory import RunDirectory, find

if TYPE_CHECKING:
    from fabricgauge.model.varied import Design, Factor, Varied

_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")

#: What a comparison of A and B heeds, or a prediction for them.
_STORED = ("a", "b", "output", "format", "to", "quiet")

#: Enough to tell 3 % from chance where launches differ by 2 %.
USUAL_BLOCKS = 10


@click.command()
@click.argument("a", default="")
@click.argument("b", default="")
@click.option("--tolerance", metavar="PERCENT",
              help="Allowed regression, relative to A; default: 5%, with --vary 0%.")  # fmt: skip
@click.option("--only", default="", metavar="PATTERN|BENCHMARK,…",
              help="Compare these curves alone, e.g. latency or osu_bw,osu_allreduce.")  # fmt: skip
@click.option("--mix", metavar="PROFILE",
              help="Weigh A and B by what an application sent: a run of profile.")  # fmt: skip
@of.format_option("comparison")
@of.fail_on_option
@of.to_option
@of.output_option()
@click.option(
    "--vary", multiple=True, metavar="FACTOR=A,B",
    type=of.Parsed("factor", of.lazily("plan.design", "factor")),
    help="Measure A and B in turns: mpi=openmpi,mpich, transport=sockets,ofi,mpi,"
    " provider=tcp,shm (of ofi), memory=host,cuda, compiler=gcc,clang, bind=core,none,"
    " env:NAME=X,Y with \\, for a comma in X, an empty X for NAME as it is; several are"
    " combined.",
)  # fmt: skip
@of.nodelist_option
@of.exclude_option
@of.lab_nodes_option
@of.ppn_option
@of.lab_option("Measure on a virtual cluster: NAME, or one made for this.")
@of.launcher_option
@of.ssh_config_option
@of.rank_order_option
@of.seed_option
@click.option("--resume", metavar="DIR", help="Finish a comparison that was broken off.")
@of.quiet_option("Print the result only, no progress.")
@of.network_options
@of.memory_options
@of.measure_options
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Compare B with A, curve by curve and size by size.

    A and B are each a run (a directory, an identity or its beginning, `latest`), a file
    with another suite's output, or a published result by its name (`ref:NAME` where a
    file or run is called the same).

    With --mix it predicts the time that an application's messages take on A and on B.

    With --vary there is no A and B: all combinations of stacks and settings are measured now,
    in turns, and every level is compared with the first of its factor.

    Exit status: 1 if B is surely worse than A by more than the tolerance, 0 if not, 3 if
    the data do not decide it, B lacks a curve that A has, a side is INVALID, or nothing
    could be compared.
    """
    from fabricgauge.app.compare import compared
    from fabricgauge.compare.comparing import AS_OF_A_RUN
    from fabricgauge.judge.thresholds import thresholds_from

    root, only = options["output"] or settings.run_root(), options["only"]
    if options["vary"] or options["resume"]:
        if a or b:
            raise UsageError("--vary measures what it compares; leave A and B out")
        if only:
            raise UsageError("--only narrows a comparison of A and B; with --vary use --patterns")
        if options["mix"]:
            raise UsageError("--mix predicts for A and B; it has no effect on --vary")
        ctx.exit(_vary(ctx, options, root, _share(options["tolerance"] or "0%")))
    tolerance = _share(options["tolerance"] or "5%")
    if not a or not b:
        raise UsageError("compare needs A and B, or --vary; see fabricgauge compare --help")
    if options["mix"]:
        of.require_heeded(ctx, (*_STORED, "mix"), "{} has no effect on a prediction by --mix")
        _predict(a, b, root, options)
        return
    heeded = (*_STORED, "tolerance", "only", "fail_on")
    of.require_heeded(ctx, heeded, "{} is for --vary: A and B are measured already")
    configured = settings.load()
    limits = thresholds_from(configured.thresholds, configured.thresholds_origin)
    found = compared(a, b, root, tolerance, only, limits)
    print_report("comparison", found, options["format"], options["to"])
    ctx.exit(exit_status(AS_OF_A_RUN[found.outcome], options["fail_on"]))


def _predict(a: str, b: str, root: Path, options: dict[str, Any]) -> None:
    """The time in communication of an application on both."""
    from fabricgauge.app.compare import side, with_doubts
    from fabricgauge.app.profile import profile_named
    from fabricgauge.compare.prediction import predict

    mix = profile_named(options["mix"], root)
    sides = side(a, root), side(b, root)
    one, other = map(with_doubts, sides)
    invalid = [
        f"{name} is {why}"
        for name, each in zip("AB", (one, other), strict=True)
        for why in each.invalid[:1]
    ]
    found = predict(
        mix, one.name, sides[0].curves, other.name, sides[1].curves,
        tuple(dict.fromkeys((*one.notes, *other.notes))), invalid,
    )  # fmt: skip
    print_report("prediction", found, options["format"], options["to"])


def _share(text: str) -> float:
    """``5%`` as 0.05; the sign is asked for, since 0.05 could be meant either way."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a tolerance; write e.g. 5% or 2.5%, below 100%")
    return float(match[1]) / 100.0


def _vary(ctx: click.Context, options: dict[str, Any], root: Path, tolerance: float) -> int:
    """Measure all combinations in turns and show what differs; returns the exit status."""
    from fabricgauge.app import vary as app
    from fabricgauge.app.target import located
    from fabricgauge.cli.progress import bar
    from fabricgauge.compare.varying import AS_OF_A_RUN
    from fabricgauge.store.holding import held

    factors, resume = options["vary"], options["resume"]
    by_hand = ctx.get_parameter_source("seed") is click.core.ParameterSource.COMMANDLINE
    seed = options["seed"] if by_hand else None
    request = of.request_of({**options, "resume": None})
    with (
        bar(options["quiet"]) as progress,
        located(request, settings.load(), of.from_files(ctx), None, progress) as target,
    ):
        made = None if resume else _design(factors, options["seed"], target.request.launches)
        directory = find(root, resume) if resume else RunDirectory.create(root)
        with held(directory):
            begun = app.begin(made, target, directory) if made else None
            design, arms = begun or app.take_up(target, directory, factors, seed)
            found, interrupted = app.run(design, arms, directory, tolerance)
            progress.close()
            print_report("varied", found, options["format"], options["to"])
            _keep_page(found, directory)
    if interrupted:
        rest = () if resume else ("--resume", str(directory.path))
        again = shlex.join(("fabricgauge", *sys.argv[1:], *rest))
        click.echo(f"What was measured is kept. Measure the rest with: {again}", err=True)
    return 130 if interrupted else exit_status(AS_OF_A_RUN[found.finding], options["fail_on"])


def _design(factors: "tuple[Factor, ...]", seed: int, launches: int) -> "Design":
    from fabricgauge.compare.varying import least_blocks
    from fabricgauge.plan.design import design

    least = least_blocks(factors)
    blocks = launches or max(USUAL_BLOCKS, least)
    if blocks < least:
        click.echo(
            f"--launches {blocks}: no effect can be told from chance with fewer than {least}"
            " launches of each; what is measured will not decide anything",
            err=True,
        )
    return design(factors, blocks, seed)


def _keep_page(found: "Varied", directory: RunDirectory) -> None:
    told = str(directory.path / "report.html")
    try:
        directory.write_bytes("report.html", page("varied", found))
    except StoreError as error:
        told = f"none: {error}"
    click.echo(f"Comparison   {directory.path}\nHTML report  {told}", err=True)
