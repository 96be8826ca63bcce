"""The index: rebuilt equal, safe with several writers and killed ones, never in the way."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.features.history.runs import copy_recorded, write_runs

from fabricgauge.features.history import index
from fabricgauge.features.history.index import open_index
from fabricgauge.features.history.series import Selection, read_history
from fabricgauge.features.history.values import History
from fabricgauge.model.errors import StoreError
from fabricgauge.store.run_directory import PARTIAL


def read(root: Path, file: Path) -> History:
    with open_index(root, file) as connection:
        return read_history(connection, root, Selection())


def names(stored: History) -> list[str]:
    return [run.name for run in stored.runs]


def assert_equal(first: History, second: History) -> None:
    assert first.runs == second.runs
    assert [group.key for group in first.groups] == [group.key for group in second.groups]
    for one, two in zip(first.groups, second.groups, strict=True):
        assert one.places == two.places
        np.testing.assert_array_equal(one.values, two.values)


def test_a_deleted_index_is_built_again_equal(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 12), tmp_path / "index.sqlite"
    first = read(root, file)
    file.unlink()
    again = read(root, file)
    assert len(first.runs) == 12
    assert {group.key.part for group in first.groups} == {"sender", "receiver", "node"}
    assert_equal(without_numbers(first), without_numbers(again))


def without_numbers(stored: History) -> History:
    """Return it without the numbers of texts, which depend on the order of writing."""
    runs = tuple(msgspec.structs.replace(run, setting=0, node_setting=0) for run in stored.runs)
    return msgspec.structs.replace(stored, runs=runs)


def test_runs_that_come_and_go_are_followed(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 4), tmp_path / "index.sqlite"
    assert len(read(root, file).runs) == 4
    write_runs(root, 3, first=4)
    assert len(read(root, file).runs) == 7
    gone = names(read(root, file))[0]
    shutil.rmtree(root / gone)
    assert gone not in names(read(root, file))
    before = file.stat().st_ino
    read(root, file)
    assert file.stat().st_ino == before  # nothing new: nothing is written


def test_an_incomplete_run_grows_and_gets_its_name(tmp_path: Path) -> None:
    root, file = tmp_path / "runs", tmp_path / "index.sqlite"
    path = copy_recorded(root, "healthy")
    whole = (path / "results.jsonl").read_bytes()
    partial = path.rename(path.with_name(path.name + PARTIAL))
    (partial / "results.jsonl").write_bytes(b"")
    (run,) = read(root, file).runs
    assert (run.complete, read(root, file).groups) == (False, ())
    (partial / "results.jsonl").write_bytes(whole)
    assert read(root, file).groups != ()
    partial.rename(path)
    (run,) = read(root, file).runs
    assert (run.complete, run.name) == (True, path.name)


def test_another_run_of_the_same_name_is_read_again(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 2), tmp_path / "index.sqlite"
    old = read(root, file)
    shutil.rmtree(root)
    write_runs(root, 2, lambda _run, rates: np.multiply(rates, 0.5, out=rates))
    new = read(root, file)
    assert names(old) == names(new)
    (before,) = (group for group in old.groups if group.key.part == "sender")
    (after,) = (group for group in new.groups if group.key.part == "sender")
    assert np.nanmax(after.values / before.values) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_built_again(tmp_path: Path, content: bytes) -> None:
    root, file = write_runs(tmp_path / "runs", 2), tmp_path / "index.sqlite"
    file.write_bytes(content)
    assert len(read(root, file).runs) == 2


def test_an_index_of_another_format_is_built_again(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 2), tmp_path / "index.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert len(read(root, file).runs) == 2


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    root = write_runs(tmp_path / "runs", 1)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file"):
        read(root, tmp_path / "file" / "index.sqlite")
    with pytest.raises(StoreError, match="nowhere"):
        read(tmp_path / "nowhere", tmp_path / "index.sqlite")


def _read_often(root: Path, file: Path, times: int) -> None:
    for _ in range(times):
        read(root, file)


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Three processes read and write while runs are added: every run is there at the end."""
    root, file = write_runs(tmp_path / "runs", 3), tmp_path / "index.sqlite"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_read_often, args=(root, file, 12)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for number in range(3, 18):
        write_runs(root, 1, first=number)
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert len(read(root, file).runs) == 18
    assert [entry.name for entry in tmp_path.glob(".*.new")] == []


def _hang_before_publishing(root: Path, file: Path, started: Path) -> None:
    def hang(_done: int, _total: int) -> None:
        started.touch()
        time.sleep(60)

    with open_index(root, file, report=hang):
        pass


def test_a_killed_writer_leaves_a_whole_index(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 3), tmp_path / "index.sqlite"
    assert len(read(root, file).runs) == 3
    write_runs(root, 2, first=3)
    started = tmp_path / "started"
    writer = multiprocessing.get_context("fork").Process(
        target=_hang_before_publishing, args=(root, file, started)
    )
    writer.start()
    deadline = time.monotonic() + 30
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    (draft,) = tmp_path.glob(".index.sqlite.*.new")
    with sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (3,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(read(root, file).runs) == 5
    assert draft.exists()  # it may belong to a writer at work
    old_s = time.time() - index.STALE_S - 60
    os.utime(draft, (old_s, old_s))
    write_runs(root, 1, first=5)
    read(root, file)
    assert not draft.exists()


def test_a_run_with_blanks_in_its_name_is_read_once(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 2), tmp_path / "index.sqlite"
    (root / names(read(root, file))[0]).rename(root / "my first run")
    assert "my first run" in names(read(root, file))
    before = file.stat().st_ino
    assert len(read(root, file).runs) == 2
    assert file.stat().st_ino == before


def test_a_name_that_is_no_text_is_listed_and_stops_no_other_run(tmp_path: Path) -> None:
    root, file = write_runs(tmp_path / "runs", 2), tmp_path / "index.sqlite"
    first = names(read(root, file))[0]
    os.rename(root / first, os.fsencode(root) + b"/bad\xffname")  # noqa: PTH104
    stored = read(root, file)
    assert sorted(names(stored))[-1] == "bad\\udcffname"
    assert [bool(run.trouble) for run in stored.runs] == [True, False]
