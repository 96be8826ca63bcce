"""Start and end children, each in a session of its own."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
