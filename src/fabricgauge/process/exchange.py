"""What a child is given on standard input, and what it prints, read as it comes."""

import os
import selectors
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

#: One read: the size of a Linux pipe (pipe(7)).
_CHUNK_BYTES = 65536


class Exchange:
    """A running child's three pipes.

    Nothing is read once it has printed more than ``most_bytes`` on both outputs together:
    ``is_full`` is then true, and what is kept is no longer than that.
    """

    def __init__(
        self, child: "subprocess.Popen[bytes]", stdin: bytes, most_bytes: int | None
    ) -> None:
        self.is_full = False
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
