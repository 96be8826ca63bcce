"""Write files whole or not at all, through no link that another user may have put there.

The content may hold secrets: files get mode 0600 and folders 0700. A folder is removed if it holds
only names that this program uses, and never across a mount.
"""

import errno
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from io import FileIO
from itertools import count
from pathlib import Path
from typing import BinaryIO

from fabricgauge.model.errors import StoreError

FILE_MODE, FOLDER_MODE = 0o600, 0o700

_OCTAL = re.compile(r"\\([0-7]{3})")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DRAFT = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_KEPT = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Content = bytes | Callable[[BinaryIO], object]


def write_whole(
    path: Path, content: Content, within: Path | None = None, *, sync: bool = True,
    mode: int = FILE_MODE,
) -> None:  # fmt: skip
    """Write a file whole or not at all; with ``sync`` it is on disk when this returns.

    Below ``within`` no folder may be a link. A link at ``path`` itself is replaced, not followed.

    Raises:
        OSError: it cannot be written; the attempt leaves nothing behind.
    """
    import secrets  # loads much, which reading does not need

    draft = f".{path.name[:200]}.{secrets.token_hex(8)}.new"
    with folder(path.parent, within) as place:
        file = os.open(draft, _DRAFT, FILE_MODE, dir_fd=place)
        try:
            try:
                if isinstance(content, bytes):
                    _write(file, content)
                else:
                    with os.fdopen(os.dup(file), "w+b") as buffered:
                        content(buffered)
                if mode != FILE_MODE:
                    with suppress(OSError):  # a file system without modes keeps its own
                        os.fchmod(file, mode)
                if sync:
                    os.fsync(file)
            finally:
                os.close(file)
            os.replace(draft, path.name, src_dir_fd=place, dst_dir_fd=place)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=place)
            raise


def append(path: Path, lines: bytes, within: Path | None = None) -> None:
    """Append whole lines to a file; they are on disk when this returns.

    If a kill or a full disk cut off the last line, that line gets its newline first.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """
    file, missing = _open_to_append(path, within)
    try:
        _write(file, missing + lines)
        os.fsync(file)
    finally:
        os.close(file)


#: A thread brings appended lines to disk this often; with one sync of 50 ms, a crash of the machine
#: loses the lines of 0.2 s.
SYNC_EVERY_S = 0.1


class AppendedFile:
    """A file to which lines are appended quickly; ``close`` waits until all are on disk.

    The system has a line when ``append`` returns, so that the end of this program loses nothing. A
    thread brings it to disk: a sync takes 1 ms, or 50 ms if others write as well.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """

    def __init__(self, path: Path, within: Path | None = None) -> None:
        self._file, self._missing = _open_to_append(path, within)
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._unsynced = False
        self._error: OSError | None = None

    def append(self, lines: bytes) -> None:
        """Append whole lines.

        Raises:
            OSError: they cannot be written, or earlier lines did not reach the disk.
        """
        if self._error is not None:
            raise self._error
        try:
            _write(self._file, self._missing + lines)
        finally:
            self._missing = _missing_newline(self._file)
        with self._lock:
            self._unsynced = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._sync_new_lines, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Close the file once all lines are on disk.

        Raises:
            OSError: they did not reach the disk.
        """
        self._closing.set()
        thread = self._thread
        if thread is not None:
            thread.join()
        try:
            if self._error is not None:
                raise self._error
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _sync_new_lines(self) -> None:
        while True:
            with self._lock:
                if not self._unsynced:
                    self._thread = None
                    return
                self._unsynced = False
            began = time.monotonic()
            try:
                os.fsync(self._file)
            except OSError as error:
                self._error = error
                return
            self._closing.wait(SYNC_EVERY_S - (time.monotonic() - began))


def _open_to_append(path: Path, within: Path | None) -> tuple[int, bytes]:
    """Return the file, and the newline that its last line lacks."""
    with folder(path.parent, within) as place:
        file = open_kept(path.name, place, os.O_APPEND)
    return file, _missing_newline(file)


def _missing_newline(file: int) -> bytes:
    size = os.fstat(file).st_size
    return b"\n" if size and os.pread(file, 1, size - 1) != b"\n" else b""


def stream(path: Path, within: Path | None = None, *, anew: bool) -> FileIO:
    """Open a file for a program's output: each write is appended at once.

    ``anew`` empties the file first.

    Raises:
        OSError: it cannot be written, or a link is in the way.
    """
    with folder(path.parent, within) as place:
        file = open_kept(path.name, place, os.O_APPEND)
    if anew:
        os.ftruncate(file, 0)
    return FileIO(file, "wb")


def make_folder(path: Path, within: Path | None = None) -> None:
    """Make a folder and its missing parents.

    Raises:
        OSError: it cannot be made, or below ``within`` a link is in the way.
    """
    if within is None:
        missing = [ancestor for ancestor in (path, *path.parents) if not ancestor.is_dir()]
        # With parents=True their mode would be the umask's.
        for ancestor in reversed(missing):
            ancestor.mkdir(FOLDER_MODE, exist_ok=True)
    else:
        with folder(path, within, make=True):
            pass


def next_folder(parent: Path, form: str) -> Path:
    """Return the first path like ``job-{}`` that does not exist, numbered from 1."""
    numbered = (parent / form.format(number) for number in count(1))
    return next(path for path in numbered if not os.path.lexists(path))


def claim_folder(parent: Path, form: str) -> Path:
    """Make the next numbered folder; two programs at once get two.

    Raises:
        OSError: it cannot be made.
    """
    make_folder(parent)
    while True:
        path = next_folder(parent, form)
        with suppress(FileExistsError):
            path.mkdir(FOLDER_MODE)
            return path


@contextmanager
def reporting(verb: str, path: Path, remedy: str = "") -> Iterator[None]:
    """Turn an OSError of work on a file into a StoreError; ``verb`` is e.g. "write".

    Raises:
        StoreError: the work failed; the message has the reason and the ``remedy``.
    """
    try:
        yield
    except OSError as error:
        problem = f"cannot {verb} {path}: {error.strerror or error}"
        raise StoreError(f"{problem}; {remedy}" if remedy else problem) from error


def storing(place: Path) -> AbstractContextManager[None]:
    """Do so while a tool's files are written below ``place``: its disk may be full."""
    return reporting("write", place, "free some space or choose another place with --output")


@contextmanager
def folder(path: Path, within: Path | None = None, make: bool = False) -> Iterator[int]:
    """Open a folder; no link is followed on the path from ``within`` to it.

    Raises:
        OSError: it does not exist, or a link is in the way.
    """
    descriptor = os.open(within or path, _FOLDER)
    try:
        for part in path.relative_to(within).parts if within else ():
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, FOLDER_MODE, dir_fd=descriptor)
            if part == "..":
                raise OSError(errno.ELOOP, "it leads out of its folder")
            try:
                child = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            except NotADirectoryError as error:
                raise OSError(errno.ELOOP, f"{part} is a link or a file, no folder") from error
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def open_kept(name: str, place: int, flags: int = 0) -> int:
    """Open a file in the folder of a descriptor, to read it and to write it in place.

    Raises:
        OSError: it is a link, or has a second name: a write would change another file.
    """
    refused = OSError(errno.ELOOP, f"{name} is a link or no regular file")
    try:
        file = os.open(name, _OPEN_KEPT | flags, FILE_MODE, dir_fd=place)
    except OSError as error:
        raise refused if error.errno == errno.ELOOP else error from None
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
        os.close(file)
        raise refused
    return file


def _write(file: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]


def remove_folder(folder: Path, names: Sequence[str] = ("*",)) -> tuple[str, ...]:
    """Remove a folder with all that is in it, or return why nothing was removed.

    ``names`` are shell patterns of what may stand directly in the folder. A file system that is
    mounted on the folder or below it keeps its files: the folder then stays whole.

    Raises:
        OSError: the folder cannot be read or removed.
    """
    import shutil
    from fnmatch import fnmatchcase

    mounts = mounts_below(folder, Path("/proc/self/mountinfo").read_text(errors="surrogateescape"))
    reasons = [f"{mount} is a mount: unmount it first" for mount in mounts]
    strays = [
        entry.name
        for entry in sorted(folder.iterdir())
        if not any(fnmatchcase(entry.name, name) for name in names)
    ]
    reasons += [f"{folder / stray} was not made by this program: move it away" for stray in strays]
    if not reasons:
        shutil.rmtree(folder)
    return tuple(reasons)


def mounts_below(folder: Path, mountinfo: str) -> tuple[str, ...]:
    """Return the mount points at a folder or below it; ``mountinfo`` is proc(5)'s text.

    Field 5 is the mount point, with blanks and backslashes in octal.
    """
    top = str(folder.resolve())
    points = (
        _OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[4])
        for line in mountinfo.splitlines()
        if len(line.split()) > 4
    )
    return tuple(point for point in points if point == top or point.startswith(f"{top}/"))
