"""Build the module ``siw`` (iWARP over TCP) once, since Debian's kernels do not contain it."""

import tempfile
from pathlib import Path

from fabricgauge.features.rdma_lab import packages
from fabricgauge.lab.tools import Notify

_SOURCE = "drivers/infiniband/sw/siw"
_REMEDY = "siw cannot be built, so use --rdma roce"


def module(kernel: str, cache: Path, notify: Notify) -> Path:
    """Return ``siw.ko`` for the kernel of the package ``linux-image-…``, kept in ``cache``.

    Raises:
        ToolMissing: apt, tar or make is not installed.
        LabError: a package is not available, or the compilation fails.
    """
    cached = cache / kernel.replace("linux-image-", "siw-") / "siw.ko"
    if not cached.exists():
        packages.require()
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
        packages.depends_on(headers, r"linux-headers-[\w.+~-]+-common"),
        packages.depends_on(headers, r"linux-kbuild-[\w.+~-]+"),
    )
    series = ".".join(version.split(".")[:2])
    packages.unpack(folder, headers, *filter(None, dependencies), f"linux-source-{series}")
    sources = folder / "usr" / "src"
    common, amd64 = (next(sources.glob(f"linux-headers-*-{end}")) for end in ("common", "amd64"))
    packages.run(
        ["tar", "-xf", str(sources / f"linux-source-{series}.tar.xz"), "-C", str(folder),
         f"linux-source-{series}/{_SOURCE}"], _REMEDY,
    )  # fmt: skip
    source = folder / f"linux-source-{series}" / _SOURCE
    packages.run(
        ["make", "-C", str(common), f"O={amd64}", f"M={source}", "CONFIG_RDMA_SIW=m",
         "CONFIG_DEBUG_INFO_BTF_MODULES=", "-j2", "modules"], _REMEDY,
    )  # fmt: skip
    return source / "siw.ko"
