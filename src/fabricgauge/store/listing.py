"""List the runs of a directory by the few files that name kind, start, nodes and verdict."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.model.errors import StoreError
from fabricgauge.model.stored import StoredRun
from fabricgauge.store.run_directory import RunDirectory


class About(msgspec.Struct, frozen=True):
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
    overall: str = ""


def run_directories(root: Path) -> Iterator[RunDirectory]:
    """Yield the runs below ``root``, the newest first; none if there is no such directory."""
    if root.is_dir():
        for entry in sorted(root.iterdir(), key=lambda entry: entry.name, reverse=True):
            if (entry / "run.json").is_file():
                yield RunDirectory(entry)


def describe_run(directory: RunDirectory) -> StoredRun:
    """Return a measured or imported run; a damaged file is its ``problem``."""
    try:
        about = directory.read("run.json", About)
        return describe(
            directory, _kind(directory), about.started_utc, _nodes(directory), _verdict(directory)
        )
    except StoreError as error:
        return describe(directory, "", "", problem=str(error))


def describe(
    directory: RunDirectory, kind: str, started_utc: str, nodes: tuple[str, ...] = (),
    verdict: str = "", problem: str = "",
) -> StoredRun:  # fmt: skip
    """Return a run as a list shows it."""
    path = str(directory.path)
    return StoredRun(path, kind, started_utc, nodes, verdict, directory.complete, problem)


def _kind(directory: RunDirectory) -> str:
    if _exists(directory, "batch.json"):
        return "submit"
    tool = directory.read("plan.json", _Plan).tool if _exists(directory, "plan.json") else ""
    return "import" if tool == "import" else "check"


def _nodes(directory: RunDirectory) -> tuple[str, ...]:
    if not _exists(directory, "fabric.json"):
        return ()
    return tuple(node.name for node in directory.read("fabric.json", _Fabric).nodes)


def _verdict(directory: RunDirectory) -> str:
    if not _exists(directory, "report.json"):
        return ""
    return directory.read("report.json", _Report).overall


def _exists(directory: RunDirectory, name: str) -> bool:
    return (directory.path / name).is_file()
