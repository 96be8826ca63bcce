"""Download Debian packages and unpack them into a folder, without installing them.

The module ``siw`` (iWARP over TCP) is built of them, since Debian's kernels do not contain it.
"""

import getpass
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fabricgauge.lab.tools import Notify
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


_SIW_SOURCE = "drivers/infiniband/sw/siw"
_SIW_REMEDY = "siw cannot be built, so use --rdma roce"


def build_siw(kernel: str, cache: Path, notify: Notify) -> Path:
    """Return ``siw.ko`` for the kernel of the package ``linux-image-…``, kept in ``cache``.

    Raises:
        ToolMissing: apt, tar or make is not installed.
        LabError: a package is not available, or the compilation fails.
    """
    cached = cache / kernel.replace("linux-image-", "siw-") / "siw.ko"
    if not cached.exists():
        require()
        notify("compiling siw for that kernel (downloads about 170 MB), once")
        with tempfile.TemporaryDirectory(prefix=".siw-", dir=cache) as name:
            built = _build(kernel.replace("linux-image-", "linux-headers-"), Path(name))
            cached.parent.mkdir(exist_ok=True)
            built.rename(cached)
    return cached


def _build(headers: str, folder: Path) -> Path:
    """Compile it as a module outside the kernel's tree (Linux, Documentation/kbuild/modules)."""
    version = headers.removeprefix("linux-headers-")
    dependencies = (
        depends_on(headers, r"linux-headers-[\w.+~-]+-common"),
        depends_on(headers, r"linux-kbuild-[\w.+~-]+"),
    )
    series = ".".join(version.split(".")[:2])
    unpack(folder, headers, *filter(None, dependencies), f"linux-source-{series}")
    sources = folder / "usr" / "src"
    common, amd64 = (next(sources.glob(f"linux-headers-*-{end}")) for end in ("common", "amd64"))
    run(
        ["tar", "-xf", str(sources / f"linux-source-{series}.tar.xz"), "-C", str(folder),
         f"linux-source-{series}/{_SIW_SOURCE}"], _SIW_REMEDY,
    )  # fmt: skip
    source = folder / f"linux-source-{series}" / _SIW_SOURCE
    run(
        ["make", "-C", str(common), f"O={amd64}", f"M={source}", "CONFIG_RDMA_SIW=m",
         "CONFIG_DEBUG_INFO_BTF_MODULES=", "-j2", "modules"], _SIW_REMEDY,
    )  # fmt: skip
    return source / "siw.ko"
