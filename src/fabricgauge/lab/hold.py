"""Furnish new namespaces as one node, say so, and hold them; started by ``unshare``.

Runs by itself with nothing but the standard library (``python -I -S hold.py``):
arguments are NODE, the lab's DIRECTORY, the congestion CONTROL of TCP, and how many BYTES one
socket may have in its queue. It prints its process id when the node is
furnished and becomes a sleep; on failure it prints the reason on standard error.
"""

import ctypes
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

#: From <linux/mount.h>.
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 2, 4, 8, 4096, 16384


def main() -> None:
    node, directory, control, queue_bytes = sys.argv[1:]
    try:
        if node:
            furnish(node, Path(directory))
        settle(control, queue_bytes)
    except OSError as error:
        sys.exit(f"{error.filename or node}: {error.strerror}")
    print(os.getpid(), flush=True)  # noqa: T201 -- the answer that `up` waits for
    hush()
    os.execvp("sleep", ["sleep", "infinity"])  # noqa: S606, S607 -- the plainest process there is


def furnish(node: str, directory: Path) -> None:
    """Give the node a name, and mounts that keep it apart from its neighbours."""
    socket.sethostname(node)
    safe = MS_NOSUID | MS_NODEV
    own_sys(safe, with_groups=not (directory / "slurm").is_dir())
    mount("tmpfs", "/dev/shm", "tmpfs", safe, "mode=1777")  # noqa: S108 -- a mount point
    own_run(directory)
    mount(str(directory / "hosts" / node), "/etc/hosts", "", MS_BIND)
    if Path("/etc/hostname").exists():
        mount(str(directory / "hostnames" / node), "/etc/hostname", "", MS_BIND)
    if (directory / "slurm").is_dir():
        own_slurm(directory / "slurm")


def own_sys(safe: int, *, with_groups: bool) -> None:
    """The node's own interfaces in /sys, and the machine's control groups: they limit its ranks."""
    groups = Path("/sys/fs/cgroup")
    kept = os.open(groups, os.O_PATH | os.O_DIRECTORY) if groups.is_dir() else None
    mount("sysfs", "/sys", "sysfs", safe | MS_NOEXEC)
    if kept is None:
        return
    if with_groups and groups.is_dir():
        with suppress(OSError):  # ranks then do not tell of quotas
            mount(f"/proc/self/fd/{kept}", str(groups), "", MS_BIND | MS_REC)
    os.close(kept)


def own_run(directory: Path) -> None:
    """An empty /run, in which the lab's own directory stays visible where it was."""
    kept = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    inside = Path("/run") in directory.resolve().parents
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    if inside:
        again = directory.resolve()
        again.mkdir(parents=True, mode=0o700)
        mount(f"/proc/self/fd/{kept}", str(again), "", MS_BIND)
    os.close(kept)


def own_slurm(files: Path) -> None:
    """The lab's Slurm where Slurm's programs seek it: /etc/slurm and the machine's stay as is."""
    for source, target in (
        (files, "/run/slurm"),
        (files / "munge", "/run/munge"),
        (files / "etc", "/etc/slurm"),
    ):
        if target.startswith("/run/"):
            Path(target).mkdir(mode=0o755)
        mount(str(source), target, "", MS_BIND)


def settle(control: str, queue_bytes: str) -> None:
    """Kernel settings of this network namespace."""
    for scope in ("all", "default"):
        setting = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if setting.exists():  # else its housekeeping packets would stand in the counters
            setting.write_text("1")
    ipv4 = Path("/proc/sys/net/ipv4")
    (ipv4 / "tcp_congestion_control").write_text(control)
    limit = ipv4 / "tcp_limit_output_bytes"
    if limit.exists():  # a namespace has its own since Linux 4.15
        limit.write_text(queue_bytes)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2) itself: mount(8) would follow links that must not be followed."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [os.fsencode(word) if word else None for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) if data else None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"mount {target}")


def hush() -> None:
    """Let go of the pipes that ``up`` reads, and of its directory."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)


if __name__ == "__main__":
    main()
