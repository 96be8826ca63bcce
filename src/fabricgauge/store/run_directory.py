"""A run is a directory: one process writes it, renames it when complete, and never changes it.

Until then its name ends in ``.partial``. Each file is either written whole under another name and
renamed, or appended line by line, so that a run that is killed keeps all finished measurements. The
files need no locks: safe on NFS and Lustre. A list of runs reads only the few files that name kind,
start, nodes and verdict.

``run_lock`` lets one program at a time work on a run, by the kernel's lock (flock(2)), which ends
with the program, in whatever way. On NFS it holds for all hosts if the server has a lock manager.
The locked file names the program that works on the run.
"""

import fcntl
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.files import reading, writing
from fabricgauge.store.files.ownership import not_own
from fabricgauge.store.files.writing import open_kept, remove_folder, reporting

PARTIAL = ".partial"

#: Files that a resumption reads.
RESUMED_FROM = (
    "run.json", "batch.json", "design.json", "plan.json", "fabric.json", "jobs.jsonl",
)  # fmt: skip

#: Files that a run is judged from.
JUDGED_FROM = (
    "run.json", "plan.json", "fabric.json", "results.jsonl", "launches.jsonl", "transports.json",
    "libraries.json", "preflight.json",
)  # fmt: skip

#: Exceptions of a decoder for a damaged file; UnicodeDecodeError is for text that is no UTF-8.
DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_T = TypeVar("_T")


class RunDirectory:
    """A run directory that this process writes or reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Name of the run in its records, once known: a renamed run keeps it.
        self.stamp = ""
        self._appended: dict[str, writing.AppendedFile] = {}

    @classmethod
    def create(cls, root: Path) -> "RunDirectory":
        """Make a new directory ``<UTC time>-<short id>.partial`` under ``root``.

        Raises:
            StoreError: it cannot be made; the message has the reason and the path.
        """
        import secrets  # loads much, which reading does not need

        path = root / f"{now_utc('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(3)}{PARTIAL}"
        with writing.reporting("create", path, "choose another place with --output"):
            root.mkdir(0o755, parents=True, exist_ok=True)
            path.mkdir(writing.FOLDER_MODE)
            (path / "raw").mkdir(writing.FOLDER_MODE)
        return cls(path)

    @property
    def identity(self) -> str:
        return self.path.name.removesuffix(PARTIAL)

    @property
    def complete(self) -> bool:
        return not self.path.name.endswith(PARTIAL)

    @property
    def empty(self) -> bool:
        """Check that the run has no files except hidden ones."""
        return all(entry.is_dir() or entry.name.startswith(".") for entry in self.path.rglob("*"))

    @property
    def foreign(self) -> str:
        """Return why others may change the run, empty if only this user can."""
        files = (self.path / name for name in RESUMED_FROM)
        paths = (self.path, *(file for file in files if os.path.lexists(file)))
        return next(filter(None, map(not_own, paths)), "")

    def has(self, name: str) -> bool:
        """Check if the directory has a file or folder."""
        return (self.path / name).exists()

    def raw(self, name: str) -> Path:
        """Return the folder ``raw/<name>``, made if needed; ``name`` never comes from a host."""
        folder = self.path / "raw" / name
        with writing.reporting("create", folder):
            writing.make_folder(folder, self.path)
        return folder

    def keep_raw(self, folder: str, name: str, text: str) -> None:
        """Write a tool's raw output; characters that a file's name cannot have become _."""
        content = text.encode(errors="replace")
        write_whole(self.raw(folder) / f"{_file_name(name)}.txt", content, self.path)

    def copy_raw(self, folder: str, source: Path, within: Path | None, most_bytes: int) -> None:
        """Copy a file that was read, with its name and mode.

        A file that is longer than ``most_bytes`` or unreadable is not copied: its reader reports
        that. No link may lead out of ``within``. The copy is not synced to the disk, since the
        original still exists.
        """
        target = self.raw(folder) / _file_name(source.name)
        try:
            content = reading.read_bytes(source, within, most_bytes)
            mode = source.stat().st_mode & 0o777
        except OSError:
            return
        with writing.reporting("copy", source):
            writing.write_whole(target, content, self.path, sync=False, mode=mode)

    def write(self, name: str, value: Any) -> None:
        """Write a value as JSON, whole or not at all."""
        write_json(self.path / name, value, self.path)

    def write_bytes(self, name: str, data: bytes) -> None:
        write_whole(self.path / name, data, self.path)

    def finish_with(self, name: str, result: Any, page: bytes) -> None:
        """Write the result of a complete run and its page; the run gets its final name.

        Raises:
            StoreError: the disk is full or gone.
        """
        self.write(name, result)
        self.write_bytes("report.html", page)
        self.finish()

    def append(self, name: str, value: Any) -> None:
        """Append one line of JSON Lines; it is on disk when this returns."""
        self.append_all(name, (value,))

    def append_all(self, name: str, values: Iterable[Any]) -> None:
        """Append a line for each value; all are on disk when this returns."""
        lines = _encode_lines(values)
        with writing.reporting("write", self.path / name):
            writing.append(self.path / name, lines, self.path)

    def append_quickly(self, name: str, values: Iterable[Any]) -> None:
        """Append a line for each value; all are on disk within 0.2 s, or after ``sync``."""
        lines = _encode_lines(values)
        with writing.reporting("write", self.path / name):
            if name not in self._appended:
                self._appended[name] = writing.AppendedFile(self.path / name, self.path)
            self._appended[name].append(lines)

    def sync(self) -> None:
        """Wait until all appended lines are on disk."""
        for name in tuple(self._appended):
            with writing.reporting("write", self.path / name):
                self._appended.pop(name).close()

    def read(self, name: str, kind: type[_T], version: str = "") -> _T:
        """Read a value, of a format of this major ``version`` if it has versions.

        Raises:
            StoreError: the file is missing, unreadable, not valid, or has another version.
        """
        remedy = "is this a run directory?"
        return read_json(self.path / name, self.path, kind, remedy, version=version)

    def read_lines(self, name: str, decode: Callable[[bytes], _T]) -> tuple[list[_T], list[str]]:
        """Return all lines that can be decoded, and a sentence for each other line."""
        damaged: list[str] = []
        return list(self.decode_lines(name, decode, damaged)), damaged

    def decode_lines(
        self, name: str, decode: Callable[[bytes], _T], damaged: list[str]
    ) -> Iterator[_T]:
        """Yield each line that can be decoded; add a sentence to ``damaged`` for any other."""
        path = self.path / name
        with writing.reporting("read", path), suppress(FileNotFoundError):
            for number, line in enumerate(reading.read_lines(path, self.path), start=1):
                try:
                    value = decode(line)
                except DAMAGED as error:
                    damaged.append(f"{path.name} line {number} cannot be decoded: {error}")
                else:
                    yield value

    def discard(self, copies: bool = False) -> None:
        """Remove a directory without measurements, or with nothing but ``copies``."""
        if not self.complete and (copies or not (self.path / "results.jsonl").exists()):
            with suppress(OSError):
                remove_folder(self.path)

    def finish(self) -> None:
        """Give the directory its final name; after that it never changes."""
        self.sync()
        if self.complete:
            return
        final = self.path.with_name(self.identity)
        with writing.reporting("rename", self.path):
            self.path.rename(final)
        self.path = final


def _encode_lines(values: Iterable[Any]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def write_whole(path: Path, content: writing.Content, within: Path, *, sync: bool = True) -> None:
    """Write a file below ``within`` whole or not at all, through no link.

    Raises:
        StoreError: it cannot be written; the message has the reason.
    """
    with writing.reporting("write", path):
        writing.write_whole(path, content, within, sync=sync)


def write_json(path: Path, value: Any, within: Path) -> None:
    """Write a value below ``within`` as indented JSON, whole or not at all."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1), within)


def read_json(
    path: Path, within: Path, kind: type[_T], remedy: str = "", damaged: str = "", version: str = ""
) -> _T:
    """Return the value in a file below ``within``, through no link that leads out of it.

    A value with a ``version`` must have the same major one.

    Raises:
        StoreError: it cannot be read, with ``remedy``; it is not valid, with ``damaged``; or it has
            another version.
    """
    with writing.reporting("read", path, remedy):
        content = reading.read_bytes(path, within)
    try:
        value = msgspec.json.decode(content, type=kind)
    except DAMAGED as error:
        raise StoreError(f"{path} is damaged: {error}{damaged}") from error
    written = getattr(value, "version", "") if version else ""
    if written.partition(".")[0] != version.partition(".")[0]:
        raise StoreError(
            f"{path} has version {written}; this program reads {version}: use the fabricgauge that"
            " wrote it, or a newer one"
        )
    return value


#: The file of a run, and those of a comparison and a campaign, whose runs lie in their directory.
_RUN_FILES = ("run.json", "design.json", "campaign.json")


def is_run(path: Path) -> bool:
    """Check whether a directory holds a run, or runs that belong together."""
    return any((path / name).exists() for name in _RUN_FILES)


def find(root: Path, name: str) -> RunDirectory:
    """Return the run with a name: a path, an identity or its beginning, or ``latest``.

    Raises:
        StoreError: no run, or several; the message lists them.
    """
    if "/" in name or Path(name).is_dir():
        path = Path(name)
        final = path.with_name(path.name.removesuffix(PARTIAL))
        for directory in (path, final):  # the run may have become complete in the meantime
            if directory.is_dir():
                return RunDirectory(directory.resolve())
        raise StoreError(f"{path} is not a directory; a run is a directory with a plan.json")
    return _find_identity(root, name)


def _find_identity(root: Path, name: str) -> RunDirectory:
    with writing.reporting("list", root, "name the directory with --output"):
        runs = sorted(entry for entry in root.iterdir() if is_run(entry))
    matching = runs[-1:] if name == "latest" else [run for run in runs if run.name.startswith(name)]
    if len(matching) == 1:
        return RunDirectory(matching[0].resolve())
    if not runs:
        raise StoreError(f"{root} holds no run; measure one, or name the directory with --output")
    names = ", ".join(run.name for run in (matching or runs)[-5:])
    problem = "several runs begin with" if matching else "no run begins with"
    raise StoreError(f"{problem} {name!r} in {root}; the last are {names}")


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:200].lstrip(".") or "_"


def now_utc(form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    """Return the time in the form of stored files: ISO 8601 in UTC, whole seconds."""
    return datetime.now(timezone.utc).strftime(form)


#: ``20261126T205147Z-5c14f7``: the start of a run.
_NAME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-")


class _About(msgspec.Struct, frozen=True):
    """The part of run.json that a list shows."""

    started_utc: str


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    nodes: tuple[str, ...] = ()


class _Fabric(msgspec.Struct, frozen=True):
    nodes: tuple[_Named, ...] = ()


class _Plan(msgspec.Struct, frozen=True):
    tool: str = ""


class _Report(msgspec.Struct, frozen=True):
    overall: Outcome | None = None


class _Verdict(msgspec.Struct, frozen=True):
    outcome: str = ""


#: Outcomes that a run has only if a verdict has them; with one of them no run passes.
_GRAVE = frozenset({"FAIL", "INVALID"})


def run_directories(root: Path) -> Iterator[RunDirectory]:
    """Yield the runs below ``root``, the newest first; none if there is no such directory."""
    if root.is_dir():
        for entry in sorted(root.iterdir(), key=lambda entry: entry.name, reverse=True):
            if is_run(entry):
                yield RunDirectory(entry)


def describe_run(directory: RunDirectory) -> StoredRun:
    """Return a measured or imported run.

    Raises:
        StoreError: a file is damaged.
    """
    started_utc, kind = directory.read("run.json", _About).started_utc, "check"
    if directory.has("batch.json"):
        kind = "submit"
    elif directory.has("plan.json") and directory.read("plan.json", _Plan).tool == "import":
        kind = "import"
    return describe(directory, kind, started_utc, read_nodes(directory), read_overall(directory))


def describe(
    directory: RunDirectory, kind: str, started_utc: str = "", nodes: tuple[str, ...] = (),
    verdict: str = "", problem: str = "",
) -> StoredRun:  # fmt: skip
    """Return a run as a list shows it; its name has the start if ``started_utc`` is unknown."""
    if not started_utc and (match := _NAME.match(directory.identity)):
        started_utc = "{}-{}-{}T{}:{}:{}Z".format(*match.groups())
    path = str(directory.path)
    return StoredRun(path, kind, started_utc, nodes, verdict, directory.complete, problem)


def read_nodes(directory: RunDirectory, folder: str = "") -> tuple[str, ...]:
    """Return the nodes of a run, or of the run in ``folder``, which ends with a slash."""
    name = f"{folder}fabric.json"
    if not directory.has(name):
        return ()
    return tuple(node.name for node in directory.read(name, _Fabric).nodes)


def read_overall(directory: RunDirectory) -> str:
    """Return the outcome of the day of the measurement, or empty; its records are not judged.

    Raises:
        StoreError: a file is damaged, or report.json and verdicts.json contradict each other.
    """
    if not directory.has("report.json"):
        return ""
    read = directory.read("report.json", _Report).overall
    overall = read.value if read else ""
    if not directory.has("verdicts.json"):
        return overall
    verdicts = directory.read("verdicts.json", tuple[_Verdict, ...])
    grave = {verdict.outcome for verdict in verdicts} & _GRAVE
    if overall in grave or (overall not in _GRAVE and (overall == "INCONCLUSIVE" or not grave)):
        return overall
    raise StoreError(
        f"report.json says {overall}, verdicts.json {' and '.join(sorted(grave)) or 'not'}: one"
        f" was edited; fabricgauge report {directory.identity} judges the records"
    )


OWNER = ".owner.json"

_MOST_BYTES = 4096


class RunOwner(msgspec.Struct, frozen=True):
    """The program that works on a run."""

    host: str
    pid: int
    since_utc: str


@contextmanager
def run_lock(directory: RunDirectory) -> Iterator[None]:
    """Hold the lock of a run while it is measured, collected or judged.

    Raises:
        UsageError: another program has the lock; the message names it.
        StoreError: the run directory cannot be written.
    """
    path = directory.path
    with reporting("write", path / OWNER):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            file = _lock_owner_file(folder, path)
        except BaseException:
            os.close(folder)
            raise
    try:
        yield
    finally:
        with suppress(OSError):  # the run may have been discarded
            os.unlink(OWNER, dir_fd=folder)
        os.close(file)
        os.close(folder)


def _lock_owner_file(folder: int, path: Path) -> int:
    while True:
        file = open_kept(OWNER, folder)
        try:
            if not try_lock(file):
                raise UsageError(_describe_owner(path, file))
            if _has_name(file, folder):
                owner = RunOwner(platform.node(), os.getpid(), now_utc())
                os.ftruncate(file, 0)
                os.pwrite(file, msgspec.json.encode(owner), 0)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def try_lock(file: int) -> bool:
    """Lock a file; return False if another program has the lock.

    On a file system without locks each program gets it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _has_name(file: int, folder: int) -> bool:
    """Check that the file still has its name: the last owner may just have removed it."""
    with suppress(FileNotFoundError):
        named = os.stat(OWNER, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(os.fstat(file), named)
    return False


def _describe_owner(path: Path, file: int) -> str:
    try:
        owner = msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=RunOwner)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # it has not written its name yet
        return f"another program works on {path}; wait until it has ended"
    worker = f"process {owner.pid} on {owner.host}"
    return f"{worker} works on {path} since {owner.since_utc}; wait until it has ended, or end it"
