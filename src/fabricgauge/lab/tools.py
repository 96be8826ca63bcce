"""The programs that the lab is made with, and the packages that bring them."""

import os
import shutil

from fabricgauge.model.errors import ToolMissing

#: program: Debian's and Fedora's package
_PACKAGES = {
    "ip": "iproute2 (Fedora: iproute)",
    "tc": "iproute2 (Fedora: iproute-tc)",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setsid": "util-linux",
    "sleep": "coreutils",
}

#: Where administrators' programs are; an ordinary user's PATH may lack it.
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def require() -> None:
    """ToolMissing, naming the package, for the first program that is not there."""
    for tool in _PACKAGES:
        path_of(tool)


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
