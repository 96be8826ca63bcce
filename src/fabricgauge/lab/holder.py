"""Which processes are a lab's, told by what the kernel says of them, and commands inside of it."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fabricgauge import process
from fabricgauge.lab import tools
from fabricgauge.lab.state import Marks, NodeHolder
from fabricgauge.model.errors import LabError

#: Environment of the processes that hold a lab's namespaces, and of those that entered.
HOLDER_MARK, ENTERED_MARK = "FABRICGAUGE_LAB_HOLDER", "FABRICGAUGE_LAB"

#: Starting takes milliseconds; this is for a machine that swaps.
_START_TIMEOUT_S = 60.0

#: How long killed processes may take to vanish before that is reported.
_VANISH_S = 10.0


def boot_id() -> str:
    """The kernel's name for this boot: process ids of another one mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> NodeHolder:
    """A running process with its start time and network namespace; LabError if it is gone."""
    began, namespace = start_ticks(pid), net_inode(pid)
    if began is None or namespace is None:
        raise LabError(f"process {pid}, which was to hold a node, is gone; bring the lab up again")
    return NodeHolder(pid, began, namespace)


def started(
    prefix: Sequence[str], script: Path, words: Sequence[str], mark: Mapping[str, str],
    cannot: str, remedy: str = "",
) -> int:  # fmt: skip
    """The id of the process that a script became behind ``prefix``, printed once it has begun.

    ``mark`` goes into the environment.

    Raises:
        LabError: it did not begin; ``cannot`` says what is not possible then.
    """
    python = [sys.executable, "-I", "-S", str(script), *words]
    done = process.run(
        [tools.path_of("setsid"), "--fork", *prefix, *python],
        timeout_s=_START_TIMEOUT_S, env={"PATH": tools.SEARCH_PATH, **mark}, cwd=Path("/"),
    )  # fmt: skip
    if not done.stdout.strip().isdigit():
        late = "it took too long" if done.timed_out else "no reason given"
        reason = f"{done.stderr.strip() or late}{'; ' * bool(remedy)}{remedy}"
        raise LabError(f"{cannot}: {reason}")
    return int(done.stdout)


def is_alive(holder: NodeHolder) -> bool:
    """Whether this very process still runs in the same network namespace."""
    return (
        start_ticks(holder.pid) == holder.start_ticks and net_inode(holder.pid) == holder.net_inode
    )


def start_ticks(pid: int) -> int | None:
    """When a process began, in clock ticks since boot (proc(5), field 22 of stat)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return parse_start_ticks(text)


def parse_start_ticks(text: str) -> int:
    """Field 22 of a stat line, whose second field may hold blanks and brackets."""
    return int(text.rpartition(")")[2].split()[19])


def net_inode(pid: int) -> int | None:
    """The inode number of a process's network namespace; None for one that has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 -- Path costs time here
    except OSError:
        return None


def own_net_inodes() -> frozenset[int]:
    """The network namespace of this process, as a set of at most one inode number."""
    own = net_inode(os.getpid())
    return frozenset(() if own is None else (own,))


def members(marks: Marks) -> frozenset[int]:
    """Every process of a lab but this one.

    An inode number is given out again once a namespace is gone, so a recorded one counts
    only while a process that carries the lab's token lives in it. Holders count wherever
    they are: one may have been caught before it had namespaces. The namespace that this
    process itself lives in never counts: it is the machine's, not a lab's.
    """
    if marks.boot_id != boot_id():
        return frozenset()
    seen = {pid: namespace for pid, namespace in _processes() if pid != os.getpid()}
    inodes = frozenset(marks.net_inodes) - own_net_inodes()
    holders, proven = set(), set()
    for pid, namespace in seen.items():
        mark = _mark(pid, marks.token)
        if mark == HOLDER_MARK:
            holders.add(pid)
        if mark and namespace in inodes:
            proven.add(namespace)
    return frozenset(holders | {pid for pid, namespace in seen.items() if namespace in proven})


def in_namespace(net_inode: int) -> frozenset[int]:
    """Every process of a network namespace, unless it is the one that this process lives in."""
    if net_inode in own_net_inodes():
        return frozenset()
    return frozenset(pid for pid, namespace in _processes() if namespace == net_inode)


def kill(marks: Marks) -> int:
    """Kill a lab's processes until none is left; how many there were.

    Raises:
        LabError: some do not go, which only a kernel in trouble brings about.
    """
    ended: set[int] = set()
    deadline = time.monotonic() + _VANISH_S
    while found := members(marks):
        if time.monotonic() > deadline:
            raise LabError(f"processes {sorted(found)} of the lab do not end; see dmesg")
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= found
        time.sleep(0.01)
    return len(ended)


def _processes() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 -- as above
        if entry.isdigit() and (namespace := net_inode(int(entry))) is not None:
            yield int(entry), namespace


def _mark(pid: int, token: str) -> str:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    for mark in (HOLDER_MARK, ENTERED_MARK):
        if f"{mark}={token}".encode() in environment:
            return mark
    return ""


#: Configuring a link takes milliseconds; a loaded machine may need longer.
_TIMEOUT_S = 30.0


def batch(holder: NodeHolder, tool: str, lines: Sequence[str]) -> None:
    """Feed lines to ``ip -batch`` or ``tc -batch`` in one node's network namespace.

    Raises:
        LabError: a line was refused; the message has the program's own words.
    """
    done = _in_network(holder, tool, "-batch", "-", lines=lines)
    if done.exit_code:
        said = " ".join(f"{done.stdout}\n{done.stderr}".split())
        reason = "took too long" if done.timed_out else said
        raise LabError(
            f"{tool} could not configure the lab's network: {reason}; "
            "see docs/reference/lab.md for what the kernel must offer"
        )


def forget_neighbours(holder: NodeHolder) -> None:
    """Let a node look for its neighbours anew: the kernel holds those it did not find for seconds.

    A node that is sending finds some again while they are forgotten; ``ip`` then stops after
    ten rounds with an exit status of 1. That is no failure: what it leaves is new.
    """
    _in_network(holder, "ip", "neigh", "flush", "all")


def has_interface(holder: NodeHolder, name: str) -> bool:
    """Whether an interface of that name exists in the holder's network namespace."""
    return _in_network(holder, "ip", "link", "show", "dev", name).exit_code == 0


def has_qdisc(holder: NodeHolder, interface: str, kind: str) -> bool:
    """Whether an interface in the holder's network namespace has a qdisc of that kind."""
    lines = _in_network(holder, "tc", "qdisc", "show", "dev", interface).stdout.splitlines()
    return any(line.split()[1:2] == [kind] for line in lines)


def _in_network(
    holder: NodeHolder, tool: str, *words: str, lines: Sequence[str] = ()
) -> process.Completed:
    return process.run(
        [*network_prefix(holder), tools.path_of(tool), *words],
        timeout_s=_TIMEOUT_S,
        stdin="".join(f"{line}\n" for line in lines),
        env={"PATH": tools.SEARCH_PATH},
    )


def network_prefix(holder: NodeHolder) -> list[str]:
    """The argv prefix that enters a holder's network namespace and nothing else."""
    options = user_options(holder.pid)
    return [tools.path_of("nsenter"), "--target", str(holder.pid), *options, "--net"]


def user_options(pid: int) -> list[str]:
    """Options to enter a process's user namespace, which cannot be entered twice."""
    own, other = (os.stat(f"/proc/{who}/ns/user") for who in ("self", pid))  # noqa: PTH116
    return [] if own.st_ino == other.st_ino else ["--user", "--preserve-credentials"]


def assert_own_namespace(holder: NodeHolder) -> NodeHolder:
    """The holder, once it is sure that it does not sit in this process's own network."""
    if holder.net_inode == net_inode(os.getpid()):
        raise LabError("the lab's namespaces were not made; nothing was changed")
    return holder
