"""One program at a time works on a run."""

import fcntl
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.store.run_directory import OWNER, RunDirectory, RunOwner, run_lock


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path)


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, as NFS that is mounted with nolock."""

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fabricgauge.store.run_directory.fcntl.flock", refuse)


def test_a_run_is_free_again_once_it_is_let_go(directory: RunDirectory) -> None:
    for _ in range(2):
        with run_lock(directory):
            owner = msgspec.json.decode((directory.path / OWNER).read_bytes(), type=RunOwner)
            assert (owner.pid, owner.host) == (os.getpid(), platform.node())
    assert [one.name for one in directory.path.iterdir()] == ["raw"]


def test_two_programs_cannot_work_on_one_run(directory: RunDirectory) -> None:
    said = f"process {os.getpid()} on .* works on .*; wait until it has ended, or end it"
    with run_lock(directory), pytest.raises(UsageError, match=said), run_lock(directory):
        pass


@pytest.mark.usefixtures("no_locks")
def test_a_file_system_without_locks_keeps_nobody_out(directory: RunDirectory) -> None:
    with run_lock(directory):
        pass


KILLED = b'{"host":"login2","pid":7,"since_utc":"2026-11-21T20:00:00Z"}'


@pytest.mark.parametrize("left", [KILLED, b"", b'{"host":"a', b"\xff", b"[" * 4000])
def test_a_name_without_a_lock_keeps_nobody_out(directory: RunDirectory, left: bytes) -> None:
    (directory.path / OWNER).write_bytes(left)
    with run_lock(directory):
        pass


def test_the_name_is_written_through_no_link(directory: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (directory.path / OWNER).symlink_to(tmp_path / "precious")
    with pytest.raises(Exception, match="cannot write"), run_lock(directory):
        pass
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("kind", ["hard link", "pipe", "folder"])
def test_nor_through_a_second_name_of_another_file(
    directory: RunDirectory, tmp_path: Path, kind: str
) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    place = directory.path / OWNER
    if kind == "hard link":
        place.hardlink_to(other)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(StoreError, match=OWNER), run_lock(directory):
        pass
    assert other.read_text() == "theirs"


def test_whoever_waits_for_the_file_of_one_that_just_ended_gets_a_new_one(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    first: list[int] = []

    def removed_meanwhile(file: int, how: int) -> None:
        real(file, how)
        if not first:
            first.append(file)
            (directory.path / OWNER).unlink()

    monkeypatch.setattr("fabricgauge.store.run_directory.fcntl.flock", removed_meanwhile)
    with run_lock(directory):
        assert (directory.path / OWNER).exists()


HOLD = """
import sys
from pathlib import Path
from fabricgauge.store.run_directory import run_lock
from fabricgauge.store.run_directory import RunDirectory
with run_lock(RunDirectory(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_program_that_is_killed_frees_its_run(directory: RunDirectory) -> None:
    argv = [sys.executable, "-c", HOLD, str(directory.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"process {child.pid} on"), run_lock(directory):
            pass
        child.kill()
        child.wait()
    with run_lock(directory):
        pass
