"""A lab's Slurm: its files, its start, and the life of its daemons.

Each daemon is known by process id and start time. The head's are munged and slurmctld, those of
the other nodes are slurmd.
"""

import os
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from fabricgauge.lab import tools
from fabricgauge.lab.holder import identify, in_namespace, is_alive, started
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.slurm import view
from fabricgauge.lab.slurm.conf import (
    CGROUP_CONF,
    MUNGE,
    ROOT,
    check_names,
    slurm_conf,
)
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import Daemon, LabState, save
from fabricgauge.model.errors import LabError

#: All daemons answer within two seconds; this is for a machine with other work.
_READY_TIMEOUT_S, _POLL_S = 60.0, 0.05

#: A clean end takes up to two seconds; this is for a busy machine.
_STOP_TIMEOUT_S = 20.0

#: Directories of a lab's Slurm; munged refuses them where others may write.
_DIRECTORIES = ("etc", "munge", "state", "spool", "log", "pid")

_BECOME = Path(__file__).with_name("become.py")

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

_LAST_LINES = 4


def require(nodes: Sequence[str]) -> None:
    """Refuse what cannot work, before anything is made.

    Raises:
        LabError: not root, or a node's name is not one for Slurm.
        ToolMissing: Slurm or munge is not installed; the message names the command.
    """
    if os.geteuid() != 0:
        raise LabError(
            "a lab with Slurm needs root: slurmctld and slurmd set their groups, which the "
            "kernel forbids in an ordinary user's namespaces (setgroups: Operation not "
            "permitted); run as root, or bring the lab up without --slurm"
        )
    check_names(nodes)
    tools.require_slurm()


def write_files(directory: Path, nodes: Sequence[str]) -> None:
    """Make the directory that the nodes see as /run/slurm, with configuration and key."""
    spools = (f"spool/{node}" for node in nodes)
    for made in (directory, *(directory / name for name in (*_DIRECTORIES, *spools))):
        made.mkdir()
        made.chmod(0o755)  # whatever the umask: it is the lab's directory that shuts others out
    key = directory / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    (directory / "etc" / "cgroup.conf").write_text(CGROUP_CONF)
    _write_conf(directory, nodes, "none")


def _write_conf(directory: Path, nodes: Sequence[str], mpi: str) -> None:
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    text = slurm_conf(nodes, os.cpu_count() or 1, memory_mib, mpi)
    (directory / "etc" / "slurm.conf").write_text(text)


def start_all(state: LabState) -> LabState:
    """Start every daemon and wait until Slurm says that all nodes are idle.

    Raises:
        LabError: a daemon ended or does not answer; the message has its last lines.
    """
    state = _start_munged(state)
    names = [node.name for node in state.nodes if node.index]
    mpi = view.preferred_mpi(view.mpi_plugins(state))
    _write_conf(Path(state.directory) / "slurm", names, mpi)
    for node in state.nodes:
        state = _start(state, _program(state, node.name), node.name)
    _await(state, state.slurm, lambda: view.present(state) >= set(names), "not all nodes are idle")
    return state


def start(state: LabState, node: str) -> LabState:
    """Start a node's daemon (the head's: slurmctld, and munged if it is gone) and await it.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or the daemon does not come up.
    """
    program = _program(state, node)
    if node == HEAD:
        state = _start_munged(state)
    state = _start(state, program, node)
    started = _noted(state, program, node)
    if node == HEAD:
        _await(state, started, lambda: view.controller_answers(state), "it does not answer")
        return state
    _await(state, started, lambda: view.slurmd_answers(state, node), "it does not answer")
    if any(is_alive(daemon.process) for daemon in _noted(state, "slurmctld", HEAD)):
        _await(state, started, lambda: node in view.present(state), "slurmctld does not know it")
    return state


def stop(state: LabState, node: str) -> None:
    """Ask a node's daemon to end; jobs and their steps go on until Slurm finds the node silent.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or the daemon does not end.
    """
    for daemon in _noted(state, _program(state, node), node):
        if is_alive(daemon.process):
            _signal([daemon.process.pid], signal.SIGTERM)
            remedy = "end it with 'fabricgauge lab slurm kill'"
            _await_end(daemon, lambda one: is_alive(one.process), remedy)


def kill(state: LabState, node: str) -> None:
    """End a node's daemon at once, on other nodes than the head with all that runs there, as a
    power cut does.

    Raises:
        UsageError: no such node.
        LabError: no Slurm in this lab, or a process does not end.
    """
    for daemon in _noted(state, _program(state, node), node):
        _await_end(daemon, partial(_struck, state), "see dmesg")


def restart(state: LabState, node: str) -> LabState:
    """End a node's daemon, if it runs, and start it.

    Raises:
        LabError: as ``stop`` and ``start``.
    """
    stop(state, node)
    return start(state, node)


def _program(state: LabState, node: str) -> str:
    """Which daemon manages a node of the lab: the controller on the head, else slurmd."""
    if not state.slurm:
        raise LabError(
            f"lab {state.name!r} has no Slurm; bring it down and up again with "
            f"'fabricgauge lab up --name {state.name} --slurm'"
        )
    return "slurmd" if state.node(node).index else "slurmctld"


def _noted(state: LabState, program: str, node: str) -> list[Daemon]:
    """That daemon as it was last started, running or not; none before its first start."""
    return [one for one in state.slurm if (one.program, one.node) == (program, node)]


def _start_munged(state: LabState) -> LabState:
    state = _start(state, "munged", HEAD)
    munged = _noted(state, "munged", HEAD)
    _await(state, munged, lambda: view.munge_works(state), "it gives out no credential")
    return state


def _start(state: LabState, program: str, node: str) -> LabState:
    """Start a daemon on a node, if it does not run; it may need a while until it answers.

    Raises:
        LabError: it could not be started; the message has the reason.
    """
    if any(is_alive(daemon.process) for daemon in _noted(state, program, node)):
        return state
    cannot = f"cannot start {program} on {node} of lab {state.name!r}"
    words = [str(_output(state, program, node)), tools.path_of(program), *_OPTIONS[program]]
    pid = started(entry(state, node), _BECOME, words, {}, cannot)
    try:
        daemon = Daemon(program, node, identify(pid))
    except LabError as error:
        raise _failure(state, program, node, "ended at once") from error
    noted = {(one.program, one.node): one for one in (*state.slurm, daemon)}
    changed = msgspec.structs.replace(state, slurm=tuple(noted.values()))
    save(changed)
    return changed


def _await(
    state: LabState, started: Sequence[Daemon], ready: Callable[[], bool], what_not: str
) -> None:
    """Wait until Slurm is as wanted, or a daemon that should bring it about has ended."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while not ready():
        for daemon in started:
            if not is_alive(daemon.process):
                raise _failure(state, daemon.program, daemon.node, "ended")
        if time.monotonic() > deadline:
            late = f"runs, but after {_READY_TIMEOUT_S:.0f} s {what_not}"
            raise _failure(state, started[-1].program, started[-1].node, late)
        time.sleep(_POLL_S)


def _failure(state: LabState, program: str, node: str, how: str) -> LabError:
    """What happened to a daemon, with the end of what it printed."""
    lines: list[str] = []
    with suppress(OSError):
        text = _output(state, program, node).read_text(errors="replace")
        lines = text.strip().splitlines()[-_LAST_LINES:]
    return LabError(
        f"{program} on {node} of lab {state.name!r} {how}; it last said: "
        f"{' | '.join(lines) or 'nothing'}; mend what it names "
        "(the lab's Slurm is set up for Debian's version 22.05)"
    )


def _output(state: LabState, program: str, node: str) -> Path:
    """Where a daemon's standard output and error are kept."""
    return Path(state.directory) / "slurm" / "log" / f"{program}.{node}.out"


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
        _signal(found, number)
    return frozenset(found)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _await_end(daemon: Daemon, remains: Callable[[Daemon], object], remedy: str) -> None:
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while remains(daemon):
        if time.monotonic() > deadline:
            raise LabError(
                f"{daemon.program} on {daemon.node} (process {daemon.process.pid}) does not end; "
                f"{remedy}"
            )
        time.sleep(0.02)
