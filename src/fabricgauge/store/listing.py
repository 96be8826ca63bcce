"""List the runs of a directory by the few files that name kind, start, nodes and verdict."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.model.errors import StoreError
from fabricgauge.model.run import StoredRun
from fabricgauge.model.verdict import Outcome
from fabricgauge.store.run_directory import RunDirectory, is_run

_NAME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-")


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
    started_utc = directory.read("run.json", About).started_utc
    return describe(
        directory, _kind(directory), started_utc, read_nodes(directory), read_overall(directory)
    )


def describe(
    directory: RunDirectory, kind: str, started_utc: str = "", nodes: tuple[str, ...] = (),
    verdict: str = "", problem: str = "",
) -> StoredRun:  # fmt: skip
    """Return a run as a list shows it; its name has the start if ``started_utc`` is unknown."""
    path = str(directory.path)
    started_utc = started_utc or _start_in_name(directory.identity)
    return StoredRun(path, kind, started_utc, nodes, verdict, directory.complete, problem)


def _start_in_name(identity: str) -> str:
    """Return ``20261126T205147Z-5c14f7`` as ``2026-11-26T20:51:47Z``, empty for another name."""
    match = _NAME.match(identity)
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else ""


def _kind(directory: RunDirectory) -> str:
    if _exists(directory, "batch.json"):
        return "submit"
    tool = directory.read("plan.json", _Plan).tool if _exists(directory, "plan.json") else ""
    return "import" if tool == "import" else "check"


def read_nodes(directory: RunDirectory, folder: str = "") -> tuple[str, ...]:
    """Return the nodes of a run, or of the run in ``folder``, which ends with a slash."""
    name = f"{folder}fabric.json"
    if not _exists(directory, name):
        return ()
    return tuple(node.name for node in directory.read(name, _Fabric).nodes)


def read_overall(directory: RunDirectory) -> str:
    """Return the outcome of the day of the measurement, or empty; its records are not judged.

    Raises:
        StoreError: a file is damaged, or report.json and verdicts.json contradict each other.
    """
    if not _exists(directory, "report.json"):
        return ""
    read = directory.read("report.json", _Report).overall
    overall = read.value if read else ""
    if not _exists(directory, "verdicts.json"):
        return overall
    verdicts = directory.read("verdicts.json", tuple[_Verdict, ...])
    grave = {verdict.outcome for verdict in verdicts} & _GRAVE
    if overall in grave or (overall not in _GRAVE and (overall == "INCONCLUSIVE" or not grave)):
        return overall
    raise StoreError(
        f"report.json says {overall}, verdicts.json {' and '.join(sorted(grave)) or 'not'}: one"
        f" was edited; fabricgauge report {directory.identity} judges the records"
    )


def _exists(directory: RunDirectory, name: str) -> bool:
    return (directory.path / name).is_file()
