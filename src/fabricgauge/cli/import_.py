"""``fabricgauge import``: judge the results of other suites by the same rules."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import Printing, show
from fabricgauge.model.errors import UsageError
from fabricgauge.model.features import load_all
from fabricgauge.store import settings
from fabricgauge.store.files.reading import shown

if TYPE_CHECKING:
    from fabricgauge.check.import_logs import Source
    from fabricgauge.model.reference import Reference


#: Name of standard input.
STANDARD_INPUT = "-"


@click.command("import", context_settings=HELP_OPTIONS)
@click.argument("logs", nargs=-1, required=True, metavar="FILE|DIR|REFERENCE|-...")
@click.option("--network", metavar="TEXT",
              help='Network of the measurements, e.g. "25GbE mtu=9000", opa100, edr.')  # fmt: skip
@click.option("--hosts", metavar="[GLOB=]NODES", multiple=True,
              help="Nodes of the ranks, in rank order, e.g. c[1-2]; a node with two ranks twice:"
              " c1,c1,c2,c2. With GLOB=, only for matching files, e.g. 'rack1/*=c[1-2]'. May be"
              " repeated.")  # fmt: skip
@click.option("--max-tables", type=click.IntRange(1, 10_000_000), default=20_000,
              show_default=True,
              help="Most tables of a file outside families; each takes some kB.")  # fmt: skip
@cli_options.against_option
@cli_options.output_option()
@cli_options.format_option()
@cli_options.fail_on_option
@cli_options.for_option
@cli_options.to_option
@cli_options.verbose_option
@click.pass_context
def import_(ctx: click.Context, /, logs: tuple[str, ...], **options: Any) -> None:
    """Read results of other suites into a run, judge it and report.

    `-` reads standard input. Recognises output by its content, text or JSON: OSU, IMB, perftest,
    iperf, NetPIPE, nccl-tests, nvbandwidth, ucx_perftest, rocm-bandwidth-test, fabtests, mpiGraph,
    mpi_nxnlatbw, GPCNeT, HPCC, netperf, sockperf, qperf, ucc_perftest, ibv_pingpong (rc, uc, ud,
    srq), SuperBench
    and ReFrame. A file may hold several of them, plain or gzip. A directory is read with all its
    subdirectories. State
    the network and the nodes if a log does not contain them; the report marks missing facts as
    unknown.

    A profile from `profile`, a report of mpiP and the XML of IPM are shown, not judged.
    """
    from fabricgauge.check.conclude import reference_curves
    from fabricgauge.check.import_logs import create_imported_run, import_logs
    from fabricgauge.cli.progress import Troubles

    cli_options.refuse_unwritten_report(ctx)
    if len(logs) == 1 and (path := Path(logs[0])).is_file():
        imported = (import_file(path, options) for import_file in load_all("imported"))
        if any(imported):
            return
    configured, troubles = settings.load(), Troubles()
    against = reference_curves(options["against"])
    command_line = tuple(map(shown, sys.argv))
    with _saved_input(logs) as saved:
        sources = _assign_hosts(_find_sources(logs, options["network"], saved), options["hosts"])
        judged, path = create_imported_run(
            options["output"] or settings.run_root(), configured,
            lambda directory: import_logs(
                sources, directory, command_line, troubles, options["max_tables"]
            ),
            troubles, against,
        )  # fmt: skip
    printing = Printing(options["format"], options["fail_on"], options["to"], options["form"])
    ctx.exit(show(judged, path, printing))


@contextmanager
def _saved_input(logs: tuple[str, ...]) -> Iterator[Path | None]:
    """Yield a file that holds standard input meanwhile if ``-`` is among the names, else None.

    Raises:
        UsageError: ``-`` is named twice.
    """
    if STANDARD_INPUT not in logs:
        yield None
        return
    if logs.count(STANDARD_INPUT) > 1:
        raise UsageError("name standard input once: -")
    if sys.stdin.isatty():
        click.echo("reading standard input; end it with Ctrl-D", err=True)
    with TemporaryDirectory(prefix="fabricgauge-") as folder:
        file = Path(folder) / "standard-input"
        with file.open("wb") as saved:
            shutil.copyfileobj(sys.stdin.buffer, saved)
        yield file


def _assign_hosts(sources: "tuple[Source, ...]", stated: tuple[str, ...]) -> "tuple[Source, ...]":
    """Return the sources, each with the hosts of the first pattern that matches its name.

    Hosts without a pattern belong to all files that no pattern matches.
    """
    from msgspec.structs import replace

    from fabricgauge.nodes.launch.launchers.nodes import expand_ranks

    rows = []
    for text in stated:
        glob, _, nodes = text.rpartition("=")
        rows.append((glob or "*", expand_ranks(nodes, option="--hosts"), not glob))
    rows.sort(key=lambda row: row[2])

    def find_hosts(name: str) -> tuple[str, ...]:
        """Return the hosts of the first pattern that matches the whole path or its last part."""
        matching = (
            hosts
            for glob, hosts, _ in rows
            if fnmatchcase(name, glob) or fnmatchcase(name, f"*/{glob}")
        )
        return next(matching, ())

    return tuple(replace(source, hosts=find_hosts(source.name)) for source in sources)


def _find_reference(name: str) -> "Reference":
    """Return the published result with that name.

    Raises:
        UsageError: no such result; the message mentions files, since the name may mean a file.
    """
    from fabricgauge.logs.references.interface import reference

    if "/" in name:
        raise UsageError(f"no such file or directory: {name}")
    try:
        return reference(name)
    except UsageError as error:
        raise UsageError(f"no file {name}, and {error}") from error


def _find_sources(
    logs: tuple[str, ...], stated: str | None, saved_input: Path | None
) -> "tuple[Source, ...]":
    """Return files, all files of directories, and published results, in the given order."""
    from fabricgauge.check.import_logs import Source, sources_of
    from fabricgauge.judge.ceiling.stated import stated_network

    network = stated_network(stated) if stated else None
    sources: list[Source] = []
    for log in logs:
        path = Path(log)
        if log == STANDARD_INPUT and saved_input:
            sources += sources_of(saved_input, network, "standard input")
            continue
        if path.exists():
            sources += sources_of(path, network)
            continue
        published = _find_reference(log)
        if not published.curves:
            raise UsageError(
                f"{log} is a table without curves: it holds nothing to judge; show it with:"
                f" fabricgauge references {published.name}"
            )
        published_network = stated_network(published.network) if published.network else None
        sources.append(Source(published.name, published.curves, network or published_network))
    return tuple(sources)
