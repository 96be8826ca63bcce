"""``fabricgauge scale``: an application at 1, 2, 4, … nodes."""

from typing import Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.show import page, print_report
from fabricgauge.model.verdict import exit_status
from fabricgauge.store.run_directory import RunDirectory


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED,
                metavar="-- APP...")  # fmt: skip
@of.nodelist_option
@of.exclude_option
@of.lab_option("Launch on a virtual cluster: NAME, or one made for this.")
@of.lab_nodes_option
@of.ppn_option
@of.launcher_option
@of.ssh_config_option
@of.network_options
@click.option("--at", type=of.Parsed("numbers", of.lazily("app.scale", "node_counts")),
              default=(), metavar="LIST",
              help="Numbers of nodes; default: 1, 2, 4, … and all.")  # fmt: skip
@click.option("--vary", multiple=True, metavar="FACTOR=A,B",
              type=of.Parsed("factor", of.lazily("plan.design", "factor")),
              help="Settings to take turns: env:NAME=X,Y or bind=core,none.")  # fmt: skip
@click.option("--launches", type=click.IntRange(1, 1000), default=5, show_default=True,
              help="Launches of each setting at each number of nodes.")  # fmt: skip
@of.seed_option
@click.option("--silent", type=of.Parsed("time", of.seconds), default="10m", metavar="TIME",
              show_default=True, help="End a launch that prints nothing for longer.")  # fmt: skip
@click.option("--mpi", metavar="NAME|MPICXX",
              help="The program's MPI; default: the one that it is linked with.")  # fmt: skip
@of.output_option()
@of.format_option("scale")
@of.fail_on_option
@of.to_option
@of.quiet_option()
@click.pass_context
def scale(ctx: click.Context, /, command: tuple[str, ...], **options: Any) -> None:
    """Launch an application on more and more nodes: speed-up and efficiency.

    APP is the program with its arguments, without mpirun. It is started on 1, 2, 4, … nodes in
    turns, one rank on each node or --ppn. Around each launch the interfaces' counters are read, and
    compared with what the application sent: a launch that used another network is INVALID.

    Exit status: 0 if every launch is valid and gave a time, 3 if not.
    """
    from fabricgauge.app import scale as app
    from fabricgauge.app.target import located
    from fabricgauge.cli.progress import bar
    from fabricgauge.report.content.scale import overall
    from fabricgauge.store.holding import held

    request = of.request_of({**options, "launches": None})
    with (
        bar(options["quiet"]) as progress,
        located(request, settings.load(), of.from_files(ctx), None, progress) as target,
    ):
        there = len(target.access.nodes)
        made = app.designed(
            options["vary"], options["at"], there, options["launches"], options["seed"]
        )
        what = app.application(target, command, options["silent"])
        directory = RunDirectory.create(options["output"] or settings.run_root())
        with held(directory):
            found, interrupted = app.scaled(made, target, directory, what)
            progress.close()
            directory.write_bytes("report.html", page("scale", found))
            if found.complete:
                directory.finish()
    place = str(directory.path)
    print_report("scale", found, options["format"], options["to"], run_directory=place)
    ctx.exit(130 if interrupted else exit_status(overall(found), options["fail_on"]))
