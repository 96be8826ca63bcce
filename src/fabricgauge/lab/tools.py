"""Find the programs that make a lab, and name the packages that contain them."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from fabricgauge.model.errors import ToolMissing

#: A function that is called with a sentence before a step that takes long.
Notify = Callable[[str], None]


def silent(_sentence: str) -> None:
    """Ignore the sentence."""


#: program: Debian's package, and Fedora's if it has another name.
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

#: Programs of a lab; of a lab of virtual machines, the guests included; of Slurm.
PROGRAMS = ("ip", "tc", "nsenter", "unshare", "setsid", "sleep")
GUEST_PROGRAMS = (
    "qemu-system-x86_64", "ssh", "ssh-keygen", "sshd", "ip", "rdma", "nsenter", "setpriv",
)  # fmt: skip
_SLURM_PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sinfo", "scontrol", "srun")

#: The PATH with the directories of administration programs, which a user's PATH may lack.
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def require(programs: Iterable[str]) -> None:
    """Raise ToolMissing, which names the package, for the first program that is not installed."""
    for tool in programs:
        path_of(tool)


def require_slurm() -> None:
    """Raise ToolMissing, with the command that installs them, if a program of Slurm is missing."""
    absent = [tool for tool in _SLURM_PROGRAMS if not shutil.which(tool, path=SEARCH_PATH)]
    if absent or not Path("/etc/slurm").is_dir():
        packages = " ".join(dict.fromkeys(_PACKAGES[tool] for tool in _SLURM_PROGRAMS))
        raise ToolMissing(
            f"a lab with Slurm needs {', '.join(absent) or 'the directory /etc/slurm'}; on Debian: "
            f"apt-get install --no-install-recommends {packages} (their services need not run)"
        )


def path_of(tool: str) -> str:
    """Return the path of a program.

    Raises:
        ToolMissing: it is not installed.
    """
    path = shutil.which(tool, path=SEARCH_PATH)
    if not path:
        raise ToolMissing(
            f"the lab needs the program {tool!r}; install the package {_PACKAGES[tool]}"
        )
    return path
