"""``fabricgauge compare --vary``: stacks and settings measured in turns."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.measuring import Decorated, added, measure_options, network_options
from fabricgauge.cli.nodes import LAUNCHERS, OWN_LAB, reached
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.cli.nodes import Reached
    from fabricgauge.model.varied import Design, Varied
    from fabricgauge.settings import Settings

#: Enough to tell 3 % from chance where launches differ by 2 %.
USUAL_BLOCKS = 10

#: Options of ``check`` that a comparison cannot have, as the code that reads both expects them.
_NOT_OURS: dict[str, Any] = {
    "tool": None, "sim": None, "sim_fault": (), "sim_seed": 1, "sim_noise": 0.0,
    "topology": None, "tool_path": None, "budget": None, "concurrent": 0,
}  # fmt: skip

_WHERE = (
    click.option(
        "--vary", multiple=True, metavar="FACTOR=A,B",
        help="Measure A and B in turns: mpi=openmpi,mpich, compiler=gcc,clang, bind=core,none,"
        " env:NAME=X,Y with \\, for a comma in X, an empty X for NAME as it is; several are"
        " combined.",
    ),
    click.option("-w", "--nodelist", metavar="NODES", help="With --vary: nodes, e.g. c[1-2]."),
    click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out."),
    click.option(
        "-N", "--nodes", type=click.IntRange(2, 128),
        help="How many nodes a lab made for this has.  [default: 2]",
    ),
    click.option(
        "--ppn", type=click.IntRange(1, 1024), default=1, show_default=True,
        help="Ranks on each node.",
    ),
    click.option(
        "--lab", is_flag=False, flag_value=OWN_LAB, metavar="[NAME]",
        help="Measure on a virtual cluster: NAME, or one made for this.",
    ),
    click.option("--launcher", type=click.Choice(LAUNCHERS), help="How nodes are reached."),
    click.option(
        "--ssh-config", type=click.Path(dir_okay=False, exists=True), metavar="FILE",
        help="Configuration for ssh instead of your own.",
    ),
    click.option("--place", metavar="NODES", help="Nodes of ranks 0 and 1 in that order."),
    click.option(
        "--seed", type=click.IntRange(0), default=1, show_default=True,
        help="Decides about the order of launches.",
    ),
    click.option("--resume", metavar="DIR", help="Finish a comparison that was broken off."),
    click.option("-q", "--quiet", is_flag=True, help="Print the result only, no progress."),
)  # fmt: skip


def vary_options(command: Decorated) -> Decorated:
    """Add what a comparison by measuring needs."""
    return added(network_options(measure_options(command)), _WHERE)


def vary(options: dict[str, Any], tolerance: float) -> int:
    """Measure all combinations in turns and show what differs; returns the exit status."""
    from fabricgauge import settings

    said = settings.load()
    chosen = {**_NOT_OURS, **options}
    _require_format(chosen["format_"])
    if chosen["only"]:
        raise UsageError("--only narrows a comparison of A and B; with --vary use --patterns")
    with reached(chosen) as hosts:
        return _measured(chosen, said, hosts, tolerance)


def _measured(options: dict[str, Any], said: "Settings", hosts: "Reached", tolerance: float) -> int:
    from fabricgauge import settings
    from fabricgauge.app import vary as app
    from fabricgauge.app.progress import Progress, Silent
    from fabricgauge.cli import request
    from fabricgauge.cli.progress import Bar
    from fabricgauge.compare.varying import EXIT_STATUS
    from fabricgauge.store.run_directory import RunDirectory, find

    bar: Progress = Silent() if options["quiet"] else Bar()
    wanted = request.wanted(options, hosts[0])
    site = request.target(options, said, hosts, request.nodes_of(wanted))
    if options["resume"]:
        directory = find(options["root"] or settings.run_root(), options["resume"])
        design, jobs = app.take_up(site, options["mpi"], directory, bar)
    else:
        made = _design(options)
        directory = RunDirectory.create(options["root"] or settings.run_root())
        try:
            design, jobs = app.begin(made, wanted, site, options["mpi"], directory, bar)
        except BaseException:
            directory.discard(copies=True)
            raise
    try:
        found, path, interrupted = app.run(design, jobs, directory, site, tolerance, bar)
    finally:
        bar.close()
    _show(found, path, options)
    if interrupted:
        rest = () if options["resume"] else ("--resume", str(path))
        again = shlex.join(("fabricgauge", *sys.argv[1:], *rest))
        click.echo(f"What was measured is kept. Measure the rest with: {again}", err=True)
    return 130 if interrupted else EXIT_STATUS[found.finding]


def _design(options: dict[str, Any]) -> "Design":
    from fabricgauge.compare.varying import least_blocks
    from fabricgauge.plan.design import design, factor

    factors = tuple(factor(one) for one in options["vary"])
    least = least_blocks(factors)
    blocks = options["launches"] or max(USUAL_BLOCKS, least)
    if blocks < least:
        click.echo(
            f"--launches {blocks}: no effect can be told from chance with fewer than {least}"
            " launches of each; what is measured will not decide anything",
            err=True,
        )
    return design(factors, blocks, options["seed"])


def _require_format(name: str) -> None:
    from fabricgauge.report.content.varied import KIND
    from fabricgauge.report.formats import formats_of

    formats = formats_of(KIND)
    if name not in formats:
        raise UsageError(f"no format {name!r} for --vary; there is {', '.join(formats)}")


def _show(found: "Varied", path: Path, options: dict[str, Any]) -> None:
    from fabricgauge.cli.show import deliver, width
    from fabricgauge.report.content.varied import KIND
    from fabricgauge.report.formats import formats_of
    from fabricgauge.report.interface import Setting

    setting = Setting(width=width(), colour=options["to"] is None and sys.stdout.isatty())
    deliver(formats_of(KIND)[options["format_"]](found, setting), options["to"])
    page = path / "report.html"
    told = str(page)
    try:
        page.write_text(formats_of(KIND)["html"](found, setting), "utf-8")
    except OSError as error:
        told = f"none: cannot write {page}: {error.strerror or error}"
    click.echo(f"Comparison   {path}\nHTML report  {told}", err=True)
