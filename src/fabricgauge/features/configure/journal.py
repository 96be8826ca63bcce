"""Record what a plan did to nodes: the plan itself, and every command as it was run.

    plan.json       the plan, and the command line that made it (``Planned``)
    journal.jsonl   one line for each event (``JournalEntry``), on disk before the next

Only the user can read the directory, since it holds contents of files. A reader ignores a last line
that a crash cut off. One process at a time writes a journal, and one at a time begins journals in
the same directory: two plans at once would take each other's changes for foreign changes.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

import msgspec

from fabricgauge.features.configure.job import Configuration
from fabricgauge.model.errors import StoreError
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.reading import read_bytes
from fabricgauge.store.files.writing import make_folder, reporting, stream
from fabricgauge.store.run_directory import DAMAGED, now_utc, read_json, try_lock, write_json

PLAN, LINES = "plan.json", "journal.jsonl"


class Planned(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-plan"):
    """plan.json. ``lab`` has the nodes, empty if no lab has them."""

    configuration: Configuration
    lab: str
    command: tuple[str, ...]
    version: str = "1.0"


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a journal; ``step`` counts from 1 in the plan's order. Values of ``event``:

    ``already``, ``begun``, ``made``, ``failed``, ``left``: the state of a step.
    ``starting``: a program that changes something starts now.
    ``command``, ``check``, ``undo``: a program has run; its whole output follows.
    ``undone``: a step was undone, except for the parts in ``note``.
    """

    event: str
    step: int
    at: str = ""
    node: str = ""
    argv: tuple[str, ...] = ()
    stdin: str = ""
    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    wall_s: float = 0.0
    timed_out: bool = False
    note: str = ""


class Journal:
    """A journal that this process writes."""

    def __init__(self, path: Path) -> None:
        """Continue the journal in a directory; remove a last line that a crash cut off.

        Raises:
            StoreError: its file cannot be opened, or another process writes it.
        """
        self.path = path
        with reporting("write", path / LINES):
            self._file = stream(path / LINES, anew=False)
            _lock(self._file.fileno(), path)
            complete_lines, newline, _ = read_bytes(path / LINES, path).rpartition(b"\n")
            self._length = len(complete_lines) + len(newline)
            self._file.truncate(self._length)

    def write(self, entry: JournalEntry) -> None:
        """Append one line; it is on disk when this returns.

        Raises:
            StoreError: the disk is full or gone.
        """
        now = now_utc("%Y-%m-%dT%H:%M:%S.%fZ")
        pending = line = msgspec.json.encode(msgspec.structs.replace(entry, at=now)) + b"\n"
        with reporting("write", self.path / LINES):
            try:
                while pending:  # a disk that is nearly full accepts only a part
                    pending = pending[self._file.write(pending) :]
                os.fsync(self._file.fileno())
            except OSError:
                with suppress(OSError):
                    self._file.truncate(self._length)
                raise
        self._length += len(line)

    def close(self) -> None:
        self._file.close()


@contextmanager
def journals_lock(under: Path) -> Iterator[None]:
    """Lock a directory of journals while this process makes a plan.

    Raises:
        StoreError: another process has the lock, or the directory cannot be made.
    """
    with reporting("make a journal in", under):
        make_folder(under)
        folder = os.open(under, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if reason := not_own(under):
            raise StoreError(
                f"a journal in {under} could not be undone: {reason}; name a directory that only"
                " you can change with --journals"
            )
        _lock(folder, under)
        yield
    finally:
        os.close(folder)


def _lock(file: int, path: Path) -> None:
    """Lock until the file is closed or the process ends (flock(2)).

    NFS locks no directory (EBADF), and some file systems lock nothing: then it has no effect.
    """
    if not try_lock(file):
        raise StoreError(
            f"another configure works with {path}; wait until it has ended, or, if it configures"
            " other nodes, name another directory with --journals"
        )


def root() -> Path:
    return place("XDG_STATE_HOME") / "configure"


def begin(planned: Planned, under: Path) -> Journal:
    """Return a new journal in a new directory below ``under``, which exists; the time is its name.

    Raises:
        StoreError: it cannot be made.
    """
    stamp = now_utc("%Y-%m-%d-%H%M%S")
    name = f"{stamp}-{planned.configuration.backend}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    with reporting("make a journal in", under):
        for path in (under / name for name in names):
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
                break
    write_json(path / PLAN, planned, path)
    return Journal(path)


def read(path: Path) -> tuple[Planned, tuple[JournalEntry, ...]]:
    """Return a journal's plan and its lines.

    Raises:
        StoreError: no journal, damaged before its last line, or not of this plan.
    """
    if path.is_dir() and not (path / PLAN).exists():
        raise StoreError(
            f"{path} is no journal: it has no {PLAN}; name the directory that --apply printed,"
            " such as 2026-11-22-143015-ip"
        )
    planned = read_json(path / PLAN, path, Planned)
    lines = path / LINES  # missing if the process ended before the first line
    with reporting("read", path):
        raw = read_bytes(lines, path) if os.path.lexists(lines) else b""
    steps, entries, raw_lines = len(planned.configuration.steps), [], raw.split(b"\n")
    for number, line in enumerate(raw_lines, 1):
        try:
            entry = msgspec.json.decode(line, type=JournalEntry) if line else None
        except DAMAGED as error:
            if number == len(raw_lines):
                break
            raise StoreError(f"{lines}, line {number} is damaged: {error}") from error
        if entry is None:
            continue
        if not 1 <= entry.step <= steps:
            raise StoreError(
                f"{lines} has step {entry.step}, but {PLAN} has {steps} steps: they do not belong"
                " together"
            )
        entries.append(entry)
    return planned, tuple(entries)


def require_own(path: Path) -> None:
    """Refuse a journal that others may change: its plan has the undo commands.

    Raises:
        StoreError: it is not provably this user's own; the message has the reason.
    """
    files = (file for file in (path, path / PLAN, path / LINES) if os.path.lexists(file))
    if reason := next(filter(None, map(not_own, files)), ""):
        raise StoreError(
            f"the journal {path} is not provably yours: {reason}; none of its commands is run."
            f" Undo it as the user who made it, or by hand with its {PLAN}"
        )
