"""Start other programs; nothing else does. Argv lists go in, output comes out, no shell is used.

Every child gets its own session, so that it can be ended with all its descendants.
A launch also carries an environment marker, so that a descendant which left the session,
or outlived this program, can be found.
"""

import os
import queue
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.store.files import writing

#: How long a child may take to end after SIGTERM before it is killed.
TERM_GRACE_S = 2.0


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
        self, argv: Sequence[str], env: Mapping[str, str] | None, without: Collection[str],
        **files: Any,
    ) -> "subprocess.Popen[bytes] | None":  # fmt: skip
        """Start a child and return it, or None once the group is over.

        ``env`` is added to this process's own environment ``without`` some names; ``files`` are
        Popen's. The lock is held meanwhile, so that ``end`` misses no child that is just being
        started.

        Raises:
            ToolMissing: the program does not exist or is not executable.
        """
        inherited = {name: value for name, value in os.environ.items() if name not in without}
        environment = {**inherited, **(env or {})}
        with self._lock:
            if self.over:
                return None
            try:
                child = subprocess.Popen(
                    list(argv), env=environment, start_new_session=True, **files
                )
            except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
                raise ToolMissing(
                    f"cannot start {argv[0]}: {error.strerror}; install it or name its path"
                ) from error
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


#: How long to read on after a child was ended: its last output is already in the pipe.
REST_S = 0.5

#: One read: the size of a Linux pipe (pipe(7)).
_CHUNK_BYTES = 65536


class Completed(msgspec.Struct, frozen=True):
    """How a child ended, and its output.

    If ``timed_out`` or ``is_full``, this program ended the child. With ``is_full`` the child had
    printed more than allowed, and the beginning is kept.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool = False
    is_full: bool = False


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: str | int = "",
    cwd: Path | None = None,
    group: ChildGroup | None = None,
    most_bytes: int | None = None,
    without: Collection[str] = (),
    hear: Callable[[bytes], None] = lambda _piece: None,
) -> Completed:
    """Run a program until it and its output end, and keep the output.

    ``env`` is added to this process's own environment ``without`` some names. A program that
    outlives ``timeout_s``, or prints more than ``most_bytes``, is ended with its whole session;
    its output until then is kept. A descendant that left the session and holds the output
    open does not prolong the wait. Another thread can end the program early through
    ``group``; no program is started if the group has ended. ``stdin`` is a text, or a descriptor
    that the program reads by itself. ``hear`` gets each piece of standard output as it comes.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    started = time.monotonic()
    group = group or ChildGroup()
    text, source = (stdin, subprocess.PIPE) if isinstance(stdin, str) else ("", stdin)
    pipe = subprocess.PIPE
    child = group.start(argv, env, without, cwd=cwd, stdin=source, stdout=pipe, stderr=pipe)
    if child is None:
        return Completed(tuple(argv), -signal.SIGTERM, "", "", 0.0)
    exchange = _Exchange(child, text.encode(), most_bytes, hear)
    try:
        ended_by_itself = exchange.is_done(timeout_s)
        if not ended_by_itself:
            end((child,))
            exchange.is_done(REST_S)
    except BaseException:
        end((child,))
        raise
    finally:
        exchange.close()
        group.remove(child)
    # A process that even SIGKILL does not end hangs in the kernel.
    exit_code = -signal.SIGKILL if child.returncode is None else child.returncode
    return Completed(
        tuple(argv), exit_code, exchange.text(child.stdout), exchange.text(child.stderr),
        time.monotonic() - started, not ended_by_itself and not exchange.is_full, exchange.is_full,
    )  # fmt: skip


class _Exchange:
    """The three pipes of a running child: its input, and its two outputs, read as they come.

    Reading stops once both outputs together exceed ``most_bytes``: ``is_full`` is then true, and
    no more than that is kept.
    """

    def __init__(
        self,
        child: "subprocess.Popen[bytes]",
        stdin: bytes,
        most_bytes: int | None,
        hear: Callable[[bytes], None],
    ) -> None:
        self.is_full = False
        self._hear = hear
        self._child, self._unsent = child, memoryview(stdin)
        self._room = most_bytes
        self._output: dict[IO[bytes], list[bytes]] = {
            pipe: [] for pipe in (child.stdout, child.stderr) if pipe
        }
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)

    def text(self, pipe: IO[bytes] | None) -> str:
        """Return what came out of the child's standard output or error."""
        return b"".join(self._output[pipe]).decode(errors="replace") if pipe else ""

    def is_done(self, within_s: float) -> bool:
        """Exchange data until both outputs and the child end; False if that takes longer."""
        deadline = time.monotonic() + within_s
        with selectors.DefaultSelector() as waiting:
            for pipe in (self._child.stdin, *self._output):
                if pipe and not pipe.closed:
                    is_input = pipe is self._child.stdin
                    event = selectors.EVENT_WRITE if is_input else selectors.EVENT_READ
                    waiting.register(pipe, event, pipe)
            while waiting.get_map():
                for key, _ in waiting.select(max(0.0, deadline - time.monotonic())):
                    if not self._move_piece(key.data):
                        waiting.unregister(key.data)
                        key.data.close()
                if self.is_full or time.monotonic() >= deadline:
                    return False
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(max(0.0, deadline - time.monotonic()))
            return True
        return False

    def close(self) -> None:
        """Close the open pipes: another process may hold the other end."""
        for pipe in (self._child.stdin, *self._output):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _move_piece(self, pipe: IO[bytes]) -> bool:
        """Read or write one piece; False at the end of the pipe, or once all is written."""
        if pipe is self._child.stdin:
            with suppress(BrokenPipeError):  # the child closed its end
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent) :]
                return len(self._unsent) > 0
            return False
        piece = os.read(pipe.fileno(), _CHUNK_BYTES)
        if self._room is not None:
            self.is_full = self.is_full or len(piece) > self._room
            piece = piece[: self._room]
            self._room -= len(piece)
        self._output[pipe].append(piece)
        if pipe is self._child.stdout:
            self._hear(piece)
        return bool(piece) or self.is_full


class ProgramStream:
    """A running program whose standard output is kept in a file and read line by line.

    Iterating yields each line once it is safely in the file. Below ``within`` the files are
    written through no link. Without ``stdin`` its input stays open until ``close``. ``silent_s``
    bounds the time without a line: a program that prints nothing for longer is ended, and
    ``silent`` is then true. During silence ``hopeless(seconds)`` is called now and then with its
    length. Once it returns true, ``hopeless_s`` is the bound, if that is less, and ``silent_s`` is
    set to it. After the loop ``exit_code`` is set. Another thread can end the program early through
    ``group``.

    Raises:
        CannotRun: the group has ended.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None,
        stdout: Path,
        stderr: Path,
        silent_s: float,
        within: Path | None = None,
        env: Mapping[str, str] | None = None,
        without: Collection[str] = (),
        hopeless: Callable[[float], bool] = lambda _silent_s: False,
        hopeless_s: float = 5.0,
        group: ChildGroup | None = None,
    ) -> None:
        self.silent_s = silent_s
        self.silent = False
        self.exit_code: int | None = None
        self._hopeless, self._hopeless_s = hopeless, hopeless_s
        self._group = group or ChildGroup()
        self._file = writing.stream(stdout, within, anew=False)
        try:
            with writing.stream(stderr, within, anew=True) as errors:
                pipe = subprocess.PIPE
                child = self._group.start(
                    argv, env, without, stdin=pipe, stdout=pipe, stderr=errors
                )
            if child is None:
                raise CannotRun(f"{argv[0]} was not started: its launch has ended")
        except BaseException:
            self._file.close()
            raise
        self._child = child
        self._lines: queue.SimpleQueue[bytes | OSError | None] = queue.SimpleQueue()
        self._open_stdin = child.stdin if stdin is None else None
        if stdin is not None:
            threading.Thread(target=self._feed, args=(stdin.encode(),), daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()

    def __iter__(self) -> Iterator[str]:
        try:
            while (line := self._next()) is not None:
                yield line.decode(errors="replace").rstrip("\r\n")
        finally:
            self.close()

    def _next(self) -> bytes | None:
        """Return the next line; None at the end, after silence, or if the program is dead.

        A killed program may leave children which hold its output open.
        """
        began = time.monotonic()
        while True:
            remaining_s = began + self.silent_s - time.monotonic()
            try:
                line = self._lines.get(timeout=min(TERM_GRACE_S, max(0.0, remaining_s)))
            except queue.Empty:
                if self._child.poll() is not None:
                    return None
                if self._hopeless(time.monotonic() - began):
                    self.silent_s = min(self._hopeless_s, self.silent_s)
                if time.monotonic() >= began + self.silent_s:
                    self.silent = True
                    return None
                continue
            if isinstance(line, OSError):
                raise line
            return line

    @property
    def over(self) -> bool:
        """Check that the program has ended; its output may still be in the pipe."""
        return self._child.poll() is not None

    def close(self) -> None:
        """End the program, if it still runs, with its whole session."""
        if self._child.poll() is None and not self._ends_by_itself():
            end((self._child,))
        self.exit_code = self._child.wait()
        if self._open_stdin:
            self._open_stdin.close()
        self._group.remove(self._child)

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
            with pipe, self._file as file:
                for line in pipe:
                    file.write(line)
                    self._lines.put(line)
        except OSError as error:  # a full disk must reach the reader, not die in a thread
            self._lines.put(error)
        self._lines.put(None)
