"""``fabricgauge path``: what one call of MPI executes, and what differs between two stacks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.show import page, print_report
from fabricgauge.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from fabricgauge.model.call_path import CallPaths

USUAL_SIZES = (4,)


@click.group(invoke_without_command=True)
@click.option(
    "--calls", type=of.Parsed("list", of.listed(of.lazily("app.call_paths", "operation"))),
    metavar="LIST", default="send,recv", show_default=True,
    help="What to trace: send, recv, recv-late (the message comes while it waits), isend, irecv,"
    " put, get, and on 2 or more ranks bcast, allreduce, barrier:4; of libfabric fi_tsend,"
    " fi_tinject, fi_trecv; of verbs ibv_post_send, ibv_poll_cq.",
)  # fmt: skip
@of.sizes_option
@click.option("--repeats", type=click.IntRange(1, 1000), default=20, show_default=True,
              help="Warm calls to trace of each.")  # fmt: skip
@click.option("--limit", type=of.Parsed("time", of.seconds), default="60s", show_default=True,
              metavar="TIME",
              help="End a launch after that time; what it traced until then is kept.")  # fmt: skip
@of.mpi_option
@click.option(
    "--transport",
    type=of.Parsed("transport", of.lazily("run.transports", "known_transport")),
    metavar="ofi|verbs[:KEY=VALUE,…]",
    help="How calls below MPI are carried, e.g. ofi:provider=shm; they find it themselves without.",
)
@of.nodelist_option
@of.lab_option("Trace on a virtual cluster on this machine: NAME, or one made for this.")
@of.launcher_option
@of.ssh_config_option
@click.option(
    "--network",
    multiple=True,
    metavar="NAME",
    help="Way between the ranks: node (both on one, MPI's own choice), loopback (TCP within one),"
    " or a network; default: node, and each network that joins the first two nodes.",
)
@of.output_option("Where traced paths are kept; default: $XDG_DATA_HOME/fabricgauge/paths.")
@of.format_option("call_paths")
@of.to_option
@of.quiet_option("Print the result only, no progress.")
@click.pass_context
def path(ctx: click.Context, /, **options: Any) -> None:
    """Count what one MPI call executes: instructions, functions, cache lines, locks.

    A call is stepped through from its first instruction to its return, on MPI's own unmodified
    libraries: once cold, then warm. No root, no hardware counter and no privilege is needed.
    x86-64 only.

    Exit status: 0 if every call was traced, 3 if one was not or not as often as asked for.
    """
    if ctx.invoked_subcommand is not None:
        return

    directory, made, interrupted = _traced(options)
    directory.write_bytes("report.html", page("call_paths", made))
    if not interrupted:
        directory.finish()
    print_report("call_paths", made, options["format"], options["to"])
    click.echo(f"Traced paths {directory.path}", err=True)
    incomplete = any(one.problem for one in made.paths) or not made.paths
    ctx.exit(130 if interrupted else 3 if incomplete else 0)


def _traced(options: Mapping[str, Any]) -> "tuple[RunDirectory, CallPaths, bool]":
    """Where the paths are kept, what they are, and whether it was interrupted."""
    from fabricgauge.app import call_paths as app
    from fabricgauge.app.target import located
    from fabricgauge.cli.progress import bar

    sizes = options["sizes"] or USUAL_SIZES
    study = app.Study(options["calls"], sizes, options["repeats"], options["limit"])
    request = of.request_of({**options, "sizes": None})
    with (
        bar(options["quiet"]) as progress,
        located(request, settings.load(), (), None, progress) as target,
    ):
        directory = RunDirectory.create(options["output"] or settings.path_root())
        try:
            return directory, *app.trace(study, target, directory)
        except BaseException:
            if directory.empty:
                directory.discard()
            raise


@path.command()
@click.argument("a")
@click.argument("b")
@of.output_option("Where traced paths are kept; default: $XDG_DATA_HOME/fabricgauge/paths.")
@of.format_option("call_path_changes")
@of.to_option
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Say what differs between the paths of A and B.

    A and B are each a directory of traced paths, an identity or its beginning, or `latest`.
    Libraries are matched by name without version, functions by name.

    Exit status: 0, or 3 if A and B have no call in common.
    """
    from fabricgauge.app.call_paths import stored_paths
    from fabricgauge.compare.call_paths import compare_paths

    root = options["output"] or settings.path_root()
    found = compare_paths(stored_paths(root, a), stored_paths(root, b))
    print_report("call_path_changes", found, options["format"], options["to"])
    ctx.exit(0 if found.changes else 3)
