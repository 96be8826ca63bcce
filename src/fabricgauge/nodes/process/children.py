"""Start and end programs: children in sessions of their own, and processes with a launch's mark."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from fabricgauge.model.errors import ToolMissing

#: How long a child may take to end after SIGTERM before it is killed.
TERM_GRACE_S = 2.0


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    without: Collection[str] = (),
    stdin: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """Start a program; ``env`` is added to this process's own environment ``without`` some names.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    try:
        return subprocess.Popen(
            list(argv), stdin=stdin, stdout=stdout, stderr=stderr,
            env={**inherited, **(env or {})}, cwd=cwd, start_new_session=True,
        )  # fmt: skip
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise ToolMissing(
            f"cannot start {argv[0]}: {error.strerror}; install it or name its path"
        ) from error


def end(children: "Iterable[subprocess.Popen[bytes]]") -> None:
    """End children and their sessions: politely first, then for good."""
    targets = tuple(children)
    for number, patience_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, 5.0)):
        for child in targets:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, number)
        deadline = time.monotonic() + patience_s
        while any(child.poll() is None for child in targets) and time.monotonic() < deadline:
            time.sleep(0.01)


class ChildGroup:
    """Children that several threads wait for, and that can be ended all at once.

    A signal interrupts the main thread only. It cannot end the waiting of other threads, but it can
    end the children that they wait for.
    """

    def __init__(self) -> None:
        self.over = False
        self._lock = threading.Lock()
        self._children: set[subprocess.Popen[bytes]] = set()

    def end(self) -> None:
        """End every child of the group with its session; none can be started after."""
        with self._lock:
            self.over = True
            children = {child for child in self._children if child.poll() is None}
        end(children)

    def start(
        self, spawn: Callable[[], "subprocess.Popen[bytes]"]
    ) -> "subprocess.Popen[bytes] | None":
        """Start a child and return it, or None once the group is over.

        The lock is held meanwhile, so that ``end`` misses no child that is just being started.
        """
        with self._lock:
            if self.over:
                return None
            child = spawn()
            self._children.add(child)
            return child

    def remove(self, child: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._children.discard(child)


def run_in_foreground(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program to its end; its input and output are this process's own.

    ``env`` is added to this process's environment. An interrupt goes to the program, which handles
    it. Returns the exit status; if a signal ended the program, 128 and the signal's number, as a
    shell does.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(
            list(argv),
            env={**os.environ, **env},
            preexec_fn=lambda: signal.signal(signal.SIGINT, before),
        )
        try:
            status = child.wait()
        except BaseException:  # a signal to this process ends its child as well
            child.terminate()
            child.wait()
            raise
    except OSError as error:
        raise ToolMissing(
            f"cannot start {argv[0]}: {error.strerror}; install it or name its path"
        ) from error
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status


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
