"""Finding and ending what carries a launch's mark, wherever it went."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

#: Environment variable that every process of a launch carries.
MARKER = "FABRICGAUGE_CHILD"

#: How long killed processes may take to vanish before they are left to the kernel.
VANISH_S = 2.0


def end_marked(marker: str) -> tuple[int, ...]:
    """Kill every other process of this user that carries ``marker``; returns their ids."""
    word = f"{MARKER}={marker}".encode()
    return _end_where(lambda environment: word in environment)


def end_marked_prefix(identity: str) -> tuple[int, ...]:
    """Kill every other process of this user whose marker is ``identity`` and a "/" and more.

    These are what launches of an earlier program left, one that was killed itself.
    Returns their ids.
    """
    start = f"{MARKER}={identity}/".encode()
    return _end_where(lambda words: bool(identity) and any(w.startswith(start) for w in words))


def _end_where(carries: Callable[[Sequence[bytes]], bool]) -> tuple[int, ...]:
    """Kill the processes whose environment is so until two looks in a row find none.

    One look may miss a process that is just starting another program.
    """
    ended: set[int] = set()
    quiet, deadline = 0, time.monotonic() + VANISH_S
    while quiet < 2 and time.monotonic() < deadline:
        found = set(_carriers(carries))
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        ended |= found
        quiet = 0 if found else quiet + 1
        time.sleep(0.01)
    return tuple(sorted(ended))


def _carriers(carries: Callable[[Sequence[bytes]], bool]) -> Iterator[int]:
    """The processes of this user, but never this one, whose environment is so."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if entry.stat().st_uid != os.geteuid():
                continue
            if carries((entry / "environ").read_bytes().split(b"\0")):
                yield int(entry.name)
