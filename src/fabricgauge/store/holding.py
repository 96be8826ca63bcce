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

from fabricgauge.model.errors import UsageError
from fabricgauge.store.files.writing import open_kept, reporting
from fabricgauge.store.run_directory import RunDirectory, now_utc

OWNER = ".owner.json"

_MOST_BYTES = 4096


class RunOwner(msgspec.Struct, frozen=True):
    """The program that works on a run."""

    host: str
    pid: int
    since_utc: str


@contextmanager
def run_lock(directory: RunDirectory) -> Iterator[None]:
    """Hold the lock of a run while it is measured, collected or judged.

    Raises:
        UsageError: another program has the lock; the message names it.
        StoreError: the run directory cannot be written.
    """
    path = directory.path
    with reporting("write", path / OWNER):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            file = _lock_owner_file(folder, path)
        except BaseException:
            os.close(folder)
            raise
    try:
        yield
    finally:
        with suppress(OSError):  # the run may have been discarded
            os.unlink(OWNER, dir_fd=folder)
        os.close(file)
        os.close(folder)


def _lock_owner_file(folder: int, path: Path) -> int:
    while True:
        file = open_kept(OWNER, folder)
        try:
            if not try_lock(file):
                raise UsageError(_describe_owner(path, file))
            if _has_name(file, folder):
                owner = RunOwner(platform.node(), os.getpid(), now_utc())
                os.ftruncate(file, 0)
                os.pwrite(file, msgspec.json.encode(owner), 0)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def try_lock(file: int) -> bool:
    """Lock a file; return False if another program has the lock.

    On a file system without locks each program gets it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _has_name(file: int, folder: int) -> bool:
    """Check that the file still has its name: the last owner may just have removed it."""
    with suppress(FileNotFoundError):
        named = os.stat(OWNER, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(os.fstat(file), named)
    return False


def _describe_owner(path: Path, file: int) -> str:
    try:
        owner = msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=RunOwner)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # it has not written its name yet
        return f"another program works on {path}; wait until it has ended"
    worker = f"process {owner.pid} on {owner.host}"
    return f"{worker} works on {path} since {owner.since_utc}; wait until it has ended, or end it"
