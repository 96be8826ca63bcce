"""``fabricgauge check``: measure a network, prove the path, judge and report."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import Printing, refuse_report_file, show
from fabricgauge.model.errors import UsageError
from fabricgauge.model.features import load_role
from fabricgauge.model.request import describe_place
from fabricgauge.store import settings
from fabricgauge.store.files.reading import shown

if TYPE_CHECKING:
    from fabricgauge.check.run_context import RunContext
    from fabricgauge.model.request import MeasurementRequest
    from fabricgauge.model.suite import SuiteCurve


@click.command(context_settings=HELP_OPTIONS)
@cli_options.nodes_argument
@cli_options.node_options
@cli_options.ssh_config_option
@cli_options.network_options
@cli_options.transport_option
@cli_options.memory_options
@cli_options.rank_order_option
@cli_options.measure_options()
@cli_options.tool_options
@cli_options.lab_nodes_option
@cli_options.fabric_options
@cli_options.keep_programs_option
@click.option(
    "--sim", metavar="PLATFORM",
    help="Measure a cluster that SimGrid simulates, e.g. star:32, fat-tree:64, or a platform file.",
)  # fmt: skip
@click.option(
    "--sim-fault", multiple=True, metavar="FAULT",
    help="Fault of the simulated cluster, e.g. 'rate node-7 0.25'. May be repeated.",
)  # fmt: skip
@click.option(
    "--sim-seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
    help="Seed of the simulation's noise.",
)  # fmt: skip
@click.option(
    "--sim-noise", type=click.FloatRange(0, 0.5), default=0.0, show_default=True, metavar="SHARE",
    help="Noise of the simulated times, as a share of each.",
)  # fmt: skip
@click.option(
    "--soak", type=Parsed("time", cli_options.parse_long_time), metavar="TIME",
    help="Keep a stream and a ping-pong up for TIME, e.g. 30m, 12h or 3d, and name each dip and"
    " what is stuck. Measures nothing else.",
)  # fmt: skip
@click.option(
    "--soak-share", type=click.FloatRange(0.001, 1), default=0.05, show_default=True,
    metavar="SHARE", help="Share of the link's rate that --soak uses; 1 is as much as it can.",
)  # fmt: skip
@click.option(
    "--answers", is_flag=True,
    help="Time what management asks of the nodes, before --soak and under it: echoes, connections,"
    " ibstat, opainfo, perfquery, ibv_devinfo. What stops to answer under load fails.",
)  # fmt: skip
@click.option(
    "--echo-class", type=click.IntRange(0, 255), metavar="TOS",
    help="Traffic class of a further echo of --answers, as its TOS byte: 184 is DSCP 46. Shows if"
    " the class passes the load.",
)  # fmt: skip
@click.option(
    "--victim-class", metavar="CLASS",
    help="Measure a latency alone, then beside bulk of --bulk-class, in this class and in bulk's:"
    " traffic-class=184 (a TOS byte) or service-level=3. Measures nothing else.",
)  # fmt: skip
@click.option("--bulk-class", metavar="CLASS", help="Class of the bulk beside --victim-class.")
@click.option(
    "--campaign", metavar="NAME|FILE",
    help="Measure a named list of measurements with a page of its own: validation, evaluation,"
    " provider, tutorial, imb-ten, or a file.",
)  # fmt: skip
@cli_options.against_option
@click.option("--resume", metavar="RUN", help="Measure the rest of an interrupted run.")
@cli_options.output_option()
@cli_options.format_option()
@cli_options.fail_on_option
@cli_options.for_option
@click.option("--dry-run", is_flag=True, help="Discover and plan, print the commands, then stop.")
@cli_options.quiet_option()
@cli_options.verbose_option
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Measure the network between NODES, prove the path, judge, report.

    NODES are the same as -w: c1 c2, or 'c[1-16]'.

    Discovers the nodes, measures latency and bandwidth over each network that joins them, compares
    the counters of the interfaces with the bytes sent, and judges each figure against the physical
    ceiling of the network. With more than two nodes, measures each pair, then all nodes together,
    and names nodes that are slower than their peers.
    """
    from fabricgauge.check.begin import open_run
    from fabricgauge.check.conclude import reference_curves
    from fabricgauge.cli.progress import progress_shown
    from fabricgauge.model.request import INSIDE_NODES, keep_applicable

    _refuse_beside_soak(ctx, soaks=options["soak"] is not None)
    classes = None
    if _refuse_beside_classes(ctx):
        classes = load_role("classes").parse_classes(options["victim_class"], options["bulk_class"])
    cli_options.refuse_unwritten_report(ctx)
    request, root = cli_options.build_request(options), options["output"] or settings.run_root()
    printing = Printing(options["format"], options["fail_on"], form=options["form"])
    curves = reference_curves(options["against"])
    dry_run, quiet = options["dry_run"], options["quiet"]
    if dry_run:
        refuse_report_file("--dry-run")
    if options["campaign"]:
        reason = "{} has no effect on --campaign, whose parts set it"
        cli_options.refuse_without_effect(ctx, _WITH_CAMPAIGN, reason)
        with progress_shown(quiet) as progress:
            run = load_role("campaign")
            stated = cli_options.state_request(ctx, request, progress)
            ctx.exit(run(options["campaign"], stated, root, printing))
    if request.tool in INSIDE_NODES:
        request = keep_applicable(request, from_files=cli_options.names_from_files(ctx))
        ctx.exit(_check_gpus(request, root, printing, curves, dry_run, quiet))
    with (
        progress_shown(quiet) as progress,
        open_run(cli_options.state_request(ctx, request, progress), root, dry_run) as context,
    ):
        if dry_run:
            _print_commands(context)
        elif options["soak"]:
            names = ("soak", "soak_share", "answers", "echo_class")
            words = tuple(options[name] for name in names)
            ctx.exit(load_role("soak")(context, *words, printing))
        elif classes is not None:
            ctx.exit(load_role("classes").measure_classes(context, classes, printing))
        else:
            ctx.exit(_check(context, printing, curves))


#: Options with an effect on whatever is measured: the place, MPI and the report.
_ALWAYS = frozenset({
    "hosts", "nodelist", "exclude", "lab", "nodes", "launcher", "ssh_config", "network",
    "rank_order", "mpi", "output", "format", "fail_on", "quiet", "verbose",
})  # fmt: skip
#: Options with an effect on a campaign: also the effort.
_WITH_CAMPAIGN = _ALWAYS | {
    "campaign", "unpinned", "profile", "launches", "half_width", "case_budget", "check_data",
    "tool_path", "ppn", "concurrent", "topology", "sim", "sim_fault", "sim_seed", "sim_noise",
}  # fmt: skip
#: Options with an effect on a soak, and on a victim and bulk in classes.
_WITH_SOAK = _ALWAYS | {
    "soak", "soak_share", "answers", "echo_class", "unpinned", "keep_programs",
}  # fmt: skip
_WITH_CLASSES = _ALWAYS | {
    "victim_class", "bulk_class", "transport", "launches", "case_budget", "keep_programs",
}  # fmt: skip


def _refuse_beside_soak(ctx: click.Context, *, soaks: bool) -> None:
    """Refuse options without effect on a soak, and a soak's share without a soak.

    Raises:
        UsageError: such an option was given.
    """
    if ctx.params["echo_class"] is not None and not ctx.params["answers"]:
        raise UsageError("--echo-class needs --answers beside --soak")
    if soaks and not ctx.params["campaign"]:
        reason = "{} has no effect on --soak, which sends its own messages at one pace"
        cli_options.refuse_without_effect(ctx, _WITH_SOAK, reason)
    elif not soaks:
        effective = {parameter.name or "" for parameter in ctx.command.params}
        effective -= {"soak_share", "answers", "echo_class"}
        cli_options.refuse_without_effect(ctx, effective, "{} needs --soak")


def _refuse_beside_classes(ctx: click.Context) -> bool:
    """Check if a victim and bulk are asked for; refuse one alone, and options without effect.

    Raises:
        UsageError: such an option was given.
    """
    victim, bulk = ctx.params["victim_class"], ctx.params["bulk_class"]
    if victim is None and bulk is None:
        return False
    if victim is None or bulk is None:
        raise UsageError("--victim-class and --bulk-class go together: give both")
    reason = "{} has no effect on --victim-class, which measures a latency beside bulk"
    cli_options.refuse_without_effect(ctx, _WITH_CLASSES, reason)
    return True


def _check(context: "RunContext", printing: Printing, curves: "tuple[SuiteCurve, ...]") -> int:
    from fabricgauge.check.main_job import measure_and_judge

    judged, interrupted = measure_and_judge(context, curves)
    context.progress.close()
    path = context.directory.path
    status = show(judged, path, printing)
    if not judged.run.complete:
        place = describe_place(context.target.request)
        command = shlex.join(["fabricgauge", "check", "--resume", str(path), *place])
        click.echo(f"Finished measurements are kept. Measure the rest with: {command}", err=True)
    return 130 if interrupted and printing.form == "plain" else status


def _check_gpus(
    request: "MeasurementRequest", root: Path, printing: Printing,
    curves: "tuple[SuiteCurve, ...]", dry_run: bool, quiet: bool,
) -> int:  # fmt: skip
    from fabricgauge.check.import_logs import create_imported_run
    from fabricgauge.cli.progress import progress_shown

    within_nodes = load_role("within_nodes")
    if dry_run:
        for command in within_nodes.commands(request):
            click.echo(command)
        return 0
    command_line = tuple(map(shown, sys.argv))
    with progress_shown(quiet) as progress:
        judged, path = create_imported_run(
            root, settings.load(),
            lambda directory: within_nodes.measure_gpus(request, directory, command_line, progress),
            progress, curves,
        )  # fmt: skip
    return show(judged, path, printing)


def _print_commands(context: "RunContext") -> None:
    from fabricgauge.check.main_job import list_commands

    for launch, launch_commands in list_commands(context):
        program = f", {launch.program}" if launch.program else ""
        click.echo(f"# launch {launch.number}: {launch.network or 'unpinned'}{program}")
        for command in launch_commands:
            env = [f"{name}={value}" for name, value in sorted(command.env.items())]
            click.echo(shlex.join(["env", *env, *command.argv]))
        for case in launch.cases:
            click.echo(f"#   {case.name} window={case.window} budget={case.budget_s:.2f} s")
    if context.plan.tool == "engine":
        click.echo(f"# at most {context.plan.budget_s:.0f} s of measuring")
