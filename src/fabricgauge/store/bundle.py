"""A bundle: a directory with each node's answer, unedited, and an index.

    bundle.json              what was asked and when (``BundleIndex``)
    NODE/survey.txt          what the node said of itself
    NODE/PRINTOUT.txt        what a tool printed there, put beside it by hand
    PRINTOUT.txt             the same of many nodes at once: each line begins with ``NODE: ``,
                             as pdsh and clush write it

PRINTOUT is the tool's name, with its options if they matter (``ethtool-i-eth0.txt``); .out,
.log, .csv, .json and no ending at all are read as well. A bundle may come from anywhere: a link
that leads out of it is refused.

Nothing but the index is written by more than one node's answer, so that a bundle which was
broken off holds all that had arrived. It is safe on NFS and Lustre: no locks.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from fabricgauge.files.reading import opened, shown
from fabricgauge.files.writing import make_folder, reporting
from fabricgauge.model.bundle import BundleIndex
from fabricgauge.model.errors import StoreError
from fabricgauge.store.run_directory import read_json, write_json, write_whole

ANSWER = "survey"
INDEX = "bundle.json"
SUFFIX = ".txt"
SUFFIXES = (SUFFIX, ".out", ".log", ".csv", ".json", "")
_ENDINGS = ", ".join(filter(None, SUFFIXES))

#: As much as the survey takes from a node; what is behind is left.
MOST_BYTES = 16_000_000

#: Names of files may have 255 bytes (POSIX NAME_MAX on Linux file systems).
LONGEST_NAME = 200


class BundleWriter:
    """Keeps answers as they arrive; ``close`` writes the index last."""

    def __init__(self, path: Path, index: BundleIndex) -> None:
        """Raises StoreError: the directory cannot be made, or is there and not empty."""
        self.path = path
        self._index = index
        self._troubles: dict[str, str] = {}
        with reporting("create", path):
            make_folder(path)
            if any(path.iterdir()):
                raise StoreError(f"{path} is not empty; name a new directory with --output")

    def keep(self, node: str, raw: str, trouble: str = "") -> None:
        """One node's answer, unedited; a later failure does not lose it."""
        folder = self.path / folder_name(node)
        if trouble:
            self._troubles[node] = trouble
        with reporting("write", folder):
            make_folder(folder, self.path)
        content = raw.encode(errors="replace")
        write_whole(folder / f"{ANSWER}{SUFFIX}", content, self.path, sync=False)

    def close(self, missing: str = "") -> None:
        """Write the index; ``missing`` is the trouble of each node that gave no answer."""
        silent = {
            node: missing
            for node in self._index.nodes
            if missing and not (self.path / folder_name(node)).exists()
        }
        index = msgspec.structs.replace(self._index, troubles={**self._troubles, **silent})
        write_json(self.path / INDEX, index, self.path)


class Bundle:
    """A bundle that is there; ``shared`` are the texts of files that many nodes share."""

    def __init__(self, path: Path) -> None:
        """Raises StoreError: no directory, a damaged index, or a link that leads out of it."""
        self.path = path
        self.index = _index(path)
        self._folders = _by_node(_folders(path), self.index.nodes)
        self.shared = self._texts(path)
        #: Files and folders that are no printouts by their name or kind, with the reason.
        self.unread = tuple(_unread(path))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Those that the index names, then others that have a folder."""
        return tuple(dict.fromkeys((*self.index.nodes, *self._folders)))

    def of(self, node: str) -> dict[str, str]:
        """A node's own files by the name of what printed them; its whole answer is ``survey``."""
        return self._texts(self._folders[node]) if node in self._folders else {}

    def _texts(self, folder: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in _files(folder):
            name = shown(one.stem)
            found[shown(one.name) if name in found else name] = _text(one, self.path)
        return found


def folder_name(node: str) -> str:
    """A node's name as the name of a folder: no separator, no dot in front, not too long."""
    safe = quote(node, safe="", errors="backslashreplace")
    if len(safe) > LONGEST_NAME:
        digest = hashlib.sha256(node.encode(errors="backslashreplace")).hexdigest()[:16]
        safe = f"{safe[:LONGEST_NAME]}-{digest}"
    if safe.startswith(".") or safe == INDEX:
        return f"%{ord(safe[0]):02X}{safe[1:]}"
    return safe or "%"


def _by_node(folders: list[Path], nodes: tuple[str, ...]) -> dict[str, Path]:
    """Each folder by its node; a second one that reads the same keeps the name that it has."""
    ours = {folder_name(node): node for node in nodes}
    plain = {shown(one.name) for one in folders}
    found: dict[str, Path] = {}
    for one in folders:
        name = ours.get(one.name) or unquote(shown(one.name))
        is_taken = name in found or (name in plain and one.name not in ours)
        found[shown(one.name) if is_taken else name] = one
    return found


def _folders(path: Path) -> list[Path]:
    inside, root = [one for one in _listed(path) if one.is_dir()], path.resolve()
    for one in inside:
        if not one.resolve().is_relative_to(root):
            raise StoreError(f"{one} leads out of the bundle; put a copy of the folder there")
    return [one for one in inside if not one.name.startswith(".") and _files(one)]


def _listed(folder: Path) -> list[Path]:
    with reporting("read", folder):
        return sorted(folder.iterdir())


def _files(folder: Path) -> list[Path]:
    return [one for one in _entries(folder) if _is_text(one)]


def _index(path: Path) -> BundleIndex:
    file = path / INDEX
    if not os.path.lexists(file):
        return BundleIndex()
    damaged = "; the answers can be read without it"
    found = read_json(file, path, BundleIndex, damaged=damaged)
    if found.version.partition(".")[0] != "1":
        raise StoreError(f"{file} is of version {found.version}; this program reads version 1")
    return found


def _unread(path: Path) -> Iterator[str]:
    """Entries that hold nothing which could be read; hidden ones are an editor's or a system's."""
    for one in _entries(path):
        inside = _entries(one) if one.is_dir() else []
        texts = {*_files(one)} if inside else set[Path]()
        for entry in (one, *inside):
            name = shown(str(entry.relative_to(path)))
            if entry is one and entry.is_dir():
                if not texts:
                    yield f"{name}: the folder holds no printout ({_ENDINGS})"
            elif entry.is_dir():
                yield f"{name}: a folder below a node's"
            elif entry not in texts and not _is_text(entry):
                yield f"{name}: its ending is none of {_ENDINGS}"


def _entries(folder: Path) -> list[Path]:
    return [one for one in _listed(folder) if one.name[0] != "." and one.name != INDEX]


def _is_text(file: Path) -> bool:
    """A plain file: a pipe would be waited for."""
    return file.suffix in SUFFIXES and file.is_file()


def _text(file: Path, root: Path) -> str:
    with reporting("read", file, "a bundle holds copies, no links"), opened(file, root) as answer:
        return answer.read(MOST_BYTES).decode(errors="replace")
