"""``fabricgauge profile``: what an application sends by MPI."""

import shlex
from pathlib import Path
from typing import Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.show import page, print_report
from fabricgauge.store.run_directory import RunDirectory


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED,
                metavar="-- COMMAND...")  # fmt: skip
@click.option("--mpi", metavar="NAME|MPICXX", default="",
              help="The program's MPI; default: the one that it is linked with.")  # fmt: skip
@click.option("--print-env", is_flag=True,
              help="Print the variables to set in a job script, start nothing.")  # fmt: skip
@of.output_option()
@of.format_option("profile")
@of.to_option
@of.quiet_option()
@click.pass_context
def profile(ctx: click.Context, /, command: tuple[str, ...], **options: Any) -> None:
    """Run an application and show what it sends by MPI.

    COMMAND is what starts it, e.g. `mpirun -n 4 app`, `srun app` or a script. A library is
    loaded into each rank (LD_PRELOAD), which records the calls that send, receive, wait or
    synchronise: time, size of messages, to whom, and whether over the network. The program need
    not be built again.

    The report follows the program's own output, and `report` shows it again. The exit status is the
    program's; 3 if nothing was recorded.
    """
    from fabricgauge.app import profile as app
    from fabricgauge.cli.progress import bar

    root: Path = options["output"] or settings.run_root()
    if options["print_env"]:
        _print_variables(command, options["mpi"], root)
        return
    directory = RunDirectory.create(root)
    with bar(options["quiet"]) as progress:
        try:
            found, status = app.profiled(command, options["mpi"], directory, progress)
            first = app.require_recorded(found, status)
        except BaseException:
            if app.recorded(directory):
                click.echo(f"What was recorded is kept in {directory.path}", err=True)
            else:
                directory.discard()
            raise
    directory.write_bytes("report.html", page("profile", first))
    directory.finish()
    click.echo(err=True)  # the program's own output ends here
    place = str(directory.path)
    print_report("profile", first, options["format"], options["to"], run_directory=place)
    click.echo(f"Shown again by: fabricgauge report {place}", err=True)
    ctx.exit(status)


def _print_variables(command: tuple[str, ...], named: str, root: Path) -> None:
    """What a job script exports, and how its profile is read afterwards."""
    from fabricgauge.app import profile as app

    mpi = app.mpi_under(command, named)
    directory = RunDirectory.create(root)
    for name, value in app.variables(mpi, directory.raw(app.FOLDER).absolute()).items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(f"# afterwards: fabricgauge report {shlex.quote(str(directory.path.absolute()))}")
