"""``fabricgauge profile`` and ``scale``: an application's MPI messages, and its speed-up."""

import shlex
from pathlib import Path
from typing import Any

import click

from fabricgauge.check.target import locate_target
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, lazy_function, parse_seconds
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import page, print_report, refuse_report_file, require_format
from fabricgauge.features.application import profile as profiling
from fabricgauge.features.application.profile import (
    import_profile,
    is_profile,
    profiles_at,
    require_recorded,
)
from fabricgauge.features.application.scale import find_application, make_scale_design, run_scaling
from fabricgauge.features.application.scale_content import overall
from fabricgauge.features.application.scaling import SCALED, read_scaling
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome, exit_status
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory, describe, run_lock

#: All words from the first argument on are the program's.
_OF_PROGRAM = {**HELP_OPTIONS, "ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command(context_settings=_OF_PROGRAM)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED,
                metavar="-- COMMAND...")  # fmt: skip
@click.option("--mpi", metavar="NAME|MPICXX", default="",
              help="MPI of the program. Default: the MPI that it is linked with.")  # fmt: skip
@click.option("--print-env", is_flag=True,
              help="Print the variables to set in a job script; start nothing.")  # fmt: skip
@cli_options.output_option()
@cli_options.format_option("profile")
@cli_options.to_option
@cli_options.verbose_option
@cli_options.quiet_option()
@click.pass_context
def profile(ctx: click.Context, /, command: tuple[str, ...], **options: Any) -> None:
    """Run an application and show its MPI messages.

    COMMAND starts the application, e.g. `mpirun -n 4 app`, `srun app` or a script. A library that
    each rank loads (LD_PRELOAD) records the calls that send, receive, wait or synchronise: time,
    message sizes, partners, and whether they cross the network. The program needs no new build.

    The report follows the output of the program; `report` shows it again. The exit status is that
    of the program, or 3 if nothing was recorded.
    """
    cli_options.require_program(command)

    root: Path = options["output"] or settings.run_root()
    if options["print_env"]:
        refuse_report_file("--print-env")
        _print_variables(command, options["mpi"], root)
        return
    directory = RunDirectory.create(root)
    with progress_shown(options["quiet"]) as progress:
        try:
            profiles, status = profiling.run_profiled(command, options["mpi"], directory, progress)
            first_profile = profiling.require_recorded(profiles, status)
        except BaseException:
            if profiling.has_profile(directory):
                click.echo(f"The recorded calls are kept in {directory.path}", err=True)
            else:
                directory.discard()
            raise
    directory.write_bytes("report.html", page("profile", first_profile))
    directory.finish()
    click.echo(err=True)  # the program's output ends here
    path = str(directory.path)
    print_report("profile", first_profile, options["format"], options["to"], run_directory=path)
    click.echo(f"Show it again: fabricgauge report {path}", err=True)
    ctx.exit(status)


def _print_variables(command: tuple[str, ...], mpi_name: str, root: Path) -> None:
    mpi = profiling.mpi_of_command(command, mpi_name)
    directory = RunDirectory.create(root)
    for name, value in profiling.variables(mpi, directory.raw(profiling.FOLDER).absolute()).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(f"# afterwards: fabricgauge report {shlex.quote(str(directory.path.absolute()))}")


@click.command(context_settings=_OF_PROGRAM)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED,
                metavar="-- APP...")  # fmt: skip
@cli_options.node_options
@cli_options.lab_nodes_option
@cli_options.ppn_option
@cli_options.ssh_config_option
@cli_options.network_options
@click.option("--at",
              type=Parsed("numbers",
                          lazy_function("features.application.scale", "parse_node_counts")),
              default=(), metavar="LIST",
              help="Numbers of nodes. Default: 1, 2, 4, … and all.")  # fmt: skip
@click.option("--vary", multiple=True, metavar="FACTOR=A,B",
              type=Parsed("factor", lazy_function("check.plan.design", "parse_factor")),
              help="Settings to compare in turns: env:NAME=X,Y or bind=core,none. May be"
              " repeated.")  # fmt: skip
@click.option("--launches", type=click.IntRange(1, 1000), default=5, show_default=True,
              metavar="N", help="Launches for each setting and number of nodes.")  # fmt: skip
@click.option("--weak", is_flag=True,
              help="The problem grows with the nodes, by {nodes} or {ranks} in an argument of APP:"
              " efficiency is the time on the fewest nodes divided by the time.")  # fmt: skip
@click.option("--metric", metavar="NAME=EXPRESSION",
              type=Parsed("metric",
                          lazy_function("features.application.scale", "parse_metric")),
              help="Compare a figure that APP prints, more is better, instead of its time: the last"
              " match of the regular expression counts, e.g."
              " 'tokens/s=throughput: ([0-9.]+)'.")  # fmt: skip
@cli_options.seed_option
@click.option("--silent", type=Parsed("time", parse_seconds), default="10m", metavar="TIME",
              show_default=True,
              help="Longest time without output before a launch is ended.")  # fmt: skip
@click.option("--mpi", metavar="NAME|MPICXX",
              help="MPI of the program. Default: the MPI that it is linked with.")  # fmt: skip
@cli_options.output_option()
@cli_options.format_option("scale")
@cli_options.fail_on_option
@cli_options.to_option
@cli_options.verbose_option
@cli_options.quiet_option()
@click.pass_context
def scale(ctx: click.Context, /, command: tuple[str, ...], **options: Any) -> None:
    """Launch an application on more and more nodes: speed-up and efficiency.

    APP is the program with its arguments, without mpirun. Starts it on 1, 2, 4, … nodes in turns,
    with one rank or --ppn ranks on each node. Reads the counters of the interfaces before and after
    each launch and compares them with the bytes that the application sent: a launch that used
    another network is INVALID. {nodes} and {ranks} in APP stand for the numbers of a launch.

    Exit status: 0 if each launch is valid and has a time, 3 if not.
    """
    cli_options.require_program(command)
    request = cli_options.build_request({**options, "launches": None})
    with (
        progress_shown(options["quiet"]) as progress,
        locate_target(cli_options.state_request(ctx, request, progress)) as target,
    ):
        nodes = len(target.access.nodes)
        design = make_scale_design(
            options["vary"], options["at"], nodes, options["launches"], options["seed"]
        )
        application = find_application(
            target, command, options["silent"], options["weak"], options["metric"]
        )
        directory = RunDirectory.create(options["output"] or settings.run_root())
        with run_lock(directory):
            scaling, interrupted = run_scaling(design, target, directory, application)
            progress.close()
            directory.write_bytes("report.html", page("scale", scaling))
            if scaling.complete:
                directory.finish()
    path = str(directory.path)
    print_report("scale", scaling, options["format"], options["to"], run_directory=path)
    ctx.exit(130 if interrupted else exit_status(overall(scaling), options["fail_on"]))


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome | None:
    """Print an application's profile or scaling, return its outcome; None if there is neither.

    A profile is not judged.
    """
    path = directory.path
    if (path / SCALED).exists():
        scaled = read_scaling(directory)
        print_report("scale", scaled, format_name, to, run_directory=str(path))
        return overall(scaled)
    if not is_profile(path):
        return None
    profile = require_recorded(profiles_at(path), 0)
    print_report("profile", profile, format_name, to, run_directory=str(path))
    return Outcome.PASS


def list_stored(directory: RunDirectory) -> StoredRun | None:
    """Return a profile or scaling as a list shows it; None for a directory of another kind."""
    path = directory.path
    if (path / SCALED).exists():
        scaled = read_scaling(directory)
        return describe(directory, "scale", verdict=overall(scaled).value)
    return describe(directory, "profile") if is_profile(path) else None


def import_file(path: Path, options: dict[str, Any]) -> bool:
    """Show an application's profile, which is not judged; return False for any other file."""
    if not is_profile(path):
        return False
    name = require_format("profile", options["format"])
    directory = RunDirectory.create(options["output"] or settings.run_root())
    try:
        profile = import_profile(path, directory)
    except BaseException:
        directory.discard(copies=True)
        raise
    directory.finish()
    print_report("profile", profile, name, options["to"], run_directory=str(directory.path))
    return True
