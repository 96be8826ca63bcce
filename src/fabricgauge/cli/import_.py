"""``fabricgauge import``: what other suites measured, judged by the same rules."""

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.options import Printing
from fabricgauge.cli.show import print_report, show
from fabricgauge.files.reading import shown
from fabricgauge.model.errors import UsageError
from fabricgauge.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from fabricgauge.app.import_logs import Source
    from fabricgauge.model.reference import Reference


@click.command("import")
@click.argument("logs", nargs=-1, required=True, metavar="FILE|DIR|REFERENCE...")
@click.option("--network", metavar="TEXT",
              help='What they were measured on, e.g. "25GbE mtu=9000", opa100, edr.')  # fmt: skip
@click.option("--hosts", metavar="[GLOB=]NODES", multiple=True,
              help="Where the ranks ran, in their order, e.g. c[1-2]; with GLOB= of the files that"
              " it fits, e.g. 'rack1/*=c[1-2]'. May be given several times.")  # fmt: skip
@of.against_option
@of.output_option()
@of.format_option()
@of.fail_on_option
@of.to_option
@click.pass_context
def import_(ctx: click.Context, /, logs: tuple[str, ...], **options: Any) -> None:
    """Read what other suites measured into a run, judge it and report.

    Output of OSU, IMB, perftest, iperf, NetPIPE, nccl-tests, nvbandwidth, ucx_perftest,
    rocm-bandwidth-test, fabtests, mpiGraph, GPCNeT, HPCC, netperf, sockperf, qperf,
    ucc_perftest, ibv_pingpong (rc, uc, ud, srq), SuperBench and ReFrame, text or JSON, is
    recognised by its content. A file may hold any mix of them, plain or gzip. A
    directory is read with all below it. You can state what a log does not say. What nobody
    states is reported as not known.

    A profile that `profile` wrote, or a report of mpiP or IPM's XML, is shown by itself.
    """
    from fabricgauge.app.conclude import reference_curves
    from fabricgauge.app.import_logs import import_logs, imported
    from fabricgauge.app.profile import is_profile
    from fabricgauge.cli.progress import Troubles

    if len(logs) == 1 and (path := Path(logs[0])).is_file() and is_profile(path):
        _import_profile(path, options)
        return
    said, told = settings.load(), Troubles()
    against = reference_curves(options["against"])
    sources = _placed(_sources(logs, options["network"]), options["hosts"])
    command = tuple(map(shown, sys.argv))
    judged, path = imported(
        options["output"] or settings.run_root(), said,
        lambda directory: import_logs(sources, directory, command, told), told, against,
    )  # fmt: skip
    printing = Printing(options["format"], options["fail_on"], options["to"])
    ctx.exit(show(judged, path, printing))


def _import_profile(path: Path, options: dict[str, Any]) -> None:
    """An application's profile instead of a suite's output: it is shown, and not judged."""
    from fabricgauge.app.profile import imported

    name = of.known_format("profile", options["format"])
    directory = RunDirectory.create(options["output"] or settings.run_root())
    try:
        found = imported(path, directory)
    except BaseException:
        directory.discard(copies=True)
        raise
    directory.finish()
    print_report("profile", found, name, options["to"], run_directory=str(directory.path))


def _placed(sources: "tuple[Source, ...]", stated: tuple[str, ...]) -> "tuple[Source, ...]":
    """Sources with the hosts of the first pattern that fits the name, in the given order.

    Hosts without a pattern are those of all files that no pattern fits.
    """
    from msgspec.structs import replace

    from fabricgauge.run.launchers.nodes import expand

    rows = [
        (glob, expand(nodes, option="--hosts"))
        for glob, _, nodes in (one.rpartition("=") for one in stated)
    ]
    rows.sort(key=lambda row: not row[0])

    def hosts(name: str) -> tuple[str, ...]:
        return next((nodes for glob, nodes in rows if _fits(name, glob)), ())

    return tuple(replace(one, hosts=hosts(one.name)) for one in sources)


def _fits(name: str, glob: str) -> bool:
    """Whether a pattern is of the name, or of its end behind a slash; an empty one is of all."""
    return not glob or fnmatchcase(name, glob) or fnmatchcase(name, f"*/{glob}")


def _reference(name: str) -> "Reference":
    """A reference; what is none and has no file either was most likely meant for a file.

    Raises:
        UsageError: there is neither.
    """
    from fabricgauge.references.interface import reference

    if "/" in name:
        raise UsageError(f"there is no file or directory {name}")
    try:
        return reference(name)
    except UsageError as error:
        raise UsageError(f"there is no file {name} here, and {error}") from error


def _sources(logs: tuple[str, ...], stated: str | None) -> "tuple[Source, ...]":
    """Files, all files of directories, and references by name, in the given order."""
    from fabricgauge.app.import_logs import Source, sources_of
    from fabricgauge.ceiling.stated import stated_network

    network = stated_network(stated) if stated else None
    found: list[Source] = []
    for log in logs:
        path = Path(log)
        if path.exists():
            found += sources_of(path, network)
            continue
        known = _reference(log)
        if not known.curves:
            raise UsageError(f"{log} is a table without curves: there is nothing to judge")
        its_own = stated_network(known.network) if known.network else None
        found.append(Source(known.name, known.curves, network or its_own))
    return tuple(found)
