"""Download Debian packages and unpack them into a folder, without installing them."""

import getpass
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.errors import LabError, ToolMissing
from fabricgauge.nodes import process

#: Time for 100 MB over a slow line, or a compilation on a busy machine.
_TIMEOUT_S = 1800.0

#: A mirror may fail once: apt tries again (apt.conf(5), Acquire::Retries).
_RETRIES = ("-o", "Acquire::Retries=5")

_REMEDY = "refresh apt's lists with 'apt-get update', and check the free disk space"


def require() -> None:
    """Raise ToolMissing unless apt and dpkg are installed."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(tool):
            raise ToolMissing(
                f"the kernel of a lab with RDMA comes from Debian packages, but {tool} is not "
                "installed; use a Debian or Ubuntu machine"
            )


def depends_on(package: str, pattern: str) -> str:
    """Return the dependency of ``package`` whose name matches; "" if apt knows none."""
    output = process.run(["apt-cache", "depends", package], timeout_s=_TIMEOUT_S).stdout
    match = re.search(rf"^ *Depends: ({pattern})$", output, re.MULTILINE)
    return match[1] if match else ""


def unpack(folder: Path, *packages: str) -> None:
    """Download packages and unpack their files into an existing folder.

    Raises:
        LabError: apt cannot download a package, or it cannot be unpacked.
    """
    # apt's own user may not write into a folder of ours (apt.conf(5), APT::Sandbox::User).
    sandbox = f"APT::Sandbox::User={getpass.getuser()}"
    run(["apt-get", "download", "-qq", *_RETRIES, "-o", sandbox, *packages], _REMEDY, folder)
    for archive in sorted(folder.glob("*.deb")):
        run(["dpkg-deb", "--extract", archive.name, "."], _REMEDY, folder)
        archive.unlink()


def run(argv: Sequence[str], remedy: str, folder: Path | None = None) -> None:
    """Run a program that may take long.

    Raises:
        LabError: it failed; the message quotes its last output and ends with ``remedy``.
    """
    completed = process.run(argv, timeout_s=_TIMEOUT_S, cwd=folder)
    if completed.exit_code:
        reason = " ".join(completed.stderr.split()[-60:]) or "no reason given"
        raise LabError(f"{' '.join(argv[:2])} failed: {reason:.500}; {remedy}")
