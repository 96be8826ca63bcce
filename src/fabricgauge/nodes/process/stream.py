"""Run programs whose output is read while they run."""

import queue
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from fabricgauge.model.errors import CannotRun
from fabricgauge.nodes.process.children import TERM_GRACE_S, ChildGroup, end, spawn
from fabricgauge.store.files import writing


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
                child = self._group.start(
                    lambda: spawn(argv, env, None, subprocess.PIPE, errors, without)
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
