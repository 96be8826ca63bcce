"""Import other suites' logs into a run: read, store, judge by the same rules."""

import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from fabricgauge import __version__
from fabricgauge.check.conclude import conclude, write_reports
from fabricgauge.judge.thresholds import FOLD_FROM, thresholds_from
from fabricgauge.logs.beside_logs import Companions, read_dump, read_printout
from fabricgauge.logs.read_files import read_large_file
from fabricgauge.logs.refused import RefusedFile, find_likest_line, refusal
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.judged import Judged
from fabricgauge.model.nccl import NcclDump
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.progress import Progress
from fabricgauge.model.run import IMPORTED, Ended, Run
from fabricgauge.model.suite import (
    LIMITED,
    UNREADABLE,
    LogContent,
    SuiteCurve,
    TableFamily,
    UnparsedLine,
)
from fabricgauge.store import run_files
from fabricgauge.store.files.reading import shown
from fabricgauge.store.run_directory import RunDirectory, now_utc
from fabricgauge.store.settings import Settings

#: Largest file that is copied into the run; of larger files it keeps name and size.
MAX_COPY_BYTES = 16 << 20

#: Records of one write: each write waits for the disk.
_BATCH_RECORDS = 1024

#: What a run keeps of one file by default: further tables are not read, further lines are counted.
MAX_CURVES = 20_000
MAX_UNPARSED = 1_000


class Source(msgspec.Struct, frozen=True):
    """Hold something to import: where it comes from, and what the user states about it.

    ``network`` is None if the network is unknown; ``path`` is None if it is no file. ``hosts`` are
    those of its ranks, if they are stated. No link may lead out of ``within``, the directory that
    the user named, if there is one.
    """

    name: str
    contents: Iterable[LogContent]
    network: Network | None = None
    path: Path | None = None
    within: Path | None = None
    hosts: tuple[str, ...] = ()


def sources_of(path: Path, network: Network | None, name: str = "") -> tuple[Source, ...]:
    """Return a file as a source, or all files in a directory and below, by name.

    ``name`` replaces the file's path in messages.

    Only regular files are taken from a directory, and links that stay inside. Files are called by
    their place in it, which fits into a table.
    """
    if not path.is_dir():
        return (_source(path, name or str(path), network, None),)
    top = path.resolve()
    return tuple(
        _source(file, str(file.relative_to(top.parent)), network, top) for file in _files_below(top)
    )


def _files_below(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        inside = (Path(folder, name) for name in sorted(names))
        yield from (path for path in inside if path.is_file())


def _source(path: Path, name: str, network: Network | None, within: Path | None) -> Source:
    contents = read_large_file(path, shown(name), within, FOLD_FROM)
    return Source(shown(name), contents, network, path, within)


def import_logs(
    sources: Sequence[Source],
    directory: RunDirectory,
    command: tuple[str, ...],
    progress: Progress,
    max_tables: int = 0,
) -> Run:
    """Read every source into a run; one that cannot be read does not end the others.

    ``max_tables`` is the limit of tables of a file; 0 is the default limit.
    Dumps of NCCL and printouts of nvidia-smi are evidence for the logs in the same folder.

    Raises:
        CannotRun: no figure was found; the message names for each file what it seems to be, the
            line, and what was expected there.
    """
    sources = _add_evidence(sources, directory, progress)
    stated = {
        source.network.name: source.network for source in sources if source.network is not None
    }
    fabric = Fabric(nodes=(), unreached=(), networks=tuple(stated.values()))
    plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
    head, python = platform.node(), platform.python_version()
    environment = {"fabricgauge": __version__, "head": head, "python": python}
    about = run_files.About(now_utc(), command, environment)
    run_files.write_beginning(directory, about, fabric, plan)
    refused: list[RefusedFile] = []
    records: defaultdict[int, list[run_files.Record]] = defaultdict(list)
    entries = _entries(sources, directory, progress, refused, max_tables)
    for batch in _batches(entries):
        run_files.append_results(directory, batch)
        for entry in batch:
            records[entry.launch].append(entry.record)
    ends = [_started(number, source) for number, source in enumerate(sources, 1)]
    run_files.append_launch(directory, *ends)
    if len(refused) == len(sources):
        raise CannotRun(f"{refusal(refused)}; fabricgauge import --help lists the suites")
    launches = (run_files.launch_of(end.launch, records[end.launch], None, end) for end in ends)
    return Run(
        directory.identity, about.started_utc, command, environment, fabric, plan,
        tuple(launches), complete=True,
    )  # fmt: skip


def _batches(entries: Iterable[run_files.ResultLine]) -> Iterator[list[run_files.ResultLine]]:
    """Yield the lines of one write; a family has a megabyte or so and ends one."""
    batch = list[run_files.ResultLine]()
    for entry in entries:
        batch.append(entry)
        if len(batch) >= _BATCH_RECORDS or isinstance(entry.record, TableFamily):
            yield batch
            batch = []
    if batch:
        yield batch


def _add_evidence(
    sources: Sequence[Source], directory: RunDirectory, progress: Progress
) -> Sequence[Source]:
    """Return the logs, each with the evidence beside it; a damaged dump stays a source.

    Without a log, printouts stay sources as well.
    """
    companions: defaultdict[Path | None, Companions] = defaultdict(Companions)
    logs, printouts = list[Source](), list[Source]()
    for source in sources:
        path, folder = source.path, _folder_of(source)
        dump = read_dump(path, source.name, source.within) if path else None
        if path and isinstance(dump, NcclDump):
            companions[folder].dumps.append(dump)
            directory.copy_raw("nccl-dumps", path, source.within, MAX_COPY_BYTES)
        elif isinstance(dump, UnparsedLine):
            progress.trouble(f"{source.name}: {dump.reason}")
            logs.append(msgspec.structs.replace(source, contents=(dump,)))
        elif path and (parts := read_printout(path, source.within)):
            companions[folder].printouts.append((source.name, parts))
            printouts.append(source)
        else:
            logs.append(source)
    if companions and not (logs or printouts):
        raise CannotRun(
            f"{sources[0].name} is a dump of NCCL without figures; import the log of nccl-tests"
            " beside it as well"
        )
    for source in printouts if logs else ():
        if source.path:
            directory.copy_raw("nvidia-smi", source.path, source.within, MAX_COPY_BYTES)
    return [
        msgspec.structs.replace(
            source, contents=companions[_folder_of(source)].join_evidence(source.contents)
        )
        for source in logs or printouts
    ]


def _folder_of(source: Source) -> Path | None:
    return source.path.parent.absolute() if source.path else None


def create_imported_run(
    root: Path, settings: Settings, fill: Callable[[RunDirectory], Run], progress: Progress,
    against: tuple[SuiteCurve, ...] = (),
) -> tuple[Judged, Path]:  # fmt: skip
    """Create a run below ``root``, fill and judge it, write its reports; return it and its path.

    A run that cannot be filled leaves nothing.
    """
    thresholds = thresholds_from(settings.thresholds, settings.thresholds_origin)
    directory = RunDirectory.create(root)
    try:
        run = fill(directory)
    except BaseException:
        directory.discard(copies=True)
        raise
    judged = conclude(run, thresholds, against)
    write_reports(directory, judged, thresholds, progress)
    return judged, directory.path


def _entries(
    sources: Sequence[Source],
    directory: RunDirectory,
    progress: Progress,
    refused: list[RefusedFile],
    max_tables: int,
) -> Iterator[run_files.ResultLine]:
    """Yield the contents of the sources; add those without a figure to ``refused``."""
    for number, source in enumerate(sources, 1):
        progress.stage(f"reading {source.name}")
        if source.path is not None:
            folder = f"import-{number:03}"
            directory.copy_raw(folder, source.path, source.within, MAX_COPY_BYTES)
        figures, without = False, RefusedFile(source.name)
        for content in limit_contents(source.contents, source.name, progress, max_tables):
            if isinstance(content, TableFamily):
                figures = True
            else:
                figures = figures or (isinstance(content, SuiteCurve) and _shows_result(content))
                without = without if figures else without.with_results((content,))
            yield run_files.ResultLine(number, 1, content)
        if not figures:
            if without.is_foreign and source.path is not None:
                nearest = find_likest_line(source.path, source.name, source.within)
                without = without.with_results((nearest,) if nearest else ())
            refused.append(without)


def _shows_result(curve: SuiteCurve) -> bool:
    """Check for a figure, or for wrong data: a fault of the network needs no figure."""
    return bool(curve.points) or any(failure.trouble == "corrupt" for failure in curve.failures)


def _started(number: int, source: Source) -> run_files.LaunchLine:
    name = None if source.network is None else source.network.name
    ended = Ended(IMPORTED, 0, "", (source.name,), 0.0)
    return run_files.LaunchLine(number, 1, name, source.hosts, ended, ())


def limit_contents(
    contents: Iterable[LogContent], name: str, progress: Progress, max_tables: int = 0
) -> Iterator[LogContent]:
    """Yield what a run keeps of a file. Reading stops at the limit of tables, and reports it.

    Tables of a family do not count.
    """
    curves = unparsed = 0
    most = max_tables or MAX_CURVES
    for content in contents:
        if isinstance(content, SuiteCurve):
            curves += 1
            if curves > most:
                limit = f"{most:,} tables of a file; --max-tables of import raises this"
                progress.trouble(
                    f"{name}: lines from {content.first_line} on are not read: a run keeps {limit}"
                )
                yield UnparsedLine(content.first_line, content.title, f"{LIMITED} {limit}", 1, name)
                break
        elif isinstance(content, UnparsedLine) and not content.reason.startswith(UNREADABLE):
            unparsed += 1
            if unparsed > MAX_UNPARSED:
                continue
        yield content
    if unparsed > MAX_UNPARSED:
        reason = f"the run keeps only the first {MAX_UNPARSED:,} unparsed lines"
        yield UnparsedLine(0, "", reason, unparsed - MAX_UNPARSED, name)
