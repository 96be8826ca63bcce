"""Other suites' logs into a run like any other: read, stored, judged by the same rules."""

import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from fabricgauge import __version__
from fabricgauge.app.beside_logs import Beside, read_dump, read_printout
from fabricgauge.app.conclude import conclude, write_reports
from fabricgauge.app.progress import Progress
from fabricgauge.app.read_files import found_in, likest_in
from fabricgauge.app.refused import RefusedFile, refusal
from fabricgauge.files.reading import shown
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.judged import Judged
from fabricgauge.model.nccl import NcclDump
from fabricgauge.model.plan import Plan, Stopping
from fabricgauge.model.run import IMPORTED, Ended, Run
from fabricgauge.model.suite import LIMITED, UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.parse.suites import Found
from fabricgauge.settings import Settings
from fabricgauge.store import run_files
from fabricgauge.store.run_directory import RunDirectory, now_utc

#: Larger files are not copied into the run; it still has their names and sizes.
LARGEST_COPY_BYTES = 16 << 20

#: Records that are written at once: each write waits for the disk.
_MOST_AT_ONCE = 1024

#: What a run keeps of one file; tables beyond are not read, places beyond are counted.
MOST_CURVES = 20_000
MOST_UNPARSED = 1_000


class Source(msgspec.Struct, frozen=True):
    """Something to import: where it is from, and what is stated about it.

    ``network`` is None where nobody says what it was measured on; ``path`` where it is
    no file. ``hosts`` are those of its ranks, where they are stated for it. No link leads out of
    ``within``, the directory that was named, if one was.
    """

    name: str
    found: Iterable[Found]
    network: Network | None = None
    path: Path | None = None
    within: Path | None = None
    hosts: tuple[str, ...] = ()


def sources_of(path: Path, network: Network | None) -> tuple[Source, ...]:
    """A file itself, or all files in a directory and below, by name.

    Of a directory only regular files are taken, and links that stay inside. Files are called by
    their place in it, which is as much as a table has room for.
    """
    if not path.is_dir():
        return (_source(path, str(path), network, None),)
    top = path.resolve()
    return tuple(
        _source(one, str(one.relative_to(top.parent)), network, top) for one in _files_below(top)
    )


def _files_below(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        inside = (Path(folder, name) for name in sorted(names))
        yield from (path for path in inside if path.is_file())


def _source(path: Path, name: str, network: Network | None, within: Path | None) -> Source:
    return Source(shown(name), found_in(path, shown(name), within), network, path, within)


def import_logs(
    sources: Sequence[Source], directory: RunDirectory, command: tuple[str, ...], progress: Progress
) -> Run:
    """Read every source into a run; one that cannot be read does not end the others.

    Dumps of NCCL and printouts of nvidia-smi are evidence of the logs in the same folder.

    Raises:
        CannotRun: not one figure was found; the message says of each file what it seems to be,
            the line, and what was expected there.
    """
    sources = _with_evidence(sources, directory, progress)
    stated = {one.network.name: one.network for one in sources if one.network is not None}
    fabric = Fabric(nodes=(), unreached=(), networks=tuple(stated.values()))
    plan = Plan("import", Stopping(0.0, 0.0), False, (), tool="import")
    head, python = platform.node(), platform.python_version()
    environment = {"fabricgauge": __version__, "head": head, "python": python}
    about = run_files.About(now_utc(), command, environment)
    run_files.write_beginning(directory, about, fabric, plan)
    refused: list[RefusedFile] = []
    said: defaultdict[int, list[run_files.Record]] = defaultdict(list)
    entries = _entries(sources, directory, progress, refused)
    while some := list(islice(entries, _MOST_AT_ONCE)):
        run_files.append_results(directory, some)
        for one in some:
            said[one.launch].append(one.record)
    ends = [_started(number, source) for number, source in enumerate(sources, 1)]
    run_files.append_launch(directory, *ends)
    if len(refused) == len(sources):
        raise CannotRun(f"{refusal(refused)}; `fabricgauge import --help` lists the suites")
    launches = (run_files.launch_of(one.launch, said[one.launch], None, one) for one in ends)
    return Run(
        directory.identity, about.started_utc, command, environment, fabric, plan,
        tuple(launches), complete=True,
    )  # fmt: skip


def _with_evidence(
    sources: Sequence[Source], directory: RunDirectory, progress: Progress
) -> Sequence[Source]:
    """The logs, each with what lies beside it; a dump that cannot be read stays a source.

    Without a log printouts stay sources as well.
    """
    beside: defaultdict[Path | None, Beside] = defaultdict(Beside)
    logs, printouts = list[Source](), list[Source]()
    for one in sources:
        path, folder = one.path, _folder(one)
        dump = read_dump(path, one.name, one.within) if path else None
        if path and isinstance(dump, NcclDump):
            beside[folder].dumps.append(dump)
            directory.copy_raw("nccl-dumps", path, one.within, LARGEST_COPY_BYTES)
        elif isinstance(dump, UnparsedLine):
            progress.trouble(f"{one.name}: {dump.reason}")
            logs.append(msgspec.structs.replace(one, found=(dump,)))
        elif path and (parts := read_printout(path, one.within)):
            beside[folder].printouts.append((one.name, parts))
            printouts.append(one)
        else:
            logs.append(one)
    if beside and not (logs or printouts):
        raise CannotRun(
            f"{sources[0].name} is a dump of NCCL: it holds no figures; import"
            " the log of nccl-tests beside it as well"
        )
    for one in printouts if logs else ():
        if one.path:
            directory.copy_raw("nvidia-smi", one.path, one.within, LARGEST_COPY_BYTES)
    return [
        msgspec.structs.replace(one, found=beside[_folder(one)].joined(one.found))
        for one in logs or printouts
    ]


def _folder(source: Source) -> Path | None:
    return source.path.parent.absolute() if source.path else None


def imported(
    root: Path, settings: Settings, fill: Callable[[RunDirectory], Run], progress: Progress,
    against: tuple[SuiteCurve, ...] = (),
) -> tuple[Judged, Path]:  # fmt: skip
    """A new run below ``root``, which ``fill`` makes, judged and with reports, and where it is.

    Nothing is left of one that cannot be filled.
    """
    thresholds = thresholds_from(settings.thresholds, settings.thresholds_origin)
    directory = RunDirectory.create(root)
    try:
        run = fill(directory)
    except BaseException:
        directory.discard(copies=True)
        raise
    judged = conclude(run, thresholds, against)
    write_reports(directory, judged, progress)
    return judged, directory.path


def _entries(
    sources: Sequence[Source],
    directory: RunDirectory,
    progress: Progress,
    refused: list[RefusedFile],
) -> Iterator[run_files.ResultLine]:
    """Everything that the sources hold; those without a figure are added to ``refused``."""
    for number, source in enumerate(sources, 1):
        progress.stage(f"reading {source.name}")
        if source.path is not None:
            folder = f"import-{number:03}"
            directory.copy_raw(folder, source.path, source.within, LARGEST_COPY_BYTES)
        figures, without = False, RefusedFile(source.name)
        for one in kept(source.found, source.name, progress):
            figures = figures or (isinstance(one, SuiteCurve) and bool(one.points))
            without = without if figures else without.with_results((one,))
            yield run_files.ResultLine(number, 1, one)
        if not figures:
            if without.is_foreign and source.path is not None:
                nearest = likest_in(source.path, source.name, source.within)
                without = without.with_results((nearest,) if nearest else ())
            refused.append(without)


def _started(number: int, source: Source) -> run_files.LaunchLine:
    name = None if source.network is None else source.network.name
    ended = Ended(IMPORTED, 0, "", (source.name,), 0.0)
    return run_files.LaunchLine(number, 1, name, source.hosts, ended, ())


def kept(found: Iterable[Found], name: str, progress: Progress) -> Iterator[Found]:
    """What a run keeps of a file. Reading stops at the limit of tables, and that is said."""
    curves = unparsed = 0
    for one in found:
        if isinstance(one, SuiteCurve):
            curves += 1
            if curves > MOST_CURVES:
                limit = f"{MOST_CURVES:,} tables of a file; split it to import the rest"
                progress.trouble(
                    f"{name} is not read from line {one.first_line} on: a run keeps {limit}"
                )
                yield UnparsedLine(one.first_line, one.title, f"{LIMITED} {limit}", 1, name)
                break
        elif not one.reason.startswith(UNREADABLE):
            unparsed += 1
            if unparsed > MOST_UNPARSED:
                continue
        yield one
    if unparsed > MOST_UNPARSED:
        reason = f"only the first {MOST_UNPARSED:,} places that were not understood are kept"
        yield UnparsedLine(0, "", reason, unparsed - MOST_UNPARSED, name)
