"""A lab's Slurm as a whole: its files, its start, and the life of one node's daemon."""

import os
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricgauge.lab import tools
from fabricgauge.lab.holder import is_alive
from fabricgauge.lab.slurm import daemons, view
from fabricgauge.lab.slurm.conf import CGROUP_CONF, NodeSize, check_names, slurm_conf
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import Daemon, LabState
from fabricgauge.model.errors import LabError

#: All daemons answer within two seconds; this is for a machine with other work.
_READY_TIMEOUT_S, _POLL_S = 60.0, 0.05

#: Directories of a lab's Slurm; munged refuses them where others may write.
_DIRECTORIES = ("etc", "munge", "state", "spool", "log", "pid")


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
    (directory / "etc" / "slurm.conf").write_text(slurm_conf(nodes, _size(), "none"))


def start_all(state: LabState) -> LabState:
    """Start every daemon and wait until Slurm says that all nodes are idle.

    Raises:
        LabError: a daemon ended or does not answer; the message has its last lines.
    """
    state = _start_munged(state)
    names = [node.name for node in state.nodes if node.index]
    mpi = view.preferred_mpi(view.mpi_plugins(state))
    conf = Path(state.directory) / "slurm" / "etc" / "slurm.conf"
    conf.write_text(slurm_conf(names, _size(), mpi))
    for node in state.nodes:
        state = daemons.start(state, daemons.program_of(node), node.name)
    _await(state, state.slurm, lambda: view.present(state) >= set(names), "not all nodes are idle")
    return state


def start(state: LabState, node: str) -> LabState:
    """Start a node's daemon (the head's: slurmctld, and munged if it is gone) and await it.

    Raises:
        LabError: no Slurm in this lab, no such node, or the daemon does not come up.
    """
    program = _program(state, node)
    if node == HEAD:
        state = _start_munged(state)
    state = daemons.start(state, program, node)
    started = [daemon for daemon in state.slurm if (daemon.program, daemon.node) == (program, node)]
    if node == HEAD:
        _await(state, started, lambda: view.controller_answers(state), "it does not answer")
        return state
    _await(state, started, lambda: view.slurmd_answers(state, node), "it does not answer")
    if daemons.runs(state, "slurmctld", HEAD):
        _await(state, started, lambda: node in view.present(state), "slurmctld does not know it")
    return state


def stop(state: LabState, node: str) -> None:
    """Ask a node's daemon to end; jobs go on until Slurm finds the node silent.

    Raises:
        LabError: no Slurm in this lab, no such node, or the daemon does not end.
    """
    daemons.stop(state, _program(state, node), node)


def kill(state: LabState, node: str) -> None:
    """End a node's daemon at once, on other nodes than the head with all that runs there.

    Raises:
        LabError: no Slurm in this lab, no such node, or a process does not end.
    """
    daemons.kill(state, _program(state, node), node)


def restart(state: LabState, node: str) -> LabState:
    """End a node's daemon, if it runs, and start it.

    Raises:
        LabError: as ``stop`` and ``start``.
    """
    stop(state, node)
    return start(state, node)


def _program(state: LabState, node: str) -> str:
    if not state.slurm:
        raise LabError(
            f"lab {state.name!r} has no Slurm; bring it down and up again with "
            f"'fabricgauge lab up --name {state.name} --slurm'"
        )
    return daemons.program_of(state.node(node))


def _start_munged(state: LabState) -> LabState:
    state = daemons.start(state, "munged", HEAD)
    munged = [daemon for daemon in state.slurm if daemon.program == "munged"]
    _await(state, munged, lambda: view.munge_works(state), "it gives out no credential")
    return state


def _await(
    state: LabState, started: Sequence[Daemon], ready: Callable[[], bool], what_not: str
) -> None:
    """Wait until Slurm is as wanted, or a daemon that should bring it about has ended."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while not ready():
        for daemon in started:
            if not is_alive(daemon.process):
                raise daemons.failure(state, daemon.program, daemon.node, "ended")
        if time.monotonic() > deadline:
            late = f"runs, but after {_READY_TIMEOUT_S:.0f} s {what_not}"
            raise daemons.failure(state, started[-1].program, started[-1].node, late)
        time.sleep(_POLL_S)


def _size() -> NodeSize:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return NodeSize(os.cpu_count() or 1, pages * page_bytes // 2**20)
