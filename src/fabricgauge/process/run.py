"""Programs that are run to their end."""

import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.process.children import ChildGroup, end, spawn
from fabricgauge.process.exchange import Exchange

#: How long to read on after a child was ended: what it wrote last is already in the pipe.
REST_S = 0.5


class Completed(msgspec.Struct, frozen=True):
    """What a finished child left. ``timed_out`` says that it was ended by us.

    So does ``is_full``: it had printed more than was asked for, of which the beginning is here.
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
    stdin: str = "",
    cwd: Path | None = None,
    group: ChildGroup | None = None,
    most_bytes: int | None = None,
    without: Collection[str] = (),
) -> Completed:
    """Run a program to its end, and to the end of its output, and keep that output.

    ``env`` is added to this process's own environment ``without`` some names. A program that
    outlives ``timeout_s``, or prints more than ``most_bytes``, is ended with its whole session;
    what it printed until then is kept. A descendant that left the session and holds the output
    open does not prolong the wait. Another thread can end the program early through
    ``group``; nothing is started for one that has ended.

    Raises:
        ToolMissing: the program does not exist or is not executable.
    """
    started = time.monotonic()
    group = group or ChildGroup()
    child = group.start(lambda: spawn(argv, env, cwd, subprocess.PIPE, subprocess.PIPE, without))
    if child is None:
        return Completed(tuple(argv), -signal.SIGTERM, "", "", 0.0)
    exchange = Exchange(child, stdin.encode(), most_bytes)
    try:
        by_itself = _to_its_end(child, exchange, timeout_s)
    finally:
        exchange.close()
        group.remove(child)
    return Completed(
        tuple(argv), _exit_code(child), exchange.stdout, exchange.stderr,
        time.monotonic() - started, not by_itself and not exchange.is_full, exchange.is_full,
    )  # fmt: skip


def _to_its_end(child: "subprocess.Popen[bytes]", exchange: Exchange, timeout_s: float) -> bool:
    """Whether it came to its end by itself; else it is ended, as it is by an interrupt."""
    try:
        if exchange.is_done(timeout_s):
            return True
    except BaseException:
        end(child)
        raise
    end(child)
    exchange.is_done(REST_S)
    return False


def _exit_code(child: "subprocess.Popen[bytes]") -> int:
    """Its exit status; a process that even SIGKILL does not end hangs in the kernel."""
    return -signal.SIGKILL if child.returncode is None else child.returncode
