"""Debian packages, unpacked into a folder and never installed."""

import getpass
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricgauge import process
from fabricgauge.model.errors import LabError, ToolMissing

#: A hundred megabytes over a slow line, unpacking them and compiling on a busy machine.
_TIMEOUT_S = 1800.0

#: A mirror may fail once: apt tries again (apt.conf(5), Acquire::Retries).
_PATIENT = ("-o", "Acquire::Retries=5")

_REMEDY = "refresh apt's lists with 'apt-get update', and look for room on the disk"


#: Who is told, in a sentence, what takes long.
Tell = Callable[[str], None]


def silent(_sentence: str) -> None:
    """Tell nobody."""


def require() -> None:
    """ToolMissing unless apt and dpkg are here."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(tool):
            raise ToolMissing(
                f"the kernel of a lab with RDMA comes from Debian's packages, and {tool} is not "
                "here; use a Debian or Ubuntu machine"
            )


def depends_on(package: str, pattern: str) -> str:
    """The package that ``package`` depends on whose name matches; "" if apt knows none."""
    said = process.run(["apt-cache", "depends", package], timeout_s=_TIMEOUT_S).stdout
    found = re.search(rf"^ *Depends: ({pattern})$", said, re.MULTILINE)
    return found[1] if found else ""


def unpack(folder: Path, *packages: str) -> None:
    """Download packages and unpack their files into a folder that is there.

    Raises:
        LabError: apt cannot get one, or it cannot be unpacked.
    """
    # apt's own user may not write into a folder of ours (apt.conf(5), APT::Sandbox::User).
    sandbox = f"APT::Sandbox::User={getpass.getuser()}"
    run(["apt-get", "download", "-qq", *_PATIENT, "-o", sandbox, *packages], _REMEDY, folder)
    for archive in sorted(folder.glob("*.deb")):
        run(["dpkg-deb", "--extract", archive.name, "."], _REMEDY, folder)
        archive.unlink()


def run(argv: Sequence[str], remedy: str, folder: Path | None = None) -> None:
    """Run a program that may take long.

    Raises:
        LabError: it failed, in its own last words; what to do then is ``remedy``.
    """
    done = process.run(argv, timeout_s=_TIMEOUT_S, cwd=folder)
    if done.exit_code:
        said = " ".join(done.stderr.split()[-60:]) or "no reason given"
        raise LabError(f"{' '.join(argv[:2])} failed: {said:.500}; {remedy}")
