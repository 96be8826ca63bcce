"""``fabricgauge compare --vary``: stacks and settings measured in turns."""

import shlex
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing, together
from fabricgauge.model.errors import StoreError
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.verdict import exit_status

if TYPE_CHECKING:
    from fabricgauge.app.target import Target
    from fabricgauge.model.varied import Design, Varied
    from fabricgauge.store.run_directory import RunDirectory

#: Enough to tell 3 % from chance where launches differ by 2 %.
USUAL_BLOCKS = 10

#: What a comparison by measuring needs.
vary_options = together(
    click.option(
        "--vary", multiple=True, metavar="FACTOR=A,B",
        help="Measure A and B in turns: mpi=openmpi,mpich, compiler=gcc,clang, bind=core,none,"
        " env:NAME=X,Y with \\, for a comma in X, an empty X for NAME as it is; several are"
        " combined.",
    ),
    click.option("-w", "--nodelist", metavar="NODES", help="With --vary: nodes, e.g. c[1-2]."),
    of.exclude_option,
    click.option(
        "-N", "--nodes", type=click.IntRange(2, 128),
        help="How many nodes a lab made for this has.  [default: 2]",
    ),
    of.ppn_option,
    of.lab_option("Measure on a virtual cluster: NAME, or one made for this."),
    of.launcher_option,
    of.ssh_config_option,
    of.rank_order_option,
    click.option(
        "--seed", type=click.IntRange(0), default=1, show_default=True,
        help="Seed of the order of launches.",
    ),
    click.option("--resume", metavar="DIR", help="Finish a comparison that was broken off."),
    of.quiet_option("Print the result only, no progress."),
    of.network_options,
    of.measure_options,
)  # fmt: skip


class Comparing(msgspec.Struct, frozen=True):
    """How a comparison by measuring is made and told; ``resume`` names one that was broken off."""

    vary: tuple[str, ...]
    seed: int
    resume: str | None
    root: Path
    tolerance: float
    printing: Printing


def vary(request: MeasurementRequest, from_files: Collection[str], how: Comparing) -> int:
    """Measure all combinations in turns and show what differs; returns the exit status."""
    from fabricgauge import settings
    from fabricgauge.app.target import located
    from fabricgauge.cli.progress import bar
    from fabricgauge.cli.show import printer
    from fabricgauge.compare.varying import AS_OF_A_RUN
    from fabricgauge.report.content.varied import KIND
    from fabricgauge.store.holding import held
    from fabricgauge.store.run_directory import RunDirectory, find

    printer(KIND, how.printing.format)
    with (
        bar(how.printing.quiet) as progress,
        located(request, settings.load(), from_files, None, progress) as target,
    ):
        made = None if how.resume else _design(how, target.request.launches)
        directory = find(how.root, how.resume) if how.resume else RunDirectory.create(how.root)
        with held(directory):
            found, interrupted = _measured(target, directory, how, made)
            progress.close()
            _show(found, directory, how.printing)
    if interrupted:
        rest = () if how.resume else ("--resume", str(directory.path))
        again = shlex.join(("fabricgauge", *sys.argv[1:], *rest))
        click.echo(f"What was measured is kept. Measure the rest with: {again}", err=True)
    return 130 if interrupted else exit_status(AS_OF_A_RUN[found.finding], how.printing.fail_on)


def _measured(
    target: "Target", directory: "RunDirectory", how: Comparing, made: "Design | None"
) -> "tuple[Varied, bool]":
    from fabricgauge.app import vary as app
    from fabricgauge.plan.design import factor

    if made is None:
        said = tuple(factor(one) for one in how.vary)
        design, arms = app.take_up(target, directory, said)
    else:
        try:
            design, arms = app.begin(made, target, directory)
        except BaseException:
            directory.discard(copies=True)
            raise
    return app.run(design, arms, directory, how.tolerance)


def _design(how: Comparing, launches: int) -> "Design":
    from fabricgauge.compare.varying import least_blocks
    from fabricgauge.plan.design import design, factor

    factors = tuple(factor(one) for one in how.vary)
    least = least_blocks(factors)
    blocks = launches or max(USUAL_BLOCKS, least)
    if blocks < least:
        click.echo(
            f"--launches {blocks}: no effect can be told from chance with fewer than {least}"
            " launches of each; what is measured will not decide anything",
            err=True,
        )
    return design(factors, blocks, how.seed)


def _show(found: "Varied", directory: "RunDirectory", printing: Printing) -> None:
    from fabricgauge.cli.show import page, printer
    from fabricgauge.report.content.varied import KIND

    printer(KIND, printing.format, printing.to)(found)
    told = str(directory.path / "report.html")
    try:
        directory.write_bytes("report.html", page(KIND, found).encode())
    except StoreError as error:
        told = f"none: {error}"
    click.echo(f"Comparison   {directory.path}\nHTML report  {told}", err=True)
