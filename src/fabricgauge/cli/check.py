"""``fabricgauge check``: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.fabric import fabric_options, own_lab_option, sim_options
from fabricgauge.cli.measuring import measure_options, network_options
from fabricgauge.cli.nodes import LAUNCHERS, OWN_LAB, reached
from fabricgauge.model.errors import ToolMissing, UsageError

if TYPE_CHECKING:
    from fabricgauge.app.check import Outcome
    from fabricgauge.app.job import Job
    from fabricgauge.cli.nodes import LAUNCHERS, Reached
    from fabricgauge.settings import Settings


@click.command()
@click.option("-w", "--nodelist", metavar="NODES", help="Nodes, e.g. c[1-2], @group or ^FILE.")
@click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out.")
@click.option(
    "--lab",
    is_flag=False,
    flag_value=OWN_LAB,
    metavar="[NAME]",
    help="Measure a virtual cluster on this machine: NAME, or one made for this check.",
)
@click.option("--launcher", type=click.Choice(LAUNCHERS), help="How nodes are reached.")
@click.option(
    "--ssh-config",
    type=click.Path(dir_okay=False, exists=True),
    metavar="FILE",
    help="Configuration for ssh instead of your own.",
)
@network_options
@click.option("--place", metavar="NODES", help="Nodes of ranks 0 and 1 in that order, e.g. c2,c1.")
@measure_options
@click.option(
    "--tool",
    metavar="SUITE",
    help="Measure with osu, imb, perftest, iperf3, nccl-tests or netpipe instead.",
)
@click.option(
    "--tool-path",
    type=click.Path(file_okay=False, exists=True),
    metavar="DIR",
    help="Where the suite's programs are; default: PATH, modules, usual places.",
)
@click.option(
    "--streams",
    type=click.IntRange(1, 128),
    default=4,
    show_default=True,
    help="Connections that share the link in iperf3's test of many.",
)
@own_lab_option
@fabric_options
@sim_options
@click.option("--against", metavar="NAME", help="A reference whose curves stand beside yours.")
@click.option("--resume", metavar="RUN", help="Finish a run that was broken off.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs are kept; default: $XDG_DATA_HOME/fabricgauge/runs.",
)
@click.option("--format", default="terminal", show_default=True, help="What to print.")
@click.option("--dry-run", is_flag=True, help="Discover and plan, print the commands, stop.")
@click.option("-q", "--quiet", is_flag=True, help="Print the report only, no progress.")
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Measure the network between nodes, prove the path, judge, report.

    Discovers the nodes, measures latency and bandwidth over each network that joins
    them, holds the interfaces' counters against the bytes that were sent, and judges
    each figure against the network's physical ceiling. Of more than two nodes every
    pair meets, all work together, and whoever is slower than its peers is named.
    """
    from fabricgauge import settings
    from fabricgauge.cli import request
    from fabricgauge.cli.show import require_format

    said = settings.load()
    request.require_of_engine(ctx, options)
    chosen = request.with_run(ctx, request.with_files(ctx, options, said))
    require_format(chosen["format"])
    with reached(chosen) as hosts:
        status = _check(chosen, said, hosts)
    ctx.exit(status)


def _check(options: dict[str, Any], said: "Settings", hosts: "Reached") -> int:
    from fabricgauge.app import check as app
    from fabricgauge.app.progress import Progress, Silent
    from fabricgauge.cli import request
    from fabricgauge.cli.job import job_of, reference_curves
    from fabricgauge.cli.progress import Bar
    from fabricgauge.judge.judging import exit_status

    bar: Progress = Silent() if options["quiet"] else Bar()
    against = reference_curves(options["against"])
    wanted = request.wanted(options, hosts[0])
    site = request.target(options, said, hosts, request.nodes_of(wanted))
    directory = request.directory(options)
    try:
        job = job_of(options, wanted, site, directory, bar)
    except (KeyboardInterrupt, UsageError, ToolMissing):
        if not options["resume"]:
            directory.discard()
        raise
    if options["dry_run"]:
        _print_plan(job)
        if not options["resume"]:
            directory.discard()
        return 0
    try:
        outcome = app.finish(job, site.thresholds, bar, against)
    finally:
        bar.close()
    _print(outcome, options["format"])
    if not outcome.judged.run.complete:
        _say_how_to_resume(outcome.path)
    return 130 if outcome.interrupted else exit_status(outcome.judged.overall)


def _say_how_to_resume(path: Path) -> None:
    import shlex

    command = shlex.join(["fabricgauge", "check", "--resume", str(path)])
    click.echo(f"What was measured is kept. Measure the rest with: {command}", err=True)


def _print_plan(job: "Job") -> None:
    import shlex

    for launch, commands in job.commands():
        program = f", {launch.program}" if launch.program else ""
        click.echo(f"# launch {launch.number}: {launch.network or 'unpinned'}{program}")
        for command in commands:
            env = [f"{name}={value}" for name, value in sorted(command.env.items())]
            click.echo(shlex.join(["env", *env, *command.argv]))
        for case in launch.cases:
            click.echo(f"#   {case.name} window={case.window} budget={case.budget_s:.2f} s")
    if job.plan.tool == "engine":
        click.echo(f"# at most {job.plan.budget_s:.0f} s of measuring")


def _print(outcome: "Outcome", format_: str) -> None:
    from fabricgauge.cli.show import show

    show(outcome.judged, outcome.path, format_)
