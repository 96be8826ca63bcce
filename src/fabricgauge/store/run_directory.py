"""A run is a directory: written by one process, renamed when complete, then never changed.

While it is being written its name ends in ``.partial``. Everything in it is either
written whole under another name and renamed, or appended line by line, so that a
run that dies at any point keeps all that it measured. No locks: safe on NFS and Lustre.
"""

import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fabricgauge.files import reading, writing
from fabricgauge.files.ownership import not_own
from fabricgauge.files.removing import remove_folder
from fabricgauge.model.errors import StoreError

PARTIAL = ".partial"

#: Files that a resumption reads.
RESUMED_FROM = (
    "run.json", "batch.json", "design.json", "plan.json", "fabric.json", "jobs.jsonl",
)  # fmt: skip

#: What a decoder raises; that a text is no UTF-8 it finds when it comes to it.
DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_T = TypeVar("_T")


class RunDirectory:
    """One run directory that this process writes, or reads."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, root: Path) -> "RunDirectory":
        """A new directory ``<UTC time>-<short id>.partial`` under ``root``.

        Raises:
            StoreError: it cannot be made, with the reason and the path.
        """
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
        """Whether there is nothing in it that a reader could want."""
        return all(one.is_dir() or one.name.startswith(".") for one in self.path.rglob("*"))

    @property
    def foreign(self) -> str:
        """Return why others may change the run, empty if only this user can."""
        files = (self.path / name for name in RESUMED_FROM)
        places = (self.path, *(file for file in files if os.path.lexists(file)))
        return next(filter(None, map(not_own, places)), "")

    def raw(self, name: str) -> Path:
        """The folder ``raw/<name>``, made if need be; ``name`` is ours, never a host's."""
        folder = self.path / "raw" / name
        with writing.reporting("create", folder):
            writing.make_folder(folder, self.path)
        return folder

    def keep_raw(self, folder: str, name: str, text: str) -> None:
        """Keep a tool's raw output; characters of ``name`` that a file cannot have become _."""
        content = text.encode(errors="replace")
        write_whole(self.raw(folder) / f"{_file_name(name)}.txt", content, self.path)

    def copy_raw(self, folder: str, source: Path, within: Path | None, most_bytes: int) -> None:
        """Keep a copy of a file that was read, under its own name and with its own mode.

        A file that is longer than ``most_bytes`` or cannot be read is not copied: its reader says
        so. No link may lead out of ``within``. The copy is not synced to the disk: the original is
        still there.
        """
        place = self.raw(folder) / _file_name(source.name)
        try:
            content = reading.read_bytes(source, within, most_bytes)
            mode = source.stat().st_mode & 0o777
        except OSError:
            return
        with writing.reporting("copy", source):
            writing.write_whole(place, content, self.path, sync=False, mode=mode)

    def write(self, name: str, value: Any) -> None:
        """Write a value as JSON, whole or not at all."""
        write_json(self.path / name, value, self.path)

    def write_bytes(self, name: str, data: bytes) -> None:
        write_whole(self.path / name, data, self.path)

    def append(self, name: str, value: Any) -> None:
        """Append one line of JSON Lines; it is on disk when this returns."""
        self.append_all(name, (value,))

    def append_all(self, name: str, values: Iterable[Any]) -> None:
        """Append a line for each value; all are on disk when this returns."""
        lines = b"".join(msgspec.json.encode(value) + b"\n" for value in values)
        with writing.reporting("write", self.path / name):
            writing.append(self.path / name, lines, self.path)

    def read(self, name: str, kind: type[_T]) -> _T:
        """Read a value back.

        Raises:
            StoreError: the file is missing, unreadable or not what was expected.
        """
        return read_json(self.path / name, self.path, kind, "is this a run directory?")

    def read_lines(self, name: str, decode: Callable[[bytes], _T]) -> tuple[list[_T], list[str]]:
        """All lines that can be decoded, and a sentence for each that cannot."""
        path = self.path / name
        values: list[_T] = []
        damaged: list[str] = []
        lines: list[bytes] = []
        with writing.reporting("read", path), suppress(FileNotFoundError):
            lines = reading.read_bytes(path, self.path).splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                values.append(decode(line))
            except DAMAGED as error:
                damaged.append(f"{path.name} line {number} was not understood: {error}")
        return values, damaged

    def discard(self, copies: bool = False) -> None:
        """Remove a directory in which nothing was measured, or that holds ``copies`` only."""
        if not self.complete and (copies or not (self.path / "results.jsonl").exists()):
            with suppress(OSError):
                remove_folder(self.path)

    def finish(self) -> None:
        """Give the directory its final name; from now on it is never changed."""
        if self.complete:
            return
        final = self.path.with_name(self.identity)
        with writing.reporting("rename", self.path):
            self.path.rename(final)
        self.path = final


def write_whole(path: Path, content: writing.Content, within: Path, *, sync: bool = True) -> None:
    """Write a file below ``within`` whole or not at all, through no link.

    Raises:
        StoreError: it cannot be written, with the reason.
    """
    with writing.reporting("write", path):
        writing.write_whole(path, content, within, sync=sync)


def write_json(path: Path, value: Any, within: Path) -> None:
    """Write a value below ``within`` as JSON that people can read, whole or not at all."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1), within)


def read_json(path: Path, within: Path, kind: type[_T], remedy: str = "", damaged: str = "") -> _T:
    """The value of a file below ``within``, through no link that leads out of it.

    Raises:
        StoreError: it cannot be read, and ``remedy``; or it is ``damaged``.
    """
    with writing.reporting("read", path, remedy):
        content = reading.read_bytes(path, within)
    try:
        return msgspec.json.decode(content, type=kind)
    except DAMAGED as error:
        raise StoreError(f"{path} is damaged: {error}{damaged}") from error


def find(root: Path, wanted: str) -> RunDirectory:
    """The run that ``wanted`` names: a path, an identity or its beginning, or ``latest``.

    Raises:
        StoreError: there is none, or more than one; the message lists them.
    """
    if "/" in wanted or Path(wanted).is_dir():
        path = Path(wanted)
        final = path.with_name(path.name.removesuffix(PARTIAL))
        for there in (path, final):  # a run may be complete since its name was shown
            if there.is_dir():
                return RunDirectory(there.resolve())
        raise StoreError(f"{path} is not a directory; a run is a directory with a plan.json")
    return _by_identity(root, wanted)


def _by_identity(root: Path, wanted: str) -> RunDirectory:
    with writing.reporting("list", root, "name the place with --output"):
        runs = sorted(entry for entry in root.iterdir() if (entry / "run.json").exists())
    matching = runs[-1:] if wanted == "latest" else [r for r in runs if r.name.startswith(wanted)]
    if len(matching) == 1:
        return RunDirectory(matching[0].resolve())
    if not runs:
        raise StoreError(f"{root} holds no run; measure one, or name the place with --output")
    names = ", ".join(run.name for run in (matching or runs)[-5:])
    problem = "more than one run begins with" if matching else "no run is called"
    raise StoreError(f"{problem} {wanted!r} in {root}; the last are {names}")


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:200].lstrip(".") or "_"


def now_utc(form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    """The time in the form that files have: ISO 8601 in UTC, whole seconds."""
    return datetime.now(UTC).strftime(form)
