"""Find a lab's processes by what the kernel reports of them, and run commands inside a lab."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fabricgauge.lab import tools
from fabricgauge.lab.state import Marks, NodeHolder
from fabricgauge.model.errors import LabError
from fabricgauge.nodes import process

#: Environment of the processes that hold a lab's namespaces, and of those that entered.
HOLDER_MARK, ENTERED_MARK = "FABRICGAUGE_LAB_HOLDER", "FABRICGAUGE_LAB"

#: A start takes milliseconds; the limit allows for a machine that swaps.
_START_TIMEOUT_S = 60.0

#: Time for killed processes to end before an error is reported.
_VANISH_S = 10.0


def boot_id() -> str:
    """Return the kernel's name for this boot: process ids of another boot mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> NodeHolder:
    """Return a running process with start time and network namespace; LabError if it has ended."""
    ticks, namespace = start_ticks(pid), net_inode(pid)
    if ticks is None or namespace is None:
        raise LabError(f"process {pid} of the lab has ended; bring the lab up again")
    return NodeHolder(pid, ticks, namespace)


def start_script(
    prefix: Sequence[str], script: Path, words: Sequence[str], mark: Mapping[str, str],
    failure: str, remedy: str = "",
) -> int:  # fmt: skip
    """Start a script behind ``prefix``; return the process id that it prints when it is ready.

    ``mark`` is added to the environment.

    Raises:
        LabError: it did not start; the message begins with ``failure``.
    """
    python = [sys.executable, "-I", "-S", str(script), *words]
    completed = process.run(
        [tools.path_of("setsid"), "--fork", *prefix, *python],
        timeout_s=_START_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH, **mark}, cwd=Path("/"),
    )  # fmt: skip
    if not completed.stdout.strip().isdigit():
        default = "it took too long" if completed.timed_out else "no reason given"
        reason = f"{completed.stderr.strip() or default}{'; ' * bool(remedy)}{remedy}"
        raise LabError(f"{failure}: {reason}")
    return int(completed.stdout)


def is_alive(holder: NodeHolder) -> bool:
    """Check whether this process still runs in the same network namespace."""
    return (
        start_ticks(holder.pid) == holder.start_ticks and net_inode(holder.pid) == holder.net_inode
    )


def start_ticks(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot (proc(5), field 22 of stat)."""
    text = _read_of(pid, "stat")
    return parse_stat(text, 22) if text else None


def parse_stat(text: str, field: int) -> int:
    """Return a field from 3 on of a stat line, whose second field may hold blanks and brackets."""
    return int(text.rpartition(")")[2].split()[field - 3])


def _read_of(pid: int, name: str) -> str:
    """Return the text of /proc/PID/NAME; empty if the process has ended, or is another user's."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def net_inode(pid: int) -> int | None:
    """Return the inode number of a process's network namespace; None if the process has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 -- Path costs time here
    except OSError:
        return None


def own_net_inodes() -> frozenset[int]:
    """Return this process's network namespace, as a set of at most one inode number."""
    inode = net_inode(os.getpid())
    return frozenset(() if inode is None else (inode,))


def members(marks: Marks) -> frozenset[int]:
    """Return all processes of a lab except this one.

    The kernel reuses the inode number of a removed namespace. So a recorded number counts only
    while a process with the lab's token is in that namespace. Holders count in any namespace,
    since a holder may not have made its own yet. The namespace of this process never counts: it
    belongs to the machine.
    """
    if marks.boot_id != boot_id():
        return frozenset()
    namespaces = {pid: namespace for pid, namespace in _processes() if pid != os.getpid()}
    inodes = frozenset(marks.net_inodes) - own_net_inodes()
    holders, proven = set(), set()
    for pid, namespace in namespaces.items():
        mark = _mark(pid, marks.token)
        if mark == HOLDER_MARK:
            holders.add(pid)
        if mark and namespace in inodes:
            proven.add(namespace)
    inside = {pid for pid, namespace in namespaces.items() if namespace in proven}
    return frozenset(holders | inside)


def foreign_members(marks: Marks, directory: Path) -> frozenset[int]:
    """Return the processes inside a lab that others started, except this one.

    A virtual machine's programs are not seen; the ssh that reaches them has the lab's directory in
    its command.
    """
    inside = {pid for pid in members(marks) if _mark(pid, marks.token) != HOLDER_MARK}
    reaching = {
        pid
        for pid, _ in _processes()
        if pid != os.getpid() and f"\0{directory}/ssh_config\0" in _read_of(pid, "cmdline")
    }
    return frozenset(inside | reaching)


def parent_of(pid: int) -> int:
    """Return the parent of a process (proc(5), field 4 of stat), 0 if it has ended."""
    text = _read_of(pid, "stat")
    return parse_stat(text, 4) if text else 0


def processes_in(inode: int) -> frozenset[int]:
    """Return all processes of a network namespace; none for the namespace of this process."""
    processes = () if inode in own_net_inodes() else _processes()
    return frozenset(pid for pid, namespace in processes if namespace == inode)


def kill(marks: Marks) -> int:
    """Kill a lab's processes until none remains; return their number.

    Raises:
        LabError: a process does not end, which happens only if the kernel has a fault.
    """
    killed: set[int] = set()
    deadline = time.monotonic() + _VANISH_S
    while pids := members(marks):
        if time.monotonic() > deadline:
            raise LabError(f"processes {sorted(pids)} of the lab do not end; see dmesg")
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= pids
        time.sleep(0.01)
    return len(killed)


def _processes() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 -- Path costs time here
        if entry.isdigit() and (namespace := net_inode(int(entry))) is not None:
            yield int(entry), namespace


def _mark(pid: int, token: str) -> str:
    environment = _read_of(pid, "environ").split("\0")
    marks = (HOLDER_MARK, ENTERED_MARK)
    return next((mark for mark in marks if f"{mark}={token}" in environment), "")


#: The configuration of a link takes milliseconds, or longer on a busy machine.
_TIMEOUT_S = 30.0


def batch(holder: NodeHolder, tool: str, lines: Sequence[str]) -> None:
    """Feed lines to ``ip -batch`` or ``tc -batch`` in one node's network namespace.

    Raises:
        LabError: a line was refused; the message quotes the program.
    """
    completed = _run_inside(holder, tool, "-batch", "-", lines=lines)
    if completed.exit_code:
        output = " ".join(f"{completed.stdout}\n{completed.stderr}".split())
        reason = "took too long" if completed.timed_out else output
        raise LabError(
            f"{tool} could not configure the lab's network: {reason}; "
            "see docs/reference/lab.md for the features that the kernel needs"
        )


def forget_neighbours(holder: NodeHolder) -> None:
    """Clear a node's neighbour table: the kernel remembers a failed search for seconds.

    A node that sends finds neighbours again during the call. ``ip`` then stops after ten rounds
    with exit status 1. That is no failure: the remaining entries are new.
    """
    _run_inside(holder, "ip", "neigh", "flush", "all")


def has_interface(holder: NodeHolder, name: str) -> bool:
    """Check whether an interface exists in the holder's network namespace."""
    return _run_inside(holder, "ip", "link", "show", "dev", name).exit_code == 0


def has_qdisc(holder: NodeHolder, interface: str, kind: str) -> bool:
    """Check whether an interface in the holder's network namespace has a qdisc of that kind."""
    lines = _run_inside(holder, "tc", "qdisc", "show", "dev", interface).stdout.splitlines()
    return any(line.split()[1:2] == [kind] for line in lines)


def _run_inside(
    holder: NodeHolder, tool: str, *words: str, lines: Sequence[str] = ()
) -> process.Completed:
    return process.run(
        [*network_prefix(holder), tools.path_of(tool), *words],
        timeout_s=_TIMEOUT_S,
        stdin="".join(f"{line}\n" for line in lines),
        env={"PATH": tools.SEARCH_PATH},
    )


def network_prefix(holder: NodeHolder) -> list[str]:
    """Return the argv prefix that enters a holder's network namespace and no other namespace."""
    options = user_options(holder.pid)
    return [tools.path_of("nsenter"), "--target", str(holder.pid), *options, "--net"]


def user_options(pid: int) -> list[str]:
    """Return the options to enter a process's user namespace; none if this process is in it."""
    ours, theirs = (os.stat(f"/proc/{entry}/ns/user") for entry in ("self", pid))  # noqa: PTH116
    return [] if ours.st_ino == theirs.st_ino else ["--user", "--preserve-credentials"]
