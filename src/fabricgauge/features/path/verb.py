"""``fabricgauge path``: count what one MPI call executes, and compare two MPIs."""

from collections.abc import Mapping
from typing import Any

import click

from fabricgauge.check.target import locate_target
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import Parsed, lazy_function, list_parser, parse_seconds
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import page, print_report
from fabricgauge.features.path import recording as app
from fabricgauge.features.path.changes_content import compare_paths
from fabricgauge.features.path.recording import stored_paths
from fabricgauge.features.path.values import CallPaths
from fabricgauge.store import settings
from fabricgauge.store.run_directory import RunDirectory

#: Message sizes without ``--sizes``, in bytes.
DEFAULT_SIZES = (4,)

_output_option = cli_options.output_option(
    "Directory of all traced paths. Default: $XDG_DATA_HOME/fabricgauge/paths."
)


@click.group(invoke_without_command=True, context_settings=HELP_OPTIONS)
@click.option(
    "--calls",
    type=Parsed("list", list_parser(lazy_function("features.path.recording", "parse_operation"))),
    metavar="LIST", default="send,recv", show_default=True,
    help="Calls to trace: send, recv, recv-late (the message arrives while it waits), isend, irecv,"
    " put, get; bcast, allreduce, barrier on 2 ranks, or e.g. barrier:4 on 4; libfabric: fi_tsend,"
    " fi_tinject, fi_trecv; verbs: ibv_post_send, ibv_poll_cq.",
)  # fmt: skip
@cli_options.sizes_option("4")
@click.option("--repeats", type=click.IntRange(1, 1000), default=20, show_default=True,
              metavar="N", help="Warm calls to trace for each call and size.")  # fmt: skip
@click.option("--limit", type=Parsed("time", parse_seconds), default="60s", show_default=True,
              metavar="TIME",
              help="Time limit of a launch. Calls traced until then are kept.")  # fmt: skip
@cli_options.mpi_option
@click.option(
    "--transport",
    type=Parsed("transport", lazy_function("nodes.launch.transports", "known_transport")),
    metavar="ofi|verbs[:KEY=VALUE,…]",
    help="Transport of calls below MPI, e.g. ofi:provider=shm. Default: the call's own.",
)
@cli_options.nodelist_option()
@cli_options.lab_option()
@cli_options.launcher_option
@cli_options.ssh_config_option
@click.option(
    "--network",
    multiple=True,
    metavar="NAME",
    help="Path between the ranks: node (both on one node, as MPI chooses), loopback (TCP on one"
    " node), or a network. May be repeated. Default: node, and each network that joins the first"
    " two nodes.",
)
@_output_option
@cli_options.format_option("call_paths")
@cli_options.to_option
@cli_options.verbose_option
@cli_options.quiet_option("Print only the result, no progress.")
@click.pass_context
def path(ctx: click.Context, /, **options: Any) -> None:
    """Count what one MPI call executes: instructions, functions, cache lines, locks.

    Executes a call step by step from its first instruction to its return, in the unmodified MPI
    libraries: first cold, then warm. Needs no root, no hardware counters and no privileges. x86-64
    only.

    Exit status: 0 if all calls were traced, 3 if a call was not traced --repeats times.
    """
    if ctx.invoked_subcommand is not None:
        return

    directory, call_paths, interrupted = _trace_calls(options)
    directory.write_bytes("report.html", page("call_paths", call_paths))
    if not interrupted:
        directory.finish()
    print_report("call_paths", call_paths, options["format"], options["to"])
    click.echo(f"Traced paths {directory.path}", err=True)
    incomplete = any(call_path.problem for call_path in call_paths.paths) or not call_paths.paths
    ctx.exit(130 if interrupted else 3 if incomplete else 0)


def _trace_calls(options: Mapping[str, Any]) -> tuple[RunDirectory, CallPaths, bool]:
    sizes = options["sizes"] or DEFAULT_SIZES
    study = app.Study(options["calls"], sizes, options["repeats"], options["limit"])
    request = cli_options.build_request({**options, "sizes": None})
    with (
        progress_shown(options["quiet"]) as progress,
        locate_target(request, settings.load(), (), None, progress) as target,
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
@_output_option
@cli_options.format_option("call_path_changes")
@cli_options.to_option
@cli_options.verbose_option
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Show the differences between the traced paths of A and B.

    A and B are each a directory of traced paths, an identity or its beginning, or `latest`.
    Matches libraries by name without version, functions by name.

    Exit status: 0, or 3 if A and B have no call in common.
    """
    root = options["output"] or settings.path_root()
    comparison = compare_paths(stored_paths(root, a), stored_paths(root, b))
    print_report("call_path_changes", comparison, options["format"], options["to"])
    ctx.exit(0 if comparison.changes else 3)
