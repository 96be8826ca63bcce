"""Commands that the lab itself runs in its namespaces."""

import os
from collections.abc import Sequence

from fabricgauge import process
from fabricgauge.lab.holder import net_inode
from fabricgauge.lab.state import Holder
from fabricgauge.lab.tools import SEARCH_PATH, path_of
from fabricgauge.model.errors import LabError

#: Configuring a link takes milliseconds; a loaded machine may need longer.
_TIMEOUT_S = 30.0


def batch(holder: Holder, tool: str, lines: Sequence[str]) -> None:
    """Feed lines to ``ip -batch`` or ``tc -batch`` in one node's network namespace.

    Raises:
        LabError: a line was refused; the message has the program's own words.
    """
    argv = [*network_prefix(holder), path_of(tool), "-batch", "-"]
    done = process.run(
        argv, timeout_s=_TIMEOUT_S, stdin="\n".join(lines) + "\n", env={"PATH": SEARCH_PATH}
    )
    if done.exit_code:
        reason = "took too long" if done.timed_out else done.stderr.strip()
        raise LabError(
            f"{tool} could not configure the lab's network: {reason}; "
            "see docs/reference/lab.md for what the kernel must offer"
        )


def network_prefix(holder: Holder) -> list[str]:
    """The argv prefix that enters a holder's network namespace and nothing else."""
    return [path_of("nsenter"), "--target", str(holder.pid), *user_options(holder.pid), "--net"]


def user_options(pid: int) -> list[str]:
    """Options to enter a process's user namespace, which cannot be entered twice."""
    own, other = (os.stat(f"/proc/{who}/ns/user") for who in ("self", pid))  # noqa: PTH116
    return [] if own.st_ino == other.st_ino else ["--user", "--preserve-credentials"]


def has_interface(holder: Holder, name: str) -> bool:
    """Whether an interface of that name exists in the holder's network namespace."""
    lines = process.run(
        [*network_prefix(holder), "cat", "/proc/net/dev"], timeout_s=_TIMEOUT_S
    ).stdout.splitlines()
    return any(line.split(":")[0].strip() == name for line in lines)


def has_qdisc(holder: Holder, interface: str, kind: str) -> bool:
    """Whether an interface in the holder's network namespace has a qdisc of that kind."""
    argv = [*network_prefix(holder), path_of("tc"), "qdisc", "show", "dev", interface]
    lines = process.run(argv, timeout_s=_TIMEOUT_S, env={"PATH": SEARCH_PATH}).stdout.splitlines()
    return any(line.split()[1:2] == [kind] for line in lines)


def assert_own_namespace(holder: Holder) -> Holder:
    """The holder, once it is sure that it does not sit in this process's own network."""
    if holder.net_inode == net_inode(os.getpid()):
        raise LabError("the lab's namespaces were not made; nothing was changed")
    return holder
