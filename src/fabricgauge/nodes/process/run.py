"""Run programs to their end."""

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

from fabricgauge.nodes.process.children import ChildGroup, end, spawn

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
    child = group.start(lambda: spawn(argv, env, cwd, pipe, pipe, without, source))
    if child is None:
        return Completed(tuple(argv), -signal.SIGTERM, "", "", 0.0)
    exchange = _Exchange(child, text.encode(), most_bytes, hear)
    try:
        ended_by_itself = _wait_for_end(child, exchange, timeout_s)
    finally:
        exchange.close()
        group.remove(child)
    return Completed(
        tuple(argv), _exit_code(child), exchange.stdout, exchange.stderr,
        time.monotonic() - started, not ended_by_itself and not exchange.is_full, exchange.is_full,
    )  # fmt: skip


def _wait_for_end(
    child: "subprocess.Popen[bytes]", exchange: "_Exchange", timeout_s: float
) -> bool:
    """Wait for a child; end it after the time limit. Return whether it ended by itself."""
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
    """Return the exit status. A process that even SIGKILL does not end hangs in the kernel."""
    return -signal.SIGKILL if child.returncode is None else child.returncode


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

    @property
    def stdout(self) -> str:
        return self._text(self._child.stdout)

    @property
    def stderr(self) -> str:
        return self._text(self._child.stderr)

    def is_done(self, within_s: float) -> bool:
        """Exchange data until both outputs and the child end; False if that takes longer."""
        deadline = time.monotonic() + within_s
        with selectors.DefaultSelector() as waiting:
            for pipe, event in self._open():
                waiting.register(pipe, event, pipe)
            while waiting.get_map():
                for key, _ in waiting.select(max(0.0, deadline - time.monotonic())):
                    if not self._move_piece(key.data):
                        waiting.unregister(key.data)
                        key.data.close()
                if self.is_full or time.monotonic() >= deadline:
                    return False
        return self._wait_for_child(deadline)

    def _open(self) -> Iterator[tuple[IO[bytes], int]]:
        yield from ((pipe, selectors.EVENT_READ) for pipe in self._output if not pipe.closed)
        if self._child.stdin and not self._child.stdin.closed:
            yield self._child.stdin, selectors.EVENT_WRITE

    def close(self) -> None:
        """Close the open pipes: another process may hold the other end."""
        for pipe in (self._child.stdin, *self._output):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _wait_for_child(self, deadline: float) -> bool:
        try:
            self._child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _move_piece(self, pipe: IO[bytes]) -> bool:
        """Read or write one piece; False at the end of the pipe."""
        if pipe is self._child.stdin:
            return self._write_piece(pipe)
        piece = os.read(pipe.fileno(), _CHUNK_BYTES)
        if self._room is not None:
            self.is_full = self.is_full or len(piece) > self._room
            piece = piece[: self._room]
            self._room -= len(piece)
        self._output[pipe].append(piece)
        if pipe is self._child.stdout:
            self._hear(piece)
        return bool(piece) or self.is_full

    def _write_piece(self, pipe: IO[bytes]) -> bool:
        """Write one piece; False once all is written, or the child closed its end."""
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent) :]
        except BrokenPipeError:
            return False
        return len(self._unsent) > 0

    def _text(self, pipe: IO[bytes] | None) -> str:
        return b"".join(self._output[pipe]).decode(errors="replace") if pipe else ""
