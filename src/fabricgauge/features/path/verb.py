"""``fabricgauge path``: count what one MPI call executes, compare two MPIs, show what is stored."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from fabricgauge.check.target import StatedRequest, locate_target
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import (
    Parsed,
    lazy_function,
    list_parser,
    parse_seconds,
)
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import page, print_report, require_format
from fabricgauge.features.path import recording as app
from fabricgauge.features.path.changes_content import change_sections, compare_paths, headline
from fabricgauge.features.path.recording import FILE, read_paths, stored_paths
from fabricgauge.features.path.sde import is_listing, reference_paths, sde_files, sde_paths
from fabricgauge.features.path.values import CallPaths
from fabricgauge.logs.references.interface import reference
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.store import settings
from fabricgauge.store.files.reading import read_text, shown
from fabricgauge.store.run_directory import RunDirectory, describe, now_utc
from fabricgauge.store.run_files import About

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
        locate_target(StatedRequest(request, settings.load(), progress)) as target,
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


def show_stored(directory: RunDirectory, format_name: str, to: Path | None) -> Outcome:
    """Print traced paths, which are not judged."""
    print_report("call_paths", read_paths(directory), format_name, to)
    return Outcome.PASS


def list_stored(directory: RunDirectory) -> StoredRun:
    """Return traced paths as a list shows them."""
    paths = read_paths(directory)
    return describe(directory, "path", paths.started_utc, paths.nodes)


def compared_blocks(a: str, b: str) -> tuple[doc.Block, ...]:
    """Return a comparison of two published listings as a part of another report.

    Return nothing if one of them is no listing of a call's instructions.
    """
    references = reference(a), reference(b)
    if not all(map(is_listing, references)):
        return ()
    comparison = compare_paths(*map(reference_paths, references))
    return (
        doc.Paragraph(headline(comparison), kind="strong"),
        *(block for section in change_sections(comparison) for block in section.blocks),
    )


def import_file(path: Path, options: dict[str, Any]) -> bool:
    """Store and show a file of Intel SDE, which is not judged; return False for any other file."""
    if not sde_files(path):
        return False
    name = require_format("call_paths", options["format"])
    text = read_text(path)
    paths = sde_paths(path.name, (text,))
    directory = RunDirectory.create(options["output"] or settings.path_root())
    directory.raw("sde")
    directory.write_bytes("raw/sde/imported.txt", text.encode())
    paths = replace(paths, identity=directory.identity, started_utc=now_utc())
    command = ("fabricgauge", "import", shown(str(path)))
    directory.write("run.json", About(paths.started_utc, command, {"from": "Intel SDE"}))
    directory.write(FILE, paths)
    directory.finish()
    print_report("call_paths", paths, name, options["to"])
    click.echo(f"Traced paths {directory.path}", err=True)
    return True
