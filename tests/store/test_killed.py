"""A program that is ended at any write: what was complete is readable, and the rest follows.

The k-th call that changes a file ends the process as kill -9 does, a write in its middle.
"""

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fabricgauge.check import conclude
from fabricgauge.check.import_logs import import_logs, sources_of
from fabricgauge.check.plan.outlook import find_remaining
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.errors import StoreError
from fabricgauge.model.progress import SILENT
from fabricgauge.model.run import Run
from fabricgauge.store.run_directory import RunDirectory, find, run_lock
from fabricgauge.store.run_files import (
    About,
    LaunchLine,
    append_launch,
    append_records,
    load,
    write_beginning,
)

FIXTURES = Path(__file__).parents[1] / "fixtures"
(STORED,) = (FIXTURES / "runs" / "0.1.0--healthy").iterdir()
#: Calls of the operating system that change files, as the door to files makes them.
CALLS = ("write", "fsync", "replace", "rename", "mkdir", "unlink", "ftruncate", "fchmod", "pwrite")


def killed_at(number: int, work: Callable[[int], object]) -> bool:
    """Do ``work`` in a process that ends at its call ``number``; whether it got there."""
    child = os.fork()
    if not child:
        _end_at(number)
        try:
            work(number)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status == signal.SIGKILL


def _end_at(number: int) -> None:
    calls = count(1)

    def ending(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **rest: Any) -> Any:
            if next(calls) == number:
                if name in ("write", "pwrite"):
                    file, data, *where = words
                    real(file, bytes(data)[: len(data) // 2], *where)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*words, **rest)

        return call

    for name in CALLS:
        setattr(os, name, ending(name, getattr(os, name)))


def each_call(work: Callable[[int], object], most: int = 2000) -> Iterator[int]:
    """Every number of a call at which ``work`` was killed, one after the other."""
    for number in range(1, most):
        if not killed_at(number, work):
            return
        yield number
    pytest.fail(f"{most} calls are more than a run makes")


@pytest.fixture(autouse=True)
def _one_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page takes longer to make than all else; it is written as the other report is."""
    monkeypatch.setattr(conclude, "KEPT", {"json": "report"})


@pytest.fixture(scope="module")
def whole() -> Run:
    return load(RunDirectory(STORED))


def made(root: Path, whole: Run, record: Callable[[str], None]) -> None:
    """A run as a check writes it; ``record`` is told of what is complete."""
    directory = RunDirectory.create(root)
    with run_lock(directory):
        about = About(whole.started_utc, whole.command, whole.environment)
        write_beginning(directory, about, whole.fabric, whole.plan)
        record("begun")
        _rest(directory, whole, record)


def _rest(directory: RunDirectory, whole: Run, record: Callable[[str], None]) -> None:
    stored = load(directory)
    left = {launch.number for launch in find_remaining(stored.plan, stored.launches)}
    for launch in whole.launches:
        if launch.number not in left:
            continue
        directory.keep_raw(f"launch-{launch.number:02}-1", "stderr", "said")
        records = (launch.header, *launch.placements, *launch.measurements)
        for one in records:
            if one is not None:
                append_records(directory, launch.number, 1, (one,))
                record("record")
        append_launch(
            directory,
            LaunchLine(launch.number, 1, launch.network, launch.nodes, launch.ended, ()),
        )
    run = msgspec.structs.replace(load(directory), complete=True)
    conclude.write_reports(directory, conclude.conclude(run, DEFAULTS), DEFAULTS, SILENT)


def test_a_run_that_is_killed_at_any_write_keeps_what_was_complete_and_is_finished(
    tmp_path: Path, whole: Run
) -> None:
    short = len(whole.launches[0].measurements) + 3
    seen = 0
    for number in each_call(lambda at: made(tmp_path / str(at), whole, _told(tmp_path))):
        seen = number
        told = _lines(tmp_path)
        root = tmp_path / str(number)
        runs = list(root.iterdir()) if root.exists() else []
        if "begun" not in told:
            continue  # nothing was measured: a new check is begun
        (path,) = runs
        _require_kept(path, told.count("record"))
        with run_lock(RunDirectory(path)):
            if path.name.endswith(".partial"):
                _rest(RunDirectory(path), whole, lambda _: None)
        again = load(find(root, path.name.removesuffix(".partial")))
        assert again.complete
        assert not find_remaining(again.plan, again.launches)
    assert seen > 3 * short


def _told(tmp_path: Path) -> Callable[[str], None]:
    """Notes what is complete, outside of what is killed; anew for each process."""
    log = tmp_path / "told"
    log.unlink(missing_ok=True)

    def record(word: str) -> None:
        with log.open("a") as file:
            file.write(f"{word}\n")

    return record


def _lines(tmp_path: Path) -> list[str]:
    log = tmp_path / "told"
    return log.read_text().split() if log.exists() else []


def _require_kept(path: Path, records: int) -> None:
    """What was told as complete can be read, and every whole file is whole."""
    run = load(RunDirectory(path))
    kept = [
        one
        for launch in run.launches
        for one in (launch.header, *launch.placements, *launch.measurements)
        if one is not None
    ]
    assert records <= len(kept) <= records + 1
    assert len(run.notes) <= 1  # the torn line is told
    for name in ("verdicts.json", "report.json"):
        if (path / name).exists():
            RunDirectory(path).read(name, Any)


def test_an_import_that_is_killed_at_any_write_is_readable_or_said_to_be_none(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.out"
    log.write_bytes((FIXTURES / "osu" / "7.4--latency-default.out").read_bytes())
    log.chmod(0o640)

    def import_into(root: Path) -> RunDirectory:
        directory = RunDirectory.create(root)
        run = import_logs(sources_of(log, None), directory, ("import",), SILENT)
        conclude.write_reports(directory, conclude.conclude(run, DEFAULTS), DEFAULTS, SILENT)
        return directory

    seen = 0
    for number in each_call(lambda at: import_into(tmp_path / str(at))):
        seen = number
        root = tmp_path / str(number)
        for path in root.iterdir() if root.exists() else ():
            run = None
            with suppress(StoreError):
                run = load(RunDirectory(path))
            assert (run is not None) == (path / "run.json").exists()
            assert (path / "run.json").exists() or not (path / "results.jsonl").exists()
        assert load(import_into(root)).complete
    assert seen > 20
