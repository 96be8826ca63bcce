"""Make what a guest boots: a Debian kernel, and a small initial file system with its modules.

Both stay in the user's cache. The kernel is downloaded once; the file system's name is a hash of
its content.
"""

import hashlib
import lzma
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fabricgauge.features.rdma_lab import packages
from fabricgauge.lab.tools import Notify, silent
from fabricgauge.model.errors import LabError
from fabricgauge.store.files.ownership import not_own, place
from fabricgauge.store.files.writing import make_folder

#: Kernel packages, the preferred one first. rdma_rxe of 6.12 is better than earlier versions;
#: Debian's cloud kernels have no rdma_rxe.
_METAPACKAGES = ("linux-image-6.12-amd64", "linux-image-amd64")
_KERNEL = r"linux-image-\d[\w.+~-]*-amd64"

#: Modules that guests need, without their dependencies. rxe and siw load a checksum by the name of
#: its algorithm, so no module depends on it formally. ``tcp_diag`` is for ``ss``.
MODULES = (
    "virtio_net", "9pnet_virtio", "9p", "overlay", "crc32_generic", "crc32c_generic", "libcrc32c",
    "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe", "tcp_diag",
)  # fmt: skip

_INIT = Path(__file__).with_name("init.sh")
_BUSYBOX = "busybox-static"

#: Mount points in the initial file system.
_FOLDERS = ("bin", "dev", "layer", "machine", "modules", "proc", "root")


class Image(msgspec.Struct, frozen=True):
    """The files for QEMU's options ``-kernel`` and ``-initrd``."""

    kernel: Path
    initrd: Path


class Member(msgspec.Struct, frozen=True):
    """A file of a cpio archive; ``device`` is the major and minor number of a device file."""

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def image(driver: str, notify: Notify = silent) -> Image:
    """Return kernel and initial file system for guests with devices of ``driver``: rxe or siw.

    Calls ``notify`` with a sentence before each step that takes long.

    Raises:
        ToolMissing: a necessary program is not installed.
        LabError: a package is not available, or the cache cannot be used.
    """
    try:
        kernel = _prepare_kernel(notify)
        package, cache = kernel.name.rpartition("@")[0], _cache_folder()
        extra = [packages.build_siw(package, cache, notify)] if driver == "siw" else []
        files = members(_INIT.read_bytes(), kernel, extra)
        initrd = cache / f"{content_key(files)}.cpio"
        if not initrd.exists():
            file = tempfile.NamedTemporaryFile(dir=cache, prefix=".initrd-", delete=False)  # noqa: SIM115
            with file:
                file.write(cpio(files))
            Path(file.name).rename(initrd)
        return Image(kernel / "vmlinuz", initrd)
    except OSError as error:
        raise LabError(
            f"cannot keep a kernel in {place('XDG_CACHE_HOME')}: {error.strerror}; make room there"
        ) from error


def _cache_folder() -> Path:
    folder = place("XDG_CACHE_HOME") / "guests"
    make_folder(folder)
    if reason := not_own(folder):
        raise LabError(f"{reason}, so no kernel from it is used; mend it or set XDG_CACHE_HOME")
    return folder


def members(init: bytes, kernel: Path, extra: Sequence[Path] = ()) -> tuple[Member, ...]:
    """Return the files of the initial file system; modules load in the order of their names."""
    modules = [*sorted((kernel / "modules").iterdir()), *extra]
    return (
        *(Member(name, stat.S_IFDIR | 0o755) for name in _FOLDERS),
        Member("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        Member("init", stat.S_IFREG | 0o755, init),
        Member("bin/busybox", stat.S_IFREG | 0o755, (kernel / "busybox").read_bytes()),
        *(
            Member(
                f"modules/{number:02}-{_module_name(file.name)}",
                stat.S_IFREG | 0o644,
                file.read_bytes(),
            )
            for number, file in enumerate(modules)
        ),
    )


def content_key(archive_members: Sequence[Member]) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(archive_members)).hexdigest()[:32]


def cpio(archive_members: Sequence[Member]) -> bytes:
    """Return an archive that the kernel unpacks (driver-api/early-userspace/buffer-format)."""
    archive = bytearray()
    for number, member in enumerate((*archive_members, Member("TRAILER!!!", 0)), start=1):
        name = member.name.encode() + b"\0"
        fields = (
            number, member.mode, 0, 0, 1, 0, len(member.content), 0, 0, *member.device, len(name),
            0,
        )  # fmt: skip
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        archive += bytes(-len(archive) % 4) + member.content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def _prepare_kernel(notify: Notify) -> Path:
    """Return a folder with vmlinuz, busybox and modules: the newest in the cache, or a new one."""
    key = hashlib.sha256(" ".join((*MODULES, _BUSYBOX)).encode()).hexdigest()[:8]
    cached = sorted(
        _cache_folder().glob(f"linux-image-*@{key}"), key=lambda folder: folder.stat().st_mtime
    )
    if cached:
        return cached[-1]
    packages.require()
    kernel_packages = (packages.depends_on(package, _KERNEL) for package in _METAPACKAGES)
    package = next(filter(None, kernel_packages), "")
    if not package:
        raise LabError(
            f"apt knows none of {', '.join(_METAPACKAGES)}; refresh its lists with 'apt-get update'"
        )
    notify(f"downloading Debian's {package} (about 110 MB), once; it is not installed")
    with tempfile.TemporaryDirectory(prefix=".kernel-", dir=_cache_folder()) as name:
        unpacked, selection = Path(name) / "files", Path(name) / "whole"
        unpacked.mkdir()
        packages.unpack(unpacked, package, _BUSYBOX)
        _select_files(unpacked, selection)
        final = _cache_folder() / f"{package}@{key}"
        try:
            selection.rename(final)
        except OSError:  # another process may have made the same folder
            if not final.exists():
                raise
    return final


def _select_files(unpacked: Path, selection: Path) -> None:
    (selection / "modules").mkdir(parents=True)
    (kernel,) = (unpacked / "boot").glob("vmlinuz-*")
    kernel.rename(selection / "vmlinuz")
    (unpacked / "bin" / "busybox").rename(selection / "busybox")
    module_files = {_module_name(path.name): path for path in unpacked.glob("lib/modules/**/*.ko*")}
    for number, (name, content) in enumerate(load_order(MODULES, module_files).items()):
        (selection / "modules" / f"{number:02}-{name}").write_bytes(content)


def _module_name(file_name: str) -> str:
    """Return ``ib_core.ko`` for ``03-ib-core.ko.xz``: the kernel treats - and _ as equal."""
    return re.sub(r"^\d\d-|\.xz$", "", file_name).replace("-", "_")


def load_order(modules: Sequence[str], files: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the content of modules and their dependencies; a module follows its dependencies.

    A module without a file is built into the kernel.
    """
    contents: dict[str, bytes] = {}

    def visit(name: str) -> None:
        file = f"{name.replace('-', '_')}.ko"
        if file in files and file not in contents:
            content = files[file].read_bytes()
            if files[file].suffix == ".xz":
                content = lzma.decompress(content)
            for dependency in dependencies(content):
                visit(dependency)
            contents[file] = content

    for name in modules:
        visit(name)
    return contents


def dependencies(module: bytes) -> Iterator[str]:
    """Return the modules in a module's ``depends=`` field (Linux, scripts/mod/modpost.c)."""
    match = re.search(rb"(?:^|\0)depends=([\w,-]*)\0", module)
    return filter(None, match[1].decode().split(",")) if match else iter(())
