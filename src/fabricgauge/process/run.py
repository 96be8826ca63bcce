"""Programs that are run to their end."""

import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge.model.reach import Door
from fabricgauge.process.children import Group, end, spawn

#: How long to read on after a child was ended: what it wrote last is already in the pipe.
REST_S = 0.5


class Completed(msgspec.Struct, frozen=True):
    """What a finished child left. ``timed_out`` says that it was ended by us."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    timed_out: bool = False


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
    child = group.start(lambda: spawn(argv, env, cwd, subprocess.PIPE, subprocess.PIPE))
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
