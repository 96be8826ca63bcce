"""Read files that any user may have named: regular files only, bounded, inside one folder."""

import errno
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from io import BufferedReader
from pathlib import Path

#: Largest size of a file that is read at once, and of a line of a longer one: a round of 10,240
#: nodes takes 0.5 MB.
MOST_BYTES = 1 << 29
#: Largest size of a file that is read line by line: the records of 10,240 nodes take a third of it.
MOST_IN_LINES = 1 << 35

_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFDIR: "a directory",
}  # fmt: skip


def opened(path: Path, within: Path | None = None) -> BufferedReader:
    """Open a regular file for reading.

    No link may lead out of the folder ``within``. Nothing but a regular file is opened: a pipe may
    block, and a device may act when it is opened.

    Raises:
        OSError: it does not exist, is no regular file, or lies outside of ``within``; the reason is
            in ``strerror``.
    """
    real = path if within is None else _inside(path, within)
    _require_regular(real.stat().st_mode)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(real, flags | (os.O_NOFOLLOW if within is not None else 0))
    try:
        _require_regular(os.fstat(file).st_mode)
        os.pread(file, 1, 0)  # the kernel has regular files that wait: /proc/kmsg, trace_pipe
        # Another user may have put a link into the path between the two checks.
        if within is not None and os.readlink(f"/proc/self/fd/{file}") != str(real):  # noqa: PTH115
            raise OSError(errno.ELOOP, f"it is a link that leads out of {within}")
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def read_bytes(path: Path, within: Path | None = None, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: as ``opened``, or it is longer than ``most_bytes``.
    """
    with opened(path, within) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes / 1e6:,.1f} MB")
    return content


def read_lines(path: Path, within: Path | None = None) -> Iterator[bytes]:
    """Yield the lines of a regular file, without their ends; no more than one is in memory.

    Raises:
        OSError: as ``opened``, or the file or a line is too long.
    """
    with opened(path, within) as file:
        if os.fstat(file.fileno()).st_size > MOST_IN_LINES:
            raise OSError(errno.EFBIG, f"it is longer than {MOST_IN_LINES / 1e6:,.1f} MB")
        while line := file.readline(MOST_BYTES + 1):
            if len(line) > MOST_BYTES:
                raise OSError(errno.EFBIG, f"it has a line of over {MOST_BYTES / 1e6:,.1f} MB")
            yield line.rstrip(b"\r\n")


def read_text(path: Path, within: Path | None = None, most_bytes: int = MOST_BYTES) -> str:
    """Return the content as text; bytes that are no UTF-8 are replaced."""
    return read_bytes(path, within, most_bytes).decode("utf-8", errors="replace")


def read_end(path: Path, most_bytes: int, within: Path | None = None) -> bytes:
    """Return the last bytes of a regular file.

    Raises:
        OSError: as ``opened``.
    """
    with opened(path, within) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
        return file.read(most_bytes)


def shown(name: str) -> str:
    """Return a file's name or a word of the command line as text that UTF-8 can hold.

    Bytes that are no UTF-8 are spelled out, as ``\\xff``.
    """
    return os.fsencode(name).decode(errors="backslashreplace")


def _inside(path: Path, within: Path) -> Path:
    try:
        real = path.resolve(strict=True)
    except RuntimeError as error:  # Python before 3.13, for links in a circle
        raise OSError(errno.ELOOP, "it is a link to itself") from error
    if not real.is_relative_to(_resolve_folder(within)):
        raise OSError(errno.ELOOP, f"it is a link that leads out of {within}")
    return real


@lru_cache(maxsize=64)
def _resolve_folder(within: Path) -> Path:
    """Return the folder without links, as it was first: thousands of files may lie in one."""
    return within.resolve()


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, no regular file")
