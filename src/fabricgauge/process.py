"""The only door to other programs: argv lists in, output out, nothing through a shell.

Every child gets its own session, so that it can be ended with all its descendants.
A launch also carries an environment marker, so that a descendant which left the session,
or outlived this program, can be found.
"""

import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.reach import Door

#: Environment variable that every child and its descendants carry.
MARKER = "FABRICGAUGE_CHILD"

#: How long a child may take to end after SIGTERM before it is killed.
TERM_GRACE_S = 2.0

#: How long to read on after a child was ended: what it wrote last is already in the pipe.
REST_S = 0.5

#: How long killed processes may take to vanish before they are left to the kernel.
VANISH_S = 2.0


class Completed(msgspec.Struct, frozen=True):
    """What a finished child left. ``timed_out`` says that it was ended by us."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool = False


class Group:
    """Children that are waited for in several threads and can be ended all at once.

    Only the main thread is interrupted by a signal; it cannot end the others' waiting,
    but it can end what they wait for.
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
        _signal(children, signal.SIGTERM)
        deadline = time.monotonic() + TERM_GRACE_S
        while any(child.poll() is None for child in children) and time.monotonic() < deadline:
            time.sleep(0.01)
        _signal(children, signal.SIGKILL)

    def start(
        self, spawn: Callable[[], "subprocess.Popen[bytes]"]
    ) -> "subprocess.Popen[bytes] | None":
        """A new child, or None once the group is over.

        It is made under the lock, so that ``end`` misses none that is just being made.
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


def behind(door: Door, argv: Sequence[str]) -> list[str]:
    """The argv that runs ``argv`` behind a door, quoted where a remote shell will read it."""
    if door.remote_shell:
        return [*door.prefix, shlex.join(argv)]
    return [*door.prefix, *argv]


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    cwd: Path | None = None,
    group: Group | None = None,
) -> Completed:
    """Run a program to its end, and to the end of its output, and keep that output.

    ``env`` is added to this process's own environment. A program that outlives
    ``timeout_s`` is ended with its whole session; what it printed is kept. A descendant
    that left the session and holds the output open does not prolong the wait. Another
    thread can end the program early through ``group``; nothing is started for one that
    has ended.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    started = time.monotonic()
    group = group or Group()
    child = group.start(lambda: _spawn(argv, env, cwd, subprocess.PIPE, subprocess.PIPE))
    if child is None:
        return Completed(tuple(argv), -signal.SIGTERM, "", "", 0.0)
    timed_out = False
    try:
        out, err = child.communicate(stdin.encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired:
        end(child)
        out, err = _rest(child)
        timed_out = True
    except BaseException:
        end(child)
        raise
    finally:
        group.remove(child)
    return Completed(
        tuple(argv), _exit_code(child), out.decode(errors="replace"),
        err.decode(errors="replace"), time.monotonic() - started, timed_out,
    )  # fmt: skip


def _rest(child: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """All that an ended child printed, though another process may hold its pipes open."""
    try:
        return child.communicate(timeout=REST_S)
    except subprocess.TimeoutExpired as so_far:
        return so_far.output or b"", so_far.stderr or b""
    finally:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                with suppress(OSError):
                    pipe.close()


def _exit_code(child: "subprocess.Popen[bytes]") -> int:
    """Its exit status; a process that even SIGKILL does not end hangs in the kernel."""
    return -signal.SIGKILL if child.returncode is None else child.returncode


class Stream:
    """A running program whose standard output is kept in a file and read line by line.

    Iterating yields each line once it is safely in the file. ``silent_s`` bounds the
    time without a line: a program that says nothing for longer is ended, and
    ``silent`` is then true. Once ``hopeless()`` is true, ``hopeless_s`` bounds it, if
    that is less. ``silent_s`` is then what bounded it. After the loop ``exit_code`` is set.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: str,
        stdout: Path,
        stderr: Path,
        silent_s: float,
        env: Mapping[str, str] | None = None,
        hopeless: Callable[[], bool] = lambda: False,
        hopeless_s: float = 5.0,
    ) -> None:
        self.argv = tuple(argv)
        self.silent_s = silent_s
        self.silent = False
        self.exit_code: int | None = None
        self._hopeless, self._hopeless_s = hopeless, hopeless_s
        self._stdout = stdout
        with stderr.open("wb") as errors:
            self._child = _spawn(argv, env, None, subprocess.PIPE, errors)
        self._lines: queue.SimpleQueue[bytes | OSError | None] = queue.SimpleQueue()
        threading.Thread(target=self._feed, args=(stdin.encode(),), daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        try:
            while (line := self._next()) is not None:
                yield line.decode(errors="replace").rstrip("\r\n")
        finally:
            self.close()

    def _next(self) -> bytes | None:
        """The next line; None at the end, after silence, or from a dead program's quiet pipe.

        A program that was killed may leave children which hold its output open.
        """
        began = time.monotonic()
        while True:
            left_s = began + self.silent_s - time.monotonic()
            try:
                line = self._lines.get(timeout=min(TERM_GRACE_S, max(0.0, left_s)))
            except queue.Empty:
                if self._child.poll() is not None:
                    return None
                if self._hopeless():
                    self.silent_s = min(self._hopeless_s, self.silent_s)
                if time.monotonic() >= began + self.silent_s:
                    self.silent = True
                    return None
                continue
            if isinstance(line, OSError):
                raise line
            return line

    def close(self) -> None:
        """End the program, if it still runs, with its whole session."""
        if self._child.poll() is None and not self._ends_by_itself():
            end(self._child)
        self.exit_code = self._child.wait()

    def _ends_by_itself(self) -> bool:
        if self.silent or not self._child.stdout or not self._child.stdout.closed:
            return False
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=TERM_GRACE_S)
        return self._child.poll() is not None

    def _feed(self, data: bytes) -> None:
        pipe: IO[bytes] | None = self._child.stdin
        if pipe:
            with suppress(BrokenPipeError), pipe:
                pipe.write(data)

    def _drain(self) -> None:
        pipe: IO[bytes] | None = self._child.stdout
        if not pipe:
            return
        try:
            with pipe, self._stdout.open("ab", buffering=0) as kept:
                for line in pipe:
                    kept.write(line)
                    self._lines.put(line)
        except OSError as error:  # a full disk must reach the reader, not die in a thread
            self._lines.put(error)
        self._lines.put(None)


def end(child: "subprocess.Popen[bytes]") -> None:
    """End a child and its session: politely first, then for good."""
    for number, patience_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=patience_s)
            if number == signal.SIGKILL:
                return


def _signal(children: "Iterable[subprocess.Popen[bytes]]", number: signal.Signals) -> None:
    for child in children:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)


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


def _spawn(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            list(argv), stdin=subprocess.PIPE, stdout=stdout, stderr=stderr,
            env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True,
        )  # fmt: skip
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise ToolMissing(
            f"cannot start {argv[0]}: {error.strerror}; install it or name its path"
        ) from error
