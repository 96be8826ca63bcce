"""Let one program at a time work on a run, by the kernel's lock (flock(2)).

The lock ends with the program, in whatever way. On NFS it holds for all hosts if the server has a
lock manager. The locked file names the program that works on the run.
"""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from fabricgauge.files.writing import open_kept, reporting
from fabricgauge.model.errors import UsageError
from fabricgauge.store.run_directory import RunDirectory, now_utc

OWNER = ".owner.json"

_MOST_BYTES = 4096


class RunOwner(msgspec.Struct, frozen=True):
    """The program that works on a run."""

    host: str
    pid: int
    since_utc: str


@contextmanager
def held(directory: RunDirectory) -> Iterator[None]:
    """Hold the lock of a run while it is measured, collected or judged.

    Raises:
        UsageError: another program has the lock; the message says which.
        StoreError: the run directory cannot be written.
    """
    path = directory.path
    with reporting("write", path / OWNER):
        place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            file = _taken(place, path)
        except BaseException:
            os.close(place)
            raise
    try:
        yield
    finally:
        with suppress(OSError):  # the run may have been discarded
            os.unlink(OWNER, dir_fd=place)
        os.close(file)
        os.close(place)


def _taken(place: int, path: Path) -> int:
    """Return the locked file, with this program's name in it."""
    while True:
        file = open_kept(OWNER, place)
        try:
            if not is_ours(file):
                raise UsageError(_refusal(path, _read(file)))
            if _is_still_there(file, place):
                owner = RunOwner(platform.node(), os.getpid(), now_utc())
                os.ftruncate(file, 0)
                os.pwrite(file, msgspec.json.encode(owner), 0)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def is_ours(file: int) -> bool:
    """Lock a file; False if another program has the lock.

    On a file system without locks every program gets it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _read(file: int) -> RunOwner | None:
    try:
        return msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=RunOwner)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # the program has not written its name yet


def _is_still_there(file: int, place: int) -> bool:
    """Check that the file still has its name: the last owner may just have removed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), os.stat(OWNER, dir_fd=place, follow_symlinks=False))
    return False


def _refusal(path: Path, owner: RunOwner | None) -> str:
    if owner is None:
        return f"{path} is being worked on by another program; wait until it has ended"
    who = f"process {owner.pid} on {owner.host} has been working on {path} since {owner.since_utc}"
    return f"{who}; wait until it has ended, or end it"
