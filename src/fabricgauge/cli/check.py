"""``fabricgauge check``: the main job."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing
from fabricgauge.cli.show import show
from fabricgauge.files.reading import shown
from fabricgauge.model.request import place_words

if TYPE_CHECKING:
    from fabricgauge.app.run_context import RunContext
    from fabricgauge.model.request import MeasurementRequest
    from fabricgauge.model.suite import SuiteCurve


@click.command()
@of.nodelist_option
@of.exclude_option
@of.lab_option("Measure a virtual cluster on this machine: NAME, or one made for this check.")
@of.launcher_option
@of.ssh_config_option
@of.network_options
@of.transport_option
@of.memory_options
@of.rank_order_option
@of.measure_options
@click.option(
    "--tool", metavar="SUITE",
    help="Measure with osu, imb, perftest, iperf3, nccl-tests, rccl-tests or netpipe"
    " instead; nvbandwidth and rocm-bandwidth-test measure between the GPUs of each node."
    " perftest heeds keys of --transport verbs, e.g. perftest:queue-pair=ud.",
)  # fmt: skip
@click.option(
    "--tool-path", type=click.Path(file_okay=False, exists=True), metavar="DIR",
    help="Where the suite's programs are; default: PATH, modules, usual places.",
)  # fmt: skip
@click.option(
    "--parallel", cls=of.Renamed, formerly="--streams", type=click.IntRange(1, 128),
    help="Connections that share the link in iperf3's test of many.  [default: 4]",
)  # fmt: skip
@of.lab_nodes_option
@of.fabric_options
@click.option(
    "--sim", metavar="PLATFORM",
    help="Simulate a cluster with SimGrid, e.g. star:32, fat-tree:64, or a platform file.",
)  # fmt: skip
@click.option(
    "--sim-fault", multiple=True, metavar="FAULT",
    help="A fault to plant in it, e.g. 'rate node-7 0.25'; may be repeated.",
)  # fmt: skip
@click.option(
    "--sim-seed", type=click.IntRange(0), default=1, help="Seed of the simulation's noise."
)  # fmt: skip
@click.option(
    "--sim-noise", type=click.FloatRange(0, 0.5), default=0.0,
    help="Relative noise of the simulation.",
)  # fmt: skip
@of.against_option
@click.option("--resume", metavar="RUN", help="Finish a run that was broken off.")
@of.output_option()
@of.format_option()
@of.fail_on_option
@click.option("--dry-run", is_flag=True, help="Discover and plan, print the commands, stop.")
@of.quiet_option()
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Measure the network between nodes, prove the path, judge, report.

    Discovers the nodes, measures latency and bandwidth over each network that joins
    them, compares the interfaces' counters with the bytes that were sent, and judges
    each figure against the network's physical ceiling. With more than two nodes every pair
    is measured, then all together. Nodes that are slower than their peers are named.
    """
    from fabricgauge.app.begin import opened
    from fabricgauge.app.conclude import reference_curves
    from fabricgauge.cli.progress import bar
    from fabricgauge.model.request import INSIDE_NODES, applicable

    said, files = settings.load(), of.from_files(ctx)
    request, root = of.request_of(options), options["output"] or settings.run_root()
    printing = Printing(options["format"], options["fail_on"])
    curves = reference_curves(options["against"])
    dry_run, quiet = options["dry_run"], options["quiet"]
    if request.tool in INSIDE_NODES:
        within = applicable(request, from_files=files)
        ctx.exit(_between_gpus(within, root, printing, curves, dry_run, quiet))
    with bar(quiet) as progress, opened(request, said, files, root, progress, dry_run) as context:
        if dry_run:
            _print_commands(context)
        else:
            ctx.exit(_check(context, printing, curves))


def _check(context: "RunContext", printing: Printing, curves: "tuple[SuiteCurve, ...]") -> int:
    from fabricgauge.app.check import measure_and_judge

    judged, interrupted = measure_and_judge(context, curves)
    context.progress.close()
    path = context.directory.path
    status = show(judged, path, printing)
    if not judged.run.complete:
        place = place_words(context.target.request)
        command = shlex.join(["fabricgauge", "check", "--resume", str(path), *place])
        click.echo(f"What was measured is kept. Measure the rest with: {command}", err=True)
    return 130 if interrupted else status


def _between_gpus(
    request: "MeasurementRequest", root: Path, printing: Printing,
    curves: "tuple[SuiteCurve, ...]", dry_run: bool, quiet: bool,
) -> int:  # fmt: skip
    """Inside each node, by a program that copies between its GPUs."""
    from fabricgauge.app.import_logs import imported
    from fabricgauge.app.node_gpus import commands, measure_gpus
    from fabricgauge.cli.progress import bar

    if dry_run:
        for command in commands(request):
            click.echo(command)
        return 0
    words = tuple(map(shown, sys.argv))
    with bar(quiet) as progress:
        judged, path = imported(
            root, settings.load(),
            lambda directory: measure_gpus(request, directory, words, progress), progress, curves,
        )  # fmt: skip
    return show(judged, path, printing)


def _print_commands(context: "RunContext") -> None:
    from fabricgauge.app.check import commands

    for launch, started in commands(context):
        program = f", {launch.program}" if launch.program else ""
        click.echo(f"# launch {launch.number}: {launch.network or 'unpinned'}{program}")
        for command in started:
            env = [f"{name}={value}" for name, value in sorted(command.env.items())]
            click.echo(shlex.join(["env", *env, *command.argv]))
        for case in launch.cases:
            click.echo(f"#   {case.name} window={case.window} budget={case.budget_s:.2f} s")
    if context.plan.tool == "engine":
        click.echo(f"# at most {context.plan.budget_s:.0f} s of measuring")
