"""Allow one program at a time to measure a lab: another would share the links unnoticed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fabricgauge.lab.state import lab_directory, load_complete
from fabricgauge.model.errors import UsageError

#: File that the measuring program locks; it holds its process id.
USE = "use"


@contextmanager
def lab_in_use(name: str) -> Iterator[None]:
    """Keep other programs from measuring a lab. The kernel ends the lock with the process.

    Raises:
        LabError: no such lab, or it is incomplete.
        UsageError: another program measures the lab.
    """
    load_complete(name)
    file = os.open(lab_directory(name) / USE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            user = process_using(name)
            raise UsageError(
                f"process {user} measures lab {name!r} now; wait until it ends, or choose another"
                " lab"
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def process_using(name: str) -> str:
    """Return the id of the process that measures a lab, empty if none does."""
    path = lab_directory(name) / USE
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return path.read_text(errors="replace") or "unknown"
    finally:
        os.close(file)
    return ""
