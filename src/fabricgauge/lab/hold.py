"""Set new namespaces up as one node and hold them; ``unshare`` starts this script.

It uses only the standard library (``python -I -S hold.py``). Its arguments are NODE, the lab's
DIRECTORY, the congestion CONTROL of TCP, and the BYTES that one socket may have in its queue. It
prints its process id when the node is ready and becomes a sleep. After a failure it prints the
reason on standard error.
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
            set_up_node(node, Path(directory))
        set_kernel(control, queue_bytes)
    except OSError as error:
        sys.exit(f"{error.filename or node}: {error.strerror}")
    print(os.getpid(), flush=True)  # noqa: T201 -- the answer that `up` waits for
    release_pipes()
    os.execvp("sleep", ["sleep", "infinity"])  # noqa: S606, S607 -- the simplest process


def set_up_node(node: str, directory: Path) -> None:
    """Give the node a name, and mounts that separate it from its neighbours."""
    socket.sethostname(node)
    safe = MS_NOSUID | MS_NODEV
    mount_sys(safe, with_groups=not (directory / "slurm").is_dir())
    mount("tmpfs", "/dev/shm", "tmpfs", safe, "mode=1777")  # noqa: S108 -- a mount point
    mount_run(directory)
    mount(str(directory / "hosts" / node), "/etc/hosts", "", MS_BIND)
    if Path("/etc/hostname").exists():
        mount(str(directory / "hostnames" / node), "/etc/hostname", "", MS_BIND)
    if (directory / "slurm").is_dir():
        mount_slurm(directory / "slurm")


def mount_sys(safe: int, *, with_groups: bool) -> None:
    """Mount /sys with the node's interfaces and the machine's control groups, which limit ranks."""
    groups = Path("/sys/fs/cgroup")
    groups_fd = os.open(groups, os.O_PATH | os.O_DIRECTORY) if groups.is_dir() else None
    mount("sysfs", "/sys", "sysfs", safe | MS_NOEXEC)
    if groups_fd is None:
        return
    if with_groups and groups.is_dir():
        with suppress(OSError):  # ranks then report no quotas
            mount(f"/proc/self/fd/{groups_fd}", str(groups), "", MS_BIND | MS_REC)
    os.close(groups_fd)


def mount_run(directory: Path) -> None:
    """Mount an empty /run in which the lab's directory stays visible under its path."""
    directory_fd = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    inside = Path("/run") in directory.resolve().parents
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    if inside:
        target = directory.resolve()
        target.mkdir(parents=True, mode=0o700)
        mount(f"/proc/self/fd/{directory_fd}", str(target), "", MS_BIND)
    os.close(directory_fd)


def mount_slurm(files: Path) -> None:
    """Mount the lab's Slurm files in the paths of Slurm's programs; the machine's do not change."""
    for source, target in (
        (files, "/run/slurm"),
        (files / "munge", "/run/munge"),
        (files / "etc", "/etc/slurm"),
    ):
        if target.startswith("/run/"):
            Path(target).mkdir(mode=0o755)
        mount(str(source), target, "", MS_BIND)


def set_kernel(control: str, queue_bytes: str) -> None:
    """Set the kernel's parameters of this network namespace."""
    for scope in ("all", "default"):
        setting = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if setting.exists():  # IPv6's own packets would disturb the counters
            setting.write_text("1")
    ipv4 = Path("/proc/sys/net/ipv4")
    (ipv4 / "tcp_congestion_control").write_text(control)
    limit = ipv4 / "tcp_limit_output_bytes"
    if limit.exists():  # per namespace since Linux 4.15
        limit.write_text(queue_bytes)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Call mount(2) directly: mount(8) would follow symbolic links, which is not safe here."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [os.fsencode(word) if word else None for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) if data else None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"mount {target}")


def release_pipes() -> None:
    """Close the pipes that ``up`` reads, and leave its directory."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)


if __name__ == "__main__":
    main()
