"""Programs that are run to their end."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from fabricgauge.process.children import ChildGroup, end, spawn

#: How long to read on after a child was ended: what it wrote last is already in the pipe.
REST_S = 0.5

#: One read: the size of a Linux pipe (pipe(7)).
_CHUNK_BYTES = 65536


class Completed(msgspec.Struct, frozen=True):
    """What a finished child left.

    ``timed_out`` and ``is_full`` say that we ended it. With ``is_full`` it had printed more than
    was asked for, and the beginning is here.
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
    """Run a program to its end, and to the end of its output, and keep that output.

    ``env`` is added to this process's own environment ``without`` some names. A program that
    outlives ``timeout_s``, or prints more than ``most_bytes``, is ended with its whole session;
    what it printed until then is kept. A descendant that left the session and holds the output
    open does not prolong the wait. Another thread can end the program early through
    ``group``; nothing is started for one that has ended. ``stdin`` is a text, or a descriptor that
    the program reads by itself. ``hear`` is handed each piece of standard output as it comes.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    started = time.monotonic()
    group = group or ChildGroup()
    text, source = (stdin, subprocess.PIPE) if isinstance(stdin, str) else ("", stdin)
    pipe = subprocess.PIPE
    child = group.start(lambda: spawn(argv, env, cwd, pipe, pipe, without, source))
    if child is None:
        return Completed(tuple(argv), -signal.SIGTERM, "", "", 0.0)
    exchange = _Exchange(child, text.encode(), most_bytes, hear)
    try:
        by_itself = _to_its_end(child, exchange, timeout_s)
    finally:
        exchange.close()
        group.remove(child)
    return Completed(
        tuple(argv), _exit_code(child), exchange.stdout, exchange.stderr,
        time.monotonic() - started, not by_itself and not exchange.is_full, exchange.is_full,
    )  # fmt: skip


def _to_its_end(child: "subprocess.Popen[bytes]", exchange: "_Exchange", timeout_s: float) -> bool:
    """Whether it came to its end by itself; else it is ended, as it is by an interrupt."""
    try:
        if exchange.is_done(timeout_s):
            return True
    except BaseException:
        end((child,))
        raise
    end((child,))
    exchange.is_done(REST_S)
    return False


def _exit_code(child: "subprocess.Popen[bytes]") -> int:
    """Its exit status; a process that even SIGKILL does not end hangs in the kernel."""
    return -signal.SIGKILL if child.returncode is None else child.returncode


class _Exchange:
    """A running child's three pipes: what it is given, and what it prints, read as it comes.

    Nothing is read once it has printed more than ``most_bytes`` on both outputs together:
    ``is_full`` is then true, and what is kept is no longer than that.
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
        self._child, self._left = child, memoryview(stdin)
        self._room = most_bytes
        self._kept: dict[IO[bytes], list[bytes]] = {
            pipe: [] for pipe in (child.stdout, child.stderr) if pipe
        }
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)

    @property
    def stdout(self) -> str:
        return self._text(self._child.stdout)

    @property
    def stderr(self) -> str:
        return self._text(self._child.stderr)

    def is_done(self, within_s: float) -> bool:
        """Whether within that time both outputs end, and the child with them."""
        deadline = time.monotonic() + within_s
        with selectors.DefaultSelector() as waiting:
            for pipe, event in self._open():
                waiting.register(pipe, event, pipe)
            while waiting.get_map():
                for key, _ in waiting.select(max(0.0, deadline - time.monotonic())):
                    if not self._moved(key.data):
                        waiting.unregister(key.data)
                        key.data.close()
                if self.is_full or time.monotonic() >= deadline:
                    return False
        return self._has_ended(deadline)

    def _open(self) -> Iterator[tuple[IO[bytes], int]]:
        yield from ((pipe, selectors.EVENT_READ) for pipe in self._kept if not pipe.closed)
        if self._child.stdin and not self._child.stdin.closed:
            yield self._child.stdin, selectors.EVENT_WRITE

    def close(self) -> None:
        """Close what is still open: another process may hold the other end."""
        for pipe in (self._child.stdin, *self._kept):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _has_ended(self, deadline: float) -> bool:
        try:
            self._child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _moved(self, pipe: IO[bytes]) -> bool:
        """Move one piece; false where there is no more."""
        if pipe is self._child.stdin:
            return self._written(pipe)
        piece = os.read(pipe.fileno(), _CHUNK_BYTES)
        if self._room is not None:
            self.is_full = self.is_full or len(piece) > self._room
            piece = piece[: self._room]
            self._room -= len(piece)
        self._kept[pipe].append(piece)
        if pipe is self._child.stdout:
            self._hear(piece)
        return bool(piece) or self.is_full

    def _written(self, pipe: IO[bytes]) -> bool:
        """A child that does not want the rest closes its end."""
        try:
            self._left = self._left[os.write(pipe.fileno(), self._left) :]
        except BrokenPipeError:
            return False
        return len(self._left) > 0

    def _text(self, pipe: IO[bytes] | None) -> str:
        return b"".join(self._kept[pipe]).decode(errors="replace") if pipe else ""
