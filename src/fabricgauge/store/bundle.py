"""Write and read a bundle: a directory with each node's unedited answer, and an index.

    bundle.json              the nodes, the time and the launcher of the survey (``BundleIndex``)
    NODE/survey.txt          the node's answer to the survey
    NODE/PRINTOUT.txt        output of a tool on the node, added by hand
    PRINTOUT.txt             output of a tool on many nodes: each line begins with ``NODE: ``, as
                             pdsh and clush write it

PRINTOUT is the tool's name, with its options if they matter (``ethtool-i-eth0.txt``); .out, .log,
.csv, .json and names without ending are read too. A bundle may come from anywhere: a link that
leads out of it is refused.

Only the index depends on several nodes, so that an interrupted survey leaves a bundle with all
answers that have arrived. It needs no locks: safe on NFS and Lustre.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from fabricgauge.model.errors import StoreError
from fabricgauge.model.surveyed import BundleIndex
from fabricgauge.store.files.reading import opened, shown
from fabricgauge.store.files.writing import make_folder, reporting
from fabricgauge.store.run_directory import read_json, write_json, write_whole

ANSWER = "survey"
INDEX = "bundle.json"
SUFFIX = ".txt"
SUFFIXES = (SUFFIX, ".out", ".log", ".csv", ".json", "")
_ENDINGS = ", ".join(filter(None, SUFFIXES))

#: Largest answer of a node; the survey ignores the rest.
MOST_BYTES = 16_000_000

#: Longest encoded name; files may have names of 255 bytes (POSIX NAME_MAX on Linux).
LONGEST_NAME = 200


class BundleWriter:
    """Writes answers when they arrive; ``close`` writes the index last."""

    def __init__(self, path: Path, index: BundleIndex) -> None:
        """Raises StoreError: the directory cannot be made, or exists and is not empty."""
        self.path = path
        self._index = index
        self._troubles: dict[str, str] = {}
        with reporting("create", path):
            make_folder(path)
            if any(path.iterdir()):
                raise StoreError(f"{path} is not empty; name a new directory with --output")

    def keep(self, node: str, raw: str, trouble: str = "") -> None:
        """Write one node's unedited answer; a later failure does not lose it."""
        folder = self.path / folder_name(node)
        if trouble:
            self._troubles[node] = trouble
        with reporting("write", folder):
            make_folder(folder, self.path)
        content = raw.encode(errors="replace")
        write_whole(folder / f"{ANSWER}{SUFFIX}", content, self.path, sync=False)

    def close(self, missing: str = "") -> None:
        """Write the index; ``missing`` is the trouble of each node without an answer."""
        silent = {
            node: missing
            for node in self._index.nodes
            if missing and not (self.path / folder_name(node)).exists()
        }
        index = msgspec.structs.replace(self._index, troubles={**self._troubles, **silent})
        write_json(self.path / INDEX, index, self.path)


class Bundle:
    """An existing bundle; ``shared`` are the texts of files about many nodes."""

    def __init__(self, path: Path) -> None:
        """Raises StoreError: no directory, a damaged index, or a link that leads out of it."""
        self.path = path
        self.index = _read_index(path)
        self._folders = _folders_by_node(_node_folders(path), self.index.nodes)
        self.shared = self._read_texts(path)
        #: Files and folders that are no printouts by their name or kind, with the reason.
        self.unread = tuple(_unread(path))

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes in the index, then other nodes with a folder."""
        return tuple(dict.fromkeys((*self.index.nodes, *self._folders)))

    def printouts(self, node: str) -> dict[str, str]:
        """Return a node's texts by the name of the tool; its answer to the survey is ``survey``."""
        return self._read_texts(self._folders[node]) if node in self._folders else {}

    def _read_texts(self, folder: Path) -> dict[str, str]:
        texts: dict[str, str] = {}
        for file in _files(folder):
            name = shown(file.stem)
            reading = reporting("read", file, "a bundle holds copies, no links")
            with reading, opened(file, self.path) as answer:
                text = answer.read(MOST_BYTES).decode(errors="replace")
            texts[shown(file.name) if name in texts else name] = text
        return texts


def folder_name(node: str) -> str:
    """Return a node's name as a folder's name: no separator, no leading dot, not too long."""
    safe = quote(node, safe="", errors="backslashreplace")
    if len(safe) > LONGEST_NAME:
        digest = hashlib.sha256(node.encode(errors="backslashreplace")).hexdigest()[:16]
        safe = f"{safe[:LONGEST_NAME]}-{digest}"
    if safe.startswith(".") or safe == INDEX:
        return f"%{ord(safe[0]):02X}{safe[1:]}"
    return safe or "%"


def _folders_by_node(folders: list[Path], nodes: tuple[str, ...]) -> dict[str, Path]:
    """Return each folder by its node; of two folders for one name the second keeps its own name."""
    node_by_folder = {folder_name(node): node for node in nodes}
    plain_names = {shown(folder.name) for folder in folders}
    by_node: dict[str, Path] = {}
    for folder in folders:
        name = node_by_folder.get(folder.name) or unquote(shown(folder.name))
        is_plain = name in plain_names and folder.name not in node_by_folder
        by_node[shown(folder.name) if name in by_node or is_plain else name] = folder
    return by_node


def _node_folders(path: Path) -> list[Path]:
    folders, root = [entry for entry in _list(path) if entry.is_dir()], path.resolve()
    for folder in folders:
        if not folder.resolve().is_relative_to(root):
            raise StoreError(f"{folder} leads out of the bundle; put a copy of the folder there")
    return [folder for folder in folders if not folder.name.startswith(".") and _files(folder)]


def _list(folder: Path) -> list[Path]:
    with reporting("read", folder):
        return sorted(folder.iterdir())


def _files(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if _is_text(entry)]


def _read_index(path: Path) -> BundleIndex:
    file = path / INDEX
    if not os.path.lexists(file):
        return BundleIndex()
    damaged = "; the answers can be read without it"
    return read_json(file, path, BundleIndex, damaged=damaged, version="1.0")


def _unread(path: Path) -> Iterator[str]:
    """Return entries without readable text; hidden entries belong to editors or the system."""
    for entry in _entries(path):
        items = _entries(entry) if entry.is_dir() else [entry]
        if entry.is_dir() and not any(map(_is_text, items)):
            yield f"{shown(entry.name)}: the folder holds no printout ({_ENDINGS})"
        for item in items:
            name = shown(str(item.relative_to(path)))
            if item.is_dir():
                yield f"{name}: a folder below a node's"
            elif not _is_text(item):
                yield f"{name}: its ending is none of {_ENDINGS}"


def _entries(folder: Path) -> list[Path]:
    return [entry for entry in _list(folder) if entry.name[0] != "." and entry.name != INDEX]


def _is_text(file: Path) -> bool:
    """Check for a regular file with a known ending: reading a pipe would wait."""
    return file.suffix in SUFFIXES and file.is_file()
