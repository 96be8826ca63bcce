"""What a guest boots: a Debian kernel, and a small first file system with its modules.

Both are kept in the user's cache. The kernel is downloaded once; the file system is named by what
is in it.
"""

import hashlib
import lzma
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.files.ownership import not_own
from fabricgauge.files.places import place
from fabricgauge.files.writing import make_folder
from fabricgauge.lab.guests import packages, siw
from fabricgauge.lab.guests.packages import Tell, silent
from fabricgauge.model.errors import LabError

#: The kernels to look for, the first that apt knows. rdma_rxe of 6.12 is the better one; Debian's
#: cloud kernels have none.
_METAPACKAGES = ("linux-image-6.12-amd64", "linux-image-amd64")
_KERNEL = r"linux-image-\d[\w.+~-]*-amd64"

#: What guests need; what these depend on comes with them. rxe and siw ask for a checksum by its
#: algorithm's name, so nothing depends on the modules that have it. ``tcp_diag`` is for ``ss``.
MODULES = (
    "virtio_net", "9pnet_virtio", "9p", "overlay", "crc32_generic", "crc32c_generic", "libcrc32c",
    "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe", "tcp_diag",
)  # fmt: skip

_INIT = Path(__file__).with_name("init.sh")
_BUSYBOX = "busybox-static"

#: Folders of the first file system, where others are mounted.
_FOLDERS = ("bin", "dev", "layer", "machine", "modules", "proc", "root")


class Image(msgspec.Struct, frozen=True):
    """What QEMU is given as ``-kernel`` and ``-initrd``."""

    kernel: Path
    initrd: Path


class Member(msgspec.Struct, frozen=True):
    """A file of a cpio archive; ``device`` is the major and minor number of a device file."""

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def image(driver: str, tell: Tell = silent) -> Image:
    """The kernel and the file system for guests whose devices are of ``driver``: rxe or siw.

    ``tell`` is handed a sentence before anything that takes long.

    Raises:
        ToolMissing: a program that makes them is not installed.
        LabError: a package cannot be had, or the cache cannot be used.
    """
    try:
        return _image(driver, tell)
    except OSError as error:
        raise LabError(
            f"cannot keep a kernel in {place('XDG_CACHE_HOME')}: {error.strerror}; make room there"
        ) from error


def _image(driver: str, tell: Tell) -> Image:
    kernel = _kernel(tell)
    package = kernel.name.rpartition("@")[0]
    extra = [siw.module(package, _folder(), tell)] if driver == "siw" else []
    made = members(_INIT.read_bytes(), kernel, extra)
    initrd = _folder() / f"{content_key(made)}.cpio"
    if not initrd.exists():
        fresh = tempfile.NamedTemporaryFile(dir=_folder(), prefix=".initrd-", delete=False)  # noqa: SIM115
        with fresh:
            fresh.write(cpio(made))
        Path(fresh.name).rename(initrd)
    return Image(kernel / "vmlinuz", initrd)


def _folder() -> Path:
    folder = place("XDG_CACHE_HOME") / "guests"
    make_folder(folder)
    if why := not_own(folder):
        raise LabError(f"{why}, so no kernel is taken from there; mend it or set XDG_CACHE_HOME")
    return folder


def members(init: bytes, kernel: Path, extra: Sequence[Path] = ()) -> tuple[Member, ...]:
    """The files of the first file system; modules are loaded in the order of their names."""
    modules = [*sorted((kernel / "modules").iterdir()), *extra]
    return (
        *(Member(name, stat.S_IFDIR | 0o755) for name in _FOLDERS),
        Member("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        Member("init", stat.S_IFREG | 0o755, init),
        Member("bin/busybox", stat.S_IFREG | 0o755, (kernel / "busybox").read_bytes()),
        *(
            Member(
                f"modules/{number:02}-{_bare(file.name)}", stat.S_IFREG | 0o644, file.read_bytes()
            )
            for number, file in enumerate(modules)
        ),
    )


def content_key(those: Sequence[Member]) -> str:
    """A name for what an archive holds: the same members give the same, others another."""
    return hashlib.sha256(msgspec.msgpack.encode(those)).hexdigest()[:32]


def cpio(those: Sequence[Member]) -> bytes:
    """An archive as the kernel unpacks it (Linux, driver-api/early-userspace/buffer-format)."""
    whole = bytearray()
    for number, one in enumerate((*those, Member("TRAILER!!!", 0)), start=1):
        name = one.name.encode() + b"\0"
        fields = (
            number, one.mode, 0, 0, 1, 0, len(one.content), 0, 0, *one.device, len(name), 0,
        )  # fmt: skip
        whole += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        whole += bytes(-len(whole) % 4) + one.content
        whole += bytes(-len(whole) % 4)
    return bytes(whole)


def _kernel(tell: Tell) -> Path:
    """A folder with vmlinuz, busybox and modules: the newest that is kept, else a fresh one."""
    wanted = hashlib.sha256(" ".join((*MODULES, _BUSYBOX)).encode()).hexdigest()[:8]
    kept = sorted(_folder().glob(f"linux-image-*@{wanted}"), key=lambda one: one.stat().st_mtime)
    if kept:
        return kept[-1]
    packages.require()
    found = (packages.depends_on(one, _KERNEL) for one in _METAPACKAGES)
    package = next(filter(None, found), "")
    if not package:
        raise LabError(
            f"apt knows none of {', '.join(_METAPACKAGES)}; refresh its lists with 'apt-get update'"
        )
    tell(f"downloading Debian's {package} (about 110 MB), once; it is not installed")
    with tempfile.TemporaryDirectory(prefix=".kernel-", dir=_folder()) as name:
        folder, whole = Path(name), Path(name) / "whole"
        (folder / "files").mkdir()
        packages.unpack(folder / "files", package, _BUSYBOX)
        _pick(folder / "files", whole)
        final = _folder() / f"{package}@{wanted}"
        try:
            whole.rename(final)
        except OSError:  # somebody else may have put the same there meanwhile
            if not final.exists():
                raise
    return final


def _pick(files: Path, whole: Path) -> None:
    """Copy what guests need out of the unpacked packages."""
    (whole / "modules").mkdir(parents=True)
    (kernel,) = (files / "boot").glob("vmlinuz-*")
    kernel.rename(whole / "vmlinuz")
    (files / "bin" / "busybox").rename(whole / "busybox")
    there = {_bare(path.name): path for path in files.glob("lib/modules/**/*.ko*")}
    for number, (name, content) in enumerate(ordered(MODULES, there).items()):
        (whole / "modules" / f"{number:02}-{name}").write_bytes(content)


def _bare(name: str) -> str:
    """``ib_core.ko`` of ``03-ib-core.ko.xz``: the kernel takes both signs for one."""
    return re.sub(r"^\d\d-|\.xz$", "", name).replace("-", "_")


def ordered(wanted: Sequence[str], there: Mapping[str, Path]) -> dict[str, bytes]:
    """The modules and all that they depend on, each after those, with their contents.

    A module that there is not is built into the kernel.
    """
    done: dict[str, bytes] = {}

    def visit(name: str) -> None:
        file = f"{name.replace('-', '_')}.ko"
        if file in there and file not in done:
            content = _read(there[file])
            for needed in dependencies(content):
                visit(needed)
            done[file] = content

    for name in wanted:
        visit(name)
    return done


def dependencies(module: bytes) -> Iterator[str]:
    """The modules that a module's own ``depends=`` names (Linux, scripts/mod/modpost.c)."""
    found = re.search(rb"(?:^|\0)depends=([\w,-]*)\0", module)
    return filter(None, found[1].decode().split(",")) if found else iter(())


def _read(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
