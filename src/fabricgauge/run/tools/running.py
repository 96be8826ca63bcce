"""One start of a suite's program: raw output first, then its lines, no orphans."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.files import writing
from fabricgauge.files.reading import read_text
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.errors import CannotRun, StoreError
from fabricgauge.model.run import RANK_SAYS, Ended
from fabricgauge.process import MARKER, ProgramStream, end_marked
from fabricgauge.run.environment import kept_back
from fabricgauge.run.launch import tail

READY_S = 15.0

#: Waits a second for a port to be listened on; its only argument is that port as four hex digits.
#: The state 0A is TCP_LISTEN (linux/net/tcp_states.h).
_LISTENS = (
    "n=0; while [ $n -lt 10 ]; do for f in /proc/net/tcp /proc/net/tcp6; do "
    '[ -r $f ] && grep -q ":$1 [0-9A-F]*:0000 0A" $f && exit 0; done; '
    "sleep 0.1; n=$((n+1)); done; exit 1"
)


class Work(msgspec.Struct, frozen=True):
    """Commands of one start. ``ready`` ends well once the ``server`` can be connected to."""

    client: LaunchCommand
    server: LaunchCommand | None = None
    ready: tuple[str, ...] = ()


def listens(port: int) -> tuple[str, ...]:
    """The argv that waits on a node until ``port`` is listened on."""
    return ("/bin/sh", "-c", _LISTENS, "listens", f"{port:04X}")


def run_work(
    work: Work, raw_dir: Path, *, silent_s: float, marker: str
) -> tuple[Ended, tuple[str, ...]]:
    """Run a program to its end; how that was, and its lines.

    The server's word on where it runs comes first, then standard output, then standard
    error, to which NetPIPE writes its table.

    Output is in ``raw_dir`` (stdout.txt, stderr.txt, server.txt, server.err) as it comes.
    After ``silent_s`` without a line the program is ended. However it ends, also by an
    interrupt, every process that carries ``marker`` is ended.

    Raises:
        ToolMissing: the launcher does not exist.
        StoreError: the raw directory cannot be written.
    """
    started = time.monotonic()
    server: ProgramStream | None = None
    try:
        _keep_commands(work, raw_dir)
        if work.server is not None:
            server = _stream(work.server, raw_dir, "server.txt", "server.err", silent_s, marker)
            _await(work, server, raw_dir)
        client = _stream(work.client, raw_dir, "stdout.txt", "stderr.txt", silent_s, marker)
        lines = tuple(client)
        ended = _ended(work, client, raw_dir, time.monotonic() - started)
    except CannotRun as error:
        ended = Ended("broken", None, str(error), work.client.argv, time.monotonic() - started)
        lines = ()
    except OSError as error:
        raise StoreError(f"cannot write {raw_dir}: {error.strerror or error}") from error
    finally:
        if server is not None:
            server.close()
        end_marked(marker)
    return ended, (*_lines(raw_dir / "server.txt")[:1], *lines, *_lines(raw_dir / "stderr.txt"))


def _keep_commands(work: Work, raw_dir: Path) -> None:
    commands = {"client": work.client, "server": work.server}
    described = {name: {"argv": one.argv, "env": one.env} for name, one in commands.items() if one}
    text = json.dumps(described, indent=2, ensure_ascii=False)
    writing.write_whole(raw_dir / "command.json", f"{text}\n".encode())


def _stream(
    command: LaunchCommand, raw_dir: Path, stdout: str, stderr: str, silent_s: float, marker: str
) -> ProgramStream:
    return ProgramStream(
        command.argv, stdin="", stdout=raw_dir / stdout, stderr=raw_dir / stderr,
        silent_s=silent_s, env={**command.env, MARKER: marker}, without=kept_back(os.environ),
    )  # fmt: skip


def _await(work: Work, server: ProgramStream, raw_dir: Path) -> None:
    """Wait for the server; what it said tells why it is not there."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and not server.over:
        if process.run(work.ready, timeout_s=READY_S).exit_code == 0:
            return
    said = (*tail(raw_dir / "server.err"), *tail(raw_dir / "server.txt"))
    told = [line for line in said if not line.startswith(RANK_SAYS)]
    why = f"it said: {' | '.join(told)}" if told else "it said nothing"
    raise CannotRun(f"the server did not begin to listen; {why}")


def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(read_text(path).splitlines())
    except OSError:
        return ()


def _ended(work: Work, client: ProgramStream, raw_dir: Path, wall_s: float) -> Ended:
    argv = work.client.argv
    if client.silent:
        message = f"nothing came for {client.silent_s:g} s, so the program was ended"
        return Ended("silent", client.exit_code, message, argv, wall_s)
    if client.exit_code == 0:
        return Ended("ok", 0, "", argv, wall_s)
    said: Sequence[str] = tail(raw_dir / "stderr.txt") or tail(raw_dir / "stdout.txt")
    words = f"; it said: {' | '.join(said)}" if said else "; it said nothing"
    message = f"the program broke off (exit status {client.exit_code}){words}"
    return Ended("broken", client.exit_code, message, argv, wall_s)
