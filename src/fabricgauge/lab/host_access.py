"""Give other stages access to a lab: its nodes, its declared networks, and one user at a time.

Two programs that measure would share the links unnoticed.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabricgauge.lab.holder import foreign_members, parent_of
from fabricgauge.lab.spec import HEAD
from fabricgauge.lab.state import LabState, Marks, lab_directory, load, load_complete
from fabricgauge.model.errors import LabError, UsageError
from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.store.run_directory import try_lock

#: File that the measuring program locks; it holds its process id.
USE = "use"


def access(state: LabState) -> HostAccess:
    """Return access to all nodes except the head.

    ``mpiexec`` starts on the head, or on the first node of a lab without a head. Each command
    checks the node's holder process and keeps the working directory. Virtual machines have a
    kernel each, so they are not ``virtual``.
    """
    return HostAccess(
        launcher="lab",
        hosts=tuple(Host(node.name, entry(state, node.name)) for node in state.nodes if node.index),
        head_prefix=entry(state, state.nodes[0].name),
        agent=str(Path(state.directory) / "agent"),
        virtual=not state.rdma,
    )


def head_name(access: HostAccess) -> str:
    """Return the name of the machine that starts ``mpiexec``: a lab's head, or this machine."""
    return HEAD if access.launcher == "lab" else platform.node()


def entry(state: LabState, node: str) -> tuple[str, ...]:
    """Return the argv prefix that runs a command on a node of the lab."""
    return ("/bin/sh", str(Path(state.directory) / "enter"), state.node(node).name)


def declared_networks(state: LabState) -> tuple[DeclaredNetwork, ...]:
    """Return the lab's networks with their specified line rates in bit/s."""
    return tuple(
        DeclaredNetwork(network.name, network.subnet, network.rate_bit_s, "declared by the lab")
        for network in state.networks
    )


def enter(state: LabState, node: str, argv: tuple[str, ...]) -> None:
    """Replace this process by ``argv`` on a node; terminal, input and exit status are its own."""
    prefix = entry(state, node)
    os.execv(prefix[0], [*prefix, *argv])  # noqa: S606 -- an argv list, on purpose


def nodes_share_kernel() -> bool:
    """Check if this process runs in a lab of namespaces, whose nodes share one kernel."""
    return "FABRICGAUGE_LAB" in os.environ and not nodes_are_machines()


def nodes_are_machines() -> bool:
    """Check if this process runs in a lab of virtual machines: they share no folder to write to."""
    return "FABRICGAUGE_MACHINES" in os.environ


@contextmanager
def lab_in_use(name: str) -> Iterator[None]:
    """Keep other programs from measuring a lab. The kernel ends the lock with the process.

    Raises:
        LabError: no such lab, or it is incomplete.
        UsageError: another program measures the lab.
    """
    load_complete(name)
    with hold_lab(name):
        yield


@contextmanager
def hold_lab(name: str) -> Iterator[None]:
    """Lock a lab that this process measures or brings up.

    Raises:
        UsageError: another program has locked it.
    """
    file = os.open(lab_directory(name) / USE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not try_lock(file):
            raise UsageError(
                f"process {process_using(name)} measures lab {name!r} now; wait until it ends, or"
                " choose another lab"
            )
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def describe_use(name: str) -> str:
    """Return who uses a lab: who measures it or comes up with it, or runs on a node; else empty."""
    if process := process_using(name):
        return f"process {process} measures it or brings it up"
    try:
        state = load(name)
    except LabError:
        return ""
    users = find_users(state)
    return f"process {min(users)} runs in it" if users else ""


def find_users(state: LabState) -> frozenset[int]:
    """Return the processes inside a lab that are neither its holders nor its daemons."""
    lab_processes = {process.pid for process in (*(d.process for d in state.slurm), *state.senders)}
    marks = Marks(state.token, state.boot_id, state.net_inodes)
    # slurmctld has a child that runs scripts; the children of slurmd are jobs.
    helpers = {daemon.process.pid for daemon in state.slurm if daemon.node == HEAD}
    return frozenset(
        pid
        for pid in foreign_members(marks, Path(state.directory))
        if pid not in lab_processes and parent_of(pid) not in helpers
    )


def process_using(name: str) -> str:
    """Return the id of the process that measures a lab, empty if none does."""
    path = lab_directory(name) / USE
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "" if try_lock(file) else path.read_text(errors="replace") or "unknown"
    finally:
        os.close(file)
