"""One program at a time works on a run: who it is stands in the run directory while it works.

The kernel's lock (flock(2)) is held as well. It ends with the program, in whatever way, and on NFS
it holds for all hosts as long as the server has a lock manager. Where it does not, the file alone
tells; a program of this host can be looked for, one of another host cannot.
"""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from fabricgauge.files.writing import doing, kept
from fabricgauge.model.errors import UsageError
from fabricgauge.store.run_directory import RunDirectory, now_utc

OWNER = ".owner.json"

_MOST_BYTES = 4096


class RunOwner(msgspec.Struct, frozen=True):
    """The program that works on a run. ``start_ticks`` is field 22 of /proc/PID/stat."""

    host: str
    boot_id: str
    pid: int
    start_ticks: int
    since_utc: str


@contextmanager
def held(directory: RunDirectory) -> Iterator[None]:
    """While no other program measures into a run, collects it or judges it.

    Raises:
        UsageError: another one does; the message says which.
        StoreError: the run directory cannot be written.
    """
    path = directory.path
    with doing("write", path / OWNER):
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
    """The file of the owner, with our own name in it."""
    while True:
        file = kept(OWNER, place)
        try:
            free, owner = is_ours(file), _read(file)
            if not free or (owner is not None and _may_live(owner)):
                raise UsageError(_refusal(path, owner))
            if _is_still_there(file, place):
                os.ftruncate(file, 0)
                os.pwrite(file, msgspec.json.encode(_ourselves()), 0)
                os.fsync(file)
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def is_ours(file: int) -> bool:
    """Lock it; False where another program has. A file system without locks has none to give."""
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
        return None  # it was killed before it had written its name


def _is_still_there(file: int, place: int) -> bool:
    """Whether the file has kept its name: the one before us may just have removed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), os.stat(OWNER, dir_fd=place, follow_symlinks=False))
    return False


def _may_live(owner: RunOwner) -> bool:
    """Of another host nobody here knows."""
    us = _ourselves()
    if owner.host != us.host:
        return True
    return owner.boot_id == us.boot_id and _start_ticks(owner.pid) == owner.start_ticks


def _ourselves() -> RunOwner:
    boot_id = ""
    with suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    pid = os.getpid()
    return RunOwner(platform.node(), boot_id, pid, _start_ticks(pid), now_utc())


def _start_ticks(pid: int) -> int:
    """-1 where there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return -1
    return int(stat.rpartition(")")[2].split()[19])


def _refusal(path: Path, owner: RunOwner | None) -> str:
    if owner is None:
        return f"{path} is being worked on by another program; wait until it has ended"
    who = f"process {owner.pid} on {owner.host} has been working on {path} since {owner.since_utc}"
    if owner.host == platform.node():
        return f"{who}; wait until it has ended, or end it"
    return f"{who}; wait until it has ended, or, if it is there no more, remove {path / OWNER}"
