"""``fabricgauge profile``: record the MPI messages of an application."""

import shlex
from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import page, print_report, refuse_report_file
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory


@click.command(
    context_settings={
        **HELP_OPTIONS, "ignore_unknown_options": True, "allow_interspersed_args": False,
    }
)  # fmt: skip
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
    from fabricgauge.cli.progress import progress_shown
    from fabricgauge.features.application import profile as app

    root: Path = options["output"] or settings.run_root()
    if options["print_env"]:
        refuse_report_file("--print-env")
        _print_variables(command, options["mpi"], root)
        return
    directory = RunDirectory.create(root)
    with progress_shown(options["quiet"]) as progress:
        try:
            profiles, status = app.run_profiled(command, options["mpi"], directory, progress)
            first_profile = app.require_recorded(profiles, status)
        except BaseException:
            if app.has_profile(directory):
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
    """Print the variables that a job script exports, and the command that shows its profile."""
    from fabricgauge.features.application import profile as app

    mpi = app.mpi_of_command(command, mpi_name)
    directory = RunDirectory.create(root)
    for name, value in app.variables(mpi, directory.raw(app.FOLDER).absolute()).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(f"# afterwards: fabricgauge report {shlex.quote(str(directory.path.absolute()))}")
