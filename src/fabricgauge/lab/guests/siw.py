"""The module ``siw`` (iWARP over TCP), which Debian's kernels leave out: built once and kept."""

import tempfile
from pathlib import Path

from fabricgauge.lab.guests import packages

_SOURCE = "drivers/infiniband/sw/siw"
_REMEDY = "siw cannot be built, so use --rdma roce"


def module(kernel: str, cache: Path, tell: packages.Tell) -> Path:
    """``siw.ko`` for the kernel that the package ``linux-image-…`` has, kept in ``cache``.

    Raises:
        ToolMissing: apt, tar or make is not here.
        LabError: a package cannot be had, or the compiler refuses.
    """
    kept = cache / kernel.replace("linux-image-", "siw-") / "siw.ko"
    if not kept.exists():
        packages.require()
        tell("compiling siw for that kernel (downloads about 170 MB), once")
        with tempfile.TemporaryDirectory(prefix=".siw-", dir=cache) as name:
            built = _build(kernel.replace("linux-image-", "linux-headers-"), Path(name))
            kept.parent.mkdir(exist_ok=True)
            built.rename(kept)
    return kept


def _build(headers: str, folder: Path) -> Path:
    """Compile it as a module outside of the kernel's tree (Linux, Documentation/kbuild/modules)."""
    said = headers.removeprefix("linux-headers-")
    needed = (
        packages.depends_on(headers, r"linux-headers-[\w.+~-]+-common"),
        packages.depends_on(headers, r"linux-kbuild-[\w.+~-]+"),
    )
    series = ".".join(said.split(".")[:2])
    packages.unpack(folder, headers, *filter(None, needed), f"linux-source-{series}")
    sources = folder / "usr" / "src"
    common, own = (next(sources.glob(f"linux-headers-*-{end}")) for end in ("common", "amd64"))
    packages.run(
        ["tar", "-xf", str(sources / f"linux-source-{series}.tar.xz"), "-C", str(folder),
         f"linux-source-{series}/{_SOURCE}"], _REMEDY,
    )  # fmt: skip
    place = folder / f"linux-source-{series}" / _SOURCE
    packages.run(
        ["make", "-C", str(common), f"O={own}", f"M={place}", "CONFIG_RDMA_SIW=m",
         "CONFIG_DEBUG_INFO_BTF_MODULES=", "-j2", "modules"], _REMEDY,
    )  # fmt: skip
    return place / "siw.ko"
