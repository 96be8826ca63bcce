"""A run is a directory: written by one process, renamed when complete, then never changed.

While it is being written its name ends in ``.partial``. Everything in it is either
written whole under another name and renamed, or appended line by line, so that a
run that dies at any point keeps all that it measured. No locks: safe on NFS and Lustre.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from fabricgauge.model.errors import StoreError

PARTIAL = ".partial"

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
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        path = root / f"{stamp}-{secrets.token_hex(3)}{PARTIAL}"
        try:
            (path / "raw").mkdir(parents=True)
        except OSError as error:
            raise cannot("create", path, error, "choose another place with --output") from error
        return cls(path)

    @property
    def identity(self) -> str:
        return self.path.name.removesuffix(PARTIAL)

    @property
    def complete(self) -> bool:
        return not self.path.name.endswith(PARTIAL)

    def raw(self, name: str) -> Path:
        """The folder ``raw/<name>``, made if need be; ``name`` is ours, never a host's."""
        folder = self.path / "raw" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot("create", folder, error) from error
        return folder

    def keep_raw(self, folder: str, name: str, text: str) -> None:
        """Keep a tool's raw output; characters of ``name`` that a file cannot have become _."""
        write_whole(self.raw(folder) / f"{_file_name(name)}.txt", text.encode(errors="replace"))

    def copy_raw(self, folder: str, source: Path) -> None:
        """Keep a copy of a file that was read, under its own name."""
        try:
            shutil.copyfile(source, self.raw(folder) / _file_name(source.name))
        except OSError as error:
            raise cannot("copy", source, error) from error

    def write(self, name: str, value: Any) -> None:
        """Write a value as JSON, whole or not at all."""
        self.write_bytes(name, msgspec.json.format(msgspec.json.encode(value), indent=1))

    def write_bytes(self, name: str, data: bytes) -> None:
        write_whole(self.path / name, data)

    def append(self, name: str, value: Any) -> None:
        """Append one line of JSON Lines; it is on disk when this returns."""
        self.append_all(name, (value,))

    def append_all(self, name: str, values: Iterable[Any]) -> None:
        """Append a line for each value; all are on disk when this returns."""
        try:
            with (self.path / name).open("a+b") as lines:
                lines.write(b"\n" * _ends_in_mid_line(lines))
                for value in values:
                    lines.write(msgspec.json.encode(value) + b"\n")
                lines.flush()
                os.fsync(lines.fileno())
        except OSError as error:
            raise cannot("write", self.path / name, error) from error

    def read(self, name: str, kind: type[_T]) -> _T:
        """Read a value back.

        Raises:
            StoreError: the file is missing, unreadable or not what was expected.
        """
        path = self.path / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except OSError as error:
            raise cannot("read", path, error, "is this a run directory?") from error
        except msgspec.MsgspecError as error:
            raise StoreError(f"{path} is damaged: {error}") from error

    def read_lines(self, name: str, decode: Callable[[bytes], _T]) -> tuple[list[_T], list[str]]:
        """All lines that can be decoded, and a sentence for each that cannot."""
        path = self.path / name
        values: list[_T] = []
        damaged: list[str] = []
        try:
            lines = path.read_bytes().splitlines() if path.exists() else []
        except OSError as error:
            raise cannot("read", path, error) from error
        for number, line in enumerate(lines, start=1):
            try:
                values.append(decode(line))
            except (msgspec.MsgspecError, RecursionError) as error:
                damaged.append(f"{path.name} line {number} was not understood: {error}")
        return values, damaged

    def discard(self, copies: bool = False) -> None:
        """Remove a directory in which nothing was measured, or that holds ``copies`` only."""
        if not self.complete and (copies or not (self.path / "results.jsonl").exists()):
            shutil.rmtree(self.path, ignore_errors=True)

    def finish(self) -> None:
        """Give the directory its final name; from now on it is never changed."""
        if self.complete:
            return
        final = self.path.with_name(self.identity)
        try:
            self.path.rename(final)
        except OSError as error:
            raise cannot("rename", self.path, error) from error
        self.path = final


def write_whole(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a file whole or not at all; with ``sync`` it is on disk when this returns.

    Raises:
        StoreError: it cannot be written, with the reason.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise cannot("write", path, error) from error


def _ends_in_mid_line(lines: IO[bytes]) -> bool:
    """Whether a kill or a full disk cut the last line off; the next must not be glued to it."""
    if not lines.seek(0, os.SEEK_END):
        return False
    lines.seek(-1, os.SEEK_END)
    return lines.read(1) != b"\n"


def find(root: Path, wanted: str) -> RunDirectory:
    """The run that ``wanted`` names: a path, an identity or its beginning, or ``latest``.

    Raises:
        StoreError: there is none, or more than one; the message lists them.
    """
    if "/" in wanted or Path(wanted).is_dir():
        path = Path(wanted)
        final = path.with_name(path.name.removesuffix(PARTIAL))
        for there in (path, final):  # who was told of it may come when it is complete
            if there.is_dir():
                return RunDirectory(there.resolve())
        raise StoreError(f"{path} is not a directory; a run is a directory with a plan.json")
    return _by_identity(root, wanted)


def _by_identity(root: Path, wanted: str) -> RunDirectory:
    try:
        runs = sorted(entry for entry in root.iterdir() if (entry / "run.json").exists())
    except OSError as error:
        raise cannot("list", root, error, "name the place with --output") from error
    matching = runs[-1:] if wanted == "latest" else [r for r in runs if r.name.startswith(wanted)]
    if len(matching) == 1:
        return RunDirectory(matching[0].resolve())
    names = ", ".join(run.name for run in (matching or runs)[-5:]) or "none"
    problem = "more than one run begins with" if matching else "no run is called"
    raise StoreError(f"{problem} {wanted!r} in {root}; there is: {names}")


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:200].lstrip(".") or "_"


def cannot(what: str, path: Path, error: OSError, remedy: str = "") -> StoreError:
    """The error of what could not be done with a file, and why."""
    reason = error.strerror or str(error)
    return StoreError(f"cannot {what} {path}: {reason}" + (f"; {remedy}" if remedy else ""))
