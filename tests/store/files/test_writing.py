"""What is written is whole or not there, through no link, and nobody else's to read."""

import errno
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabricgauge.store.files import writing

WAYS: dict[str, Callable[[Path, Path], object]] = {
    "whole": lambda path, within: writing.write_whole(path, b"new\n", within),
    "append": lambda path, within: writing.append(path, b"new\n", within),
    "stream": lambda path, _: writing.stream(path, anew=True).close(),
}


def test_a_file_is_written_where_the_file_system_knows_no_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(file: int, mode: int) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchmod", forbid)
    writing.write_whole(tmp_path / "report.html", b"x", mode=0o644)
    assert (tmp_path / "report.html").read_bytes() == b"x"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    return run


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "dangling"])
def test_no_link_is_written_through(run: Path, way: str, kind: str) -> None:
    precious = run.parent / "precious" / "file"
    place = run / "report.html"
    if kind == "link":
        place.symlink_to(precious)
    elif kind == "second name":
        place.hardlink_to(precious)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(run.parent / "precious" / "made")
    if way == "whole":  # the name is put in the place of what was there
        WAYS[way](place, run)
        assert place.read_bytes() == b"new\n"
        assert not place.is_symlink()
    else:
        with pytest.raises(OSError, match=r"report\.html is a link or no regular file"):
            WAYS[way](place, run)
    assert precious.read_text() == "precious"
    assert [one.name for one in precious.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("way", ["whole", "append"])
def test_no_folder_on_the_way_is_a_link(run: Path, way: str) -> None:
    (run / "raw").symlink_to("../precious")
    for path in (run / "raw" / "file", run / "raw" / "made", run / ".." / "precious" / "file"):
        with pytest.raises(OSError, match=r"is a link or a file, no folder|leads out"):
            WAYS[way](path, run)
    with pytest.raises(OSError, match="raw is a link"):
        writing.make_folder(run / "raw" / "launch-01-1", run)
    assert [one.name for one in (run.parent / "precious").iterdir()] == ["file"]
    assert (run.parent / "precious" / "file").read_text() == "precious"


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_is_the_users_alone(run: Path, way: str) -> None:
    writing.make_folder(run / "raw" / "deep", run)
    WAYS[way](run / "raw" / "deep" / "file", run)
    modes = [path.stat().st_mode & 0o777 for path in run.rglob("*")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_draft_has_a_name_that_nobody_can_foresee(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts: list[str] = []
    real = os.replace

    def seen(draft: str, name: str, **rest: int) -> None:
        drafts.append(draft)
        real(draft, name, **rest)

    monkeypatch.setattr("fabricgauge.store.files.writing.os.replace", seen)
    for _ in range(2):
        writing.write_whole(run / "file", b"x", run)
    assert len(set(drafts)) == 2
    assert [one.name for one in run.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_keeps_no_draft_and_loses_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    writing.write_whole(run / "file", b"old", run)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"fabricgauge.store.files.writing.os.{call}", full)
    with pytest.raises(OSError, match="No space left"):
        writing.write_whole(run / "file", b"new" * 100_000, run)
    assert [one.name for one in run.iterdir()] == ["file"]
    assert (run / "file").read_bytes() == b"old"


def test_what_is_appended_after_a_torn_line_begins_a_line(run: Path) -> None:
    writing.append(run / "lines", b"a\nb", run)
    writing.append(run / "lines", b"c\n", run)
    assert (run / "lines").read_bytes() == b"a\nb\nc\n"


def test_lines_are_in_the_file_at_once_and_synced_while_more_come(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    ended = threading.Event()

    def slow_sync(number: int) -> None:
        ended.wait(5.0)  # the disk is busy
        synced.append(os.fstat(number).st_size)

    monkeypatch.setattr("fabricgauge.store.files.writing.os.fsync", slow_sync)
    file = writing.AppendedFile(run / "lines", run)
    for number in range(20):
        file.append(b"%d\n" % number)
        assert (run / "lines").read_bytes().endswith(b"%d\n" % number)
    assert not synced
    ended.set()
    file.close()
    assert synced[-1] == (run / "lines").stat().st_size
    assert len(synced) <= 3


@pytest.mark.parametrize("call", ["append", "close"])
def test_a_sync_that_fails_is_an_error_of_the_next_call(
    run: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fabricgauge.store.files.writing.os.fsync", full)
    file = writing.AppendedFile(run / "lines", run)
    file.append(b"a\n")
    with pytest.raises(OSError, match="No space left"):
        if call == "append":
            give_up = time.monotonic() + 5.0
            while time.monotonic() < give_up:
                file.append(b"b\n")
        file.close()


def test_what_is_appended_quickly_after_a_torn_line_begins_a_line(run: Path) -> None:
    writing.append(run / "lines", b"a\nb", run)
    file = writing.AppendedFile(run / "lines", run)
    file.append(b"c\n")
    file.append(b"d\n")
    file.close()
    assert (run / "lines").read_bytes() == b"a\nb\nc\nd\n"


def test_programs_that_claim_a_numbered_folder_at_once_get_different_ones(tmp_path: Path) -> None:
    parent = tmp_path / "jobs"
    assert writing.next_folder(parent, "{:04}") == parent / "0001"
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: writing.claim_folder(parent, "{:04}"), range(32)))
    assert sorted(path.name for path in claimed) == [f"{number:04}" for number in range(1, 33)]
    (parent / "0002").rmdir()
    (parent / "0002").symlink_to(tmp_path / "nowhere")
    assert writing.claim_folder(parent, "{:04}").name == "0033"


def test_a_folder_that_another_program_took_meanwhile_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_next = writing.next_folder

    def late(parent: Path, form: str) -> Path:
        path = true_next(parent, form)
        if path.name == "job-1":
            path.mkdir()
        return path

    monkeypatch.setattr(writing, "next_folder", late)
    assert writing.claim_folder(tmp_path, "job-{}").name == "job-2"
