"""Find and end processes that carry a launch's mark, whatever their session."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: Environment variable that every process of a launch carries.
MARKER = "FABRICGAUGE_CHILD"

#: How long killed processes may take to vanish before they are left to the kernel.
VANISH_S = 2.0

#: How long a process may take to end by itself. Hydra's proxies of MPICH 4.1 to 5.0 then remove
#: their /tmp/hydra_hwloc_xmlfile_* (pmip.c, topo_hwloc.c).
POLITE_S = 0.3


def end_marked(marker: str) -> tuple[int, ...]:
    """End every other process of this user whose mark is ``marker``, or that and "/" and more.

    Each gets SIGTERM, and SIGKILL if it goes on for ``POLITE_S``.

    So the identity of a run ends what an earlier program left of its launches. Two searches in a
    row must find none: one may miss a process that is just starting another program. Returns the
    ids of the ended processes.
    """
    asked: dict[int, float] = {}
    quiet, deadline = 0, time.monotonic() + POLITE_S + VANISH_S
    while quiet < 2 and time.monotonic() < deadline:
        pids = set(_carriers(f"{MARKER}={marker}".encode())) if marker else set()
        now = time.monotonic()
        for pid in pids:
            is_new = pid not in asked
            if is_new or now - asked[pid] >= POLITE_S:
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM if is_new else signal.SIGKILL)
            asked.setdefault(pid, now)
        quiet = 0 if pids else quiet + 1
        time.sleep(0.01)
    return tuple(sorted(asked))


def _carriers(mark: bytes) -> Iterator[int]:
    """Yield this user's processes whose environment has the mark, but never this process."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if entry.stat().st_uid != os.geteuid():
                continue
            words = (entry / "environ").read_bytes().split(b"\0")
            if any(word == mark or word.startswith(mark + b"/") for word in words):
                yield int(entry.name)
