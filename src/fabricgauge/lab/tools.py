"""The programs that the lab is made with, and the packages that bring them."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from fabricgauge.model.errors import ToolMissing

#: program: Debian's package, and Fedora's where that has another name.
_PACKAGES = {
    "ip": "iproute2 (Fedora: iproute)",
    "tc": "iproute2 (Fedora: iproute-tc)",
    "rdma": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setsid": "util-linux",
    "setpriv": "util-linux",
    "sleep": "coreutils",
    "qemu-system-x86_64": "qemu-system-x86 (Fedora: qemu-system-x86-core)",
    "ssh": "openssh-client (Fedora: openssh-clients)",
    "ssh-keygen": "openssh-client (Fedora: openssh)",
    "sshd": "openssh-server",
    "munged": "munge",
    "munge": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "scontrol": "slurm-client",
    "srun": "slurm-client",
}

#: What a lab needs; what one of virtual machines needs instead, the guests too; what Slurm needs.
PROGRAMS = ("ip", "tc", "nsenter", "unshare", "setsid", "sleep")
GUEST_PROGRAMS = (
    "qemu-system-x86_64", "ssh", "ssh-keygen", "sshd", "ip", "rdma", "nsenter", "setpriv",
)  # fmt: skip
_SLURM_PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sinfo", "scontrol", "srun")

#: Where administrators' programs are; an ordinary user's PATH may lack it.
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def require(programs: Iterable[str]) -> None:
    """Raise ToolMissing, which names the package, for the first program that is not here."""
    for tool in programs:
        path_of(tool)


def require_slurm() -> None:
    """ToolMissing, with the command that installs them, unless Slurm's programs are here."""
    absent = [tool for tool in _SLURM_PROGRAMS if not shutil.which(tool, path=SEARCH_PATH)]
    if absent or not Path("/etc/slurm").is_dir():
        packages = " ".join(dict.fromkeys(_PACKAGES[tool] for tool in _SLURM_PROGRAMS))
        raise ToolMissing(
            f"a lab with Slurm needs {', '.join(absent) or 'the directory /etc/slurm'}; on Debian: "
            f"apt-get install --no-install-recommends {packages} (their services need not run)"
        )


def path_of(tool: str) -> str:
    """Where a program is.

    Raises:
        ToolMissing: it is not installed.
    """
    found = shutil.which(tool, path=SEARCH_PATH)
    if not found:
        raise ToolMissing(
            f"the lab needs the program {tool!r}; install the package {_PACKAGES[tool]}"
        )
    return found
