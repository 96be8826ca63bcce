"""Starting and ending single daemons of a lab's Slurm, each known by process id and start time."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from fabricgauge import process
from fabricgauge.lab import tools
from fabricgauge.lab.holder import identify, in_namespace, is_alive
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.slurm.conf import MUNGE, ROOT
from fabricgauge.lab.state import Daemon, LabNode, LabState, save
from fabricgauge.model.errors import LabError

_BECOME = Path(__file__).with_name("become.py")

#: Starting takes milliseconds, a clean end up to two seconds; this is for a busy machine.
_START_TIMEOUT_S, _STOP_TIMEOUT_S = 30.0, 20.0

_LAST_LINES = 4

_USE_KILL = "end it with 'fabricgauge lab slurm kill'"

#: What follows the program; every daemon stays in the foreground, so that its id is known.
_OPTIONS = {
    "munged": (
        "--foreground",
        f"--key-file={ROOT}/munge.key",
        f"--socket={MUNGE}/munge.socket.2",
        f"--seed-file={ROOT}/munge.seed",
        f"--pid-file={ROOT}/pid/munged",
    ),
    "slurmctld": ("-D",),
    "slurmd": ("-D",),
}


def program_of(node: LabNode) -> str:
    """Which daemon manages a node of the lab: the controller on the head, else slurmd."""
    return "slurmd" if node.index else "slurmctld"


def find(state: LabState, program: str, node: str) -> Daemon | None:
    """That daemon as it was last started, running or not."""
    for daemon in state.slurm:
        if (daemon.program, daemon.node) == (program, node):
            return daemon
    return None


def runs(state: LabState, program: str, node: str) -> bool:
    """Whether that daemon was started and still runs."""
    daemon = find(state, program, node)
    return daemon is not None and is_alive(daemon.process)


def start(state: LabState, program: str, node: str) -> LabState:
    """Start a daemon on a node, if it does not run; it may need a while until it answers.

    Raises:
        LabError: it could not be started; the message has the reason.
    """
    if runs(state, program, node):
        return state
    output = output_file(state, program, node)
    argv = [tools.path_of(program), *_OPTIONS[program]]
    become = [sys.executable, "-I", "-S", str(_BECOME), str(output), *argv]
    done = process.run(
        [tools.path_of("setsid"), "--fork", *entry(state, node), *become],
        timeout_s=_START_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH}, cwd=Path("/"),
    )  # fmt: skip
    if not done.stdout.strip().isdigit():
        reason = done.stderr.strip() or "it took too long"
        raise LabError(f"cannot start {program} on {node} of lab {state.name!r}: {reason}")
    try:
        found = identify(int(done.stdout))
    except LabError as error:
        raise failure(state, program, node, "ended at once") from error
    return _noted(state, Daemon(program, node, found))


def stop(state: LabState, program: str, node: str) -> None:
    """Ask a daemon to end and wait for it; job steps that it started go on.

    Raises:
        LabError: it does not end.
    """
    daemon = find(state, program, node)
    if daemon and is_alive(daemon.process):
        _signal(daemon.process.pid, signal.SIGTERM)
        _await_end(daemon, lambda: is_alive(daemon.process), _USE_KILL)


def kill(state: LabState, program: str, node: str) -> None:
    """End a daemon at once, and on a node whatever else runs there, as a power cut does.

    Raises:
        LabError: something does not end.
    """
    daemon = find(state, program, node)
    if daemon:
        _await_end(daemon, lambda: _struck(state, daemon), "see dmesg")


def _struck(state: LabState, daemon: Daemon) -> frozenset[int]:
    """What of a daemon and its node was still there, and has now been sent SIGKILL.

    All are stopped first: a slurmstepd that outlived its task by a moment would tell Slurm
    that the job failed, and no power cut leaves it time for that.
    """
    found = {daemon.process.pid} if is_alive(daemon.process) else set()
    holder = state.node(daemon.node).holder
    if daemon.program == "slurmd" and is_alive(holder):
        found |= in_namespace(holder.net_inode) - {holder.pid}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in found:
            _signal(pid, number)
    return frozenset(found)


def output_file(state: LabState, program: str, node: str) -> Path:
    """Where a daemon's standard output and error are kept."""
    return Path(state.directory) / "slurm" / "log" / f"{program}.{node}.out"


def failure(state: LabState, program: str, node: str, how: str) -> LabError:
    """What happened to a daemon, with the end of what it printed."""
    return LabError(
        f"{program} on {node} of lab {state.name!r} {how}; it last said: "
        f"{_last_words(output_file(state, program, node))}; mend what it names "
        "(the lab's Slurm is set up for Debian's version 22.05)"
    )


def _last_words(output: Path) -> str:
    lines: list[str] = []
    with suppress(OSError):
        lines = output.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return " | ".join(lines) or "nothing"


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _await_end(daemon: Daemon, remains: Callable[[], object], remedy: str) -> None:
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while remains():
        if time.monotonic() > deadline:
            raise LabError(
                f"{daemon.program} on {daemon.node} (process {daemon.process.pid}) does not end; "
                f"{remedy}"
            )
        time.sleep(0.02)


def _noted(state: LabState, daemon: Daemon) -> LabState:
    """The same lab with a daemon's last start noted, in the place of an earlier one."""
    noted = {(known.program, known.node): known for known in state.slurm}
    noted[daemon.program, daemon.node] = daemon
    changed = msgspec.structs.replace(state, slurm=tuple(noted.values()))
    save(changed)
    return changed
