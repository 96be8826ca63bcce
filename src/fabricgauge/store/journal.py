"""Record what a plan did to nodes: the plan itself, and every command as it was run.

    plan.json       the plan, and the command line that made it (``Planned``)
    journal.jsonl   one line for each event (``JournalEntry``), on disk before the next

The directory is the user's alone: contents of files stand in it. A line that a crash cut off is
left out by a reader. One process at a time writes a journal, and one at a time begins journals in
the same place: two plans made at once would take each other's work for a change from outside.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from fabricgauge.files.ownership import not_own
from fabricgauge.files.places import place
from fabricgauge.files.reading import read_bytes
from fabricgauge.files.writing import make_folder, reporting, stream
from fabricgauge.model.configuration import Configuration
from fabricgauge.model.errors import StoreError
from fabricgauge.store.holding import is_ours
from fabricgauge.store.run_directory import DAMAGED, now_utc, read_json, write_json

PLAN, LINES = "plan.json", "journal.jsonl"


class Planned(msgspec.Struct, frozen=True, tag_field="format", tag="fabricgauge-plan"):
    """plan.json. ``lab`` has the nodes, empty if no lab has them."""

    configuration: Configuration
    lab: str
    command: tuple[str, ...]
    version: str = "1.0"


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line. ``event`` is one of these; ``step`` counts from 1 in the plan's order.

    ``already``, ``begun``, ``made``, ``failed``, ``left``: what became of a step.
    ``starting``: a program that changes something is about to be run.
    ``command``, ``check``, ``undo``: a program was run, with all that it printed.
    ``undone``: a step was undone, as far as ``note`` does not say otherwise.
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
    """A journal that is being written."""

    def __init__(self, path: Path) -> None:
        """Go on with the journal in a directory; a line that a crash cut off goes.

        Raises:
            StoreError: its file cannot be opened, or another process writes it.
        """
        self.path = path
        with reporting("write", path / LINES):
            self._file = stream(path / LINES, anew=False)
            _lock(self._file.fileno(), path)
            whole = read_bytes(path / LINES, path).rpartition(b"\n")
            self._length = len(whole[0]) + len(whole[1])
            self._file.truncate(self._length)

    def write(self, entry: JournalEntry) -> None:
        """Append one line; it is on disk when this returns.

        Raises:
            StoreError: the disk is full or gone.
        """
        now = now_utc("%Y-%m-%dT%H:%M:%S.%fZ")
        left = line = msgspec.json.encode(msgspec.structs.replace(entry, at=now)) + b"\n"
        with reporting("write", self.path / LINES):
            try:
                while left:  # on a disk that is nearly full only a part is taken
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
            except OSError:
                with suppress(OSError):
                    self._file.truncate(self._length)
                raise
        self._length += len(line)

    def close(self) -> None:
        self._file.close()


@contextmanager
def alone(under: Path) -> Iterator[None]:
    """While no other process makes a plan with journals in the same place.

    Raises:
        StoreError: another process does, or there can be no such directory.
    """
    with reporting("make a journal in", under):
        make_folder(under)
        held = os.open(under, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if why := not_own(under):
            raise StoreError(
                f"no journal that can be undone is kept in {under}: {why}; name a directory that"
                " only you can change with --journals"
            )
        _lock(held, under)
        yield
    finally:
        os.close(held)


def _lock(file: int, path: Path) -> None:
    """Held until the file is closed, or the process ends in whatever way (flock(2)).

    NFS locks no directory (EBADF), and some file systems nothing: there it goes on without.
    """
    if not is_ours(file):
        raise StoreError(
            f"another configure is at work with {path}; wait until it has ended, or, if it is for"
            " other nodes, name another directory with --journals"
        )


def root() -> Path:
    """Where journals are kept by default."""
    return place("XDG_STATE_HOME") / "configure"


def begin(planned: Planned, under: Path) -> Journal:
    """A new journal in a directory of its own below ``under``, which is there; named by the time.

    Raises:
        StoreError: it cannot be made.
    """
    stamp = now_utc("%Y-%m-%d-%H%M%S")
    with reporting("make a journal in", under):
        path = _fresh(under, f"{stamp}-{planned.configuration.backend}")
    write_json(path / PLAN, planned, path)
    return Journal(path)


def _fresh(under: Path, name: str) -> Path:
    number = 1
    while True:
        path = under / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return path
        number += 1


def read(path: Path) -> tuple[Planned, tuple[JournalEntry, ...]]:
    """A journal's plan and its lines.

    Raises:
        StoreError: it is none, damaged before its last line, or not of this plan.
    """
    if path.is_dir() and not (path / PLAN).exists():
        raise StoreError(
            f"{path} is no journal: it has no {PLAN}; name the directory that --apply spoke of,"
            " such as 2026-11-22-143015-ip"
        )
    planned = read_json(path / PLAN, path, Planned)
    lines = path / LINES  # not there yet where the process ended before it began
    with reporting("read", path):
        raw = read_bytes(lines, path) if os.path.lexists(lines) else b""
    entries = tuple(_entries(path, raw))
    count = len(planned.configuration.steps)
    for one in entries:
        if not 1 <= one.step <= count:
            raise StoreError(
                f"{path / LINES} speaks of step {one.step}, and {PLAN} has {count}: they do not"
                " belong together"
            )
    return planned, entries


def require_own(path: Path) -> None:
    """Refuse a journal that others may change: its plan has the commands of the undoing.

    Raises:
        StoreError: it is not provably this user's own; the message says why.
    """
    files = (file for file in (path, path / PLAN, path / LINES) if os.path.lexists(file))
    if why := next(filter(None, map(not_own, files)), ""):
        raise StoreError(
            f"the journal {path} is not provably yours: {why}; none of its commands is run. Undo it"
            f" as the user who made it, or by hand after its {PLAN}"
        )


def _entries(path: Path, raw: bytes) -> Iterator[JournalEntry]:
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield msgspec.json.decode(line, type=JournalEntry)
        except DAMAGED as error:
            if number == len(lines):
                return
            raise StoreError(f"{path / LINES}, line {number} is damaged: {error}") from error
