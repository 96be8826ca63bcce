"""Find the library of an MPI, which decides which programs it can run, and read ELF files.

MPICH, Intel MPI, MVAPICH and HPE Cray share one ABI (MPICH ABI Compatibility Initiative), Open MPI
4 and 5 another, and the standard has a third (MPI 5.0, chapter 20).

ELF: System V Application Binary Interface, "Object Files" and "Program Loading and Dynamic
Linking"; Linux Standard Base Core 5.0, "Symbol Versioning".
"""

import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Mpi, MpiKind
from fabricgauge.model.errors import CannotRun

#: Names of the library by kind of MPI, in the order of the search. ``libmpich.so.12`` is Debian's
#: name for MPICH's ABI; ``libmpi_abi.so.1`` is that of the standard's.
STANDARD_ABI = "libmpi_abi.so.1"
SONAMES: dict[MpiKind, tuple[str, ...]] = {
    "mpich": ("libmpi.so.12", "libmpich.so.12", STANDARD_ABI),
    "intelmpi": ("libmpi.so.12", STANDARD_ABI),
    "openmpi": ("libmpi.so.40", STANDARD_ABI),
}

#: Folders that the loader searches by itself (ld.so(8)); Debian has one for each architecture.
_TRIPLET = f"{platform.machine()}-linux-gnu"
SYSTEM_FOLDERS = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", f"/lib/{_TRIPLET}", f"/usr/lib/{_TRIPLET}",
)  # fmt: skip

#: Folders below an MPI's prefix; ``lib/release`` is Intel MPI's up to 2021.12.
_FOLDERS = ("lib", "lib64", "lib/release", f"lib/{_TRIPLET}")

#: Largest library that is read: Intel MPI's has 70 MB.
_MOST_BYTES = 1 << 28


class MpiLibrary(msgspec.Struct, frozen=True):
    """The file, and the name by which programs are linked with it."""

    path: Path
    soname: str


def find_library(mpi: Mpi) -> MpiLibrary:
    """Return the library of an MPI: one whose ABI is known if there is one.

    Raises:
        CannotRun: there is none for this processor; the message names the folders.
    """
    wanted = SONAMES.get(mpi.kind, ())
    homes = dict.fromkeys((mpi.mpiexec.parent.parent, mpi.mpiexec.resolve().parent.parent))
    folders = [home / name for home in homes for name in _FOLDERS if (home / name).is_dir()]
    names = [*wanted, *(f"libmpi.so.{number}" for number in range(60))]
    files = (folder / name for name in dict.fromkeys(names) for folder in folders)
    others = []
    for file in filter(Path.is_file, files):
        elf = parse_elf(file.read_bytes()) if file.stat().st_size < _MOST_BYTES else None
        if elf is None or elf.machine != platform.machine():
            continue
        if elf.soname in wanted:
            return MpiLibrary(file, elf.soname)
        others.append(MpiLibrary(file, elf.soname or file.name))
    if others:
        return others[0]
    raise CannotRun(
        f"the library of the MPI at {mpi.mpiexec} was found in none of"
        f" {', '.join(map(str, folders))} ({' or '.join(wanted)}); name the MPI by the path of its"
        " mpiexec: --mpi PATH"
    )


def library_path(mpi: Mpi, library: MpiLibrary) -> tuple[str, ...]:
    """Return the folders in which ranks must look for the library; none for the system's."""
    folder = str(library.path.parent)
    present = mpi.env.get("LD_LIBRARY_PATH") or os.environ.get("LD_LIBRARY_PATH", "")
    folders = () if folder in SYSTEM_FOLDERS else (folder,)
    return tuple(dict.fromkeys((*folders, *filter(None, present.split(":"))))) if folders else ()


#: ``e_machine`` by the names of uname(2).
MACHINES = {62: "x86_64", 183: "aarch64"}

_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29
_VERSIONS_NEEDED, _VERSIONS_COUNT = 0x6FFFFFFE, 0x6FFFFFFF
#: Longest text that is read: PATH_MAX of Linux.
_LONGEST = 4096


class Elf(msgspec.Struct, frozen=True):
    """``versions`` are the symbol versions that each needed library must have.

    ``interpreter`` is the loader; empty for a static program or a library.
    """

    machine: str
    soname: str = ""
    needed: tuple[str, ...] = ()
    runpath: str = ""
    interpreter: str = ""
    versions: dict[str, tuple[str, ...]] = {}

    def highest(self, prefix: str) -> tuple[int, ...]:
        """Return the highest needed version with a prefix: (2, 17) for GLIBC_2.17, else ()."""
        texts = (text for texts in self.versions.values() for text in texts)
        numbers = (text.removeprefix(prefix) for text in texts if text.startswith(prefix))
        versions = (
            tuple(map(int, number.split(".")))
            for number in numbers
            if number.replace(".", "").isdecimal()
        )
        return max(versions, default=())


def parse_elf(content: bytes) -> Elf | None:
    """Return what the loader reads; None if the content is no such file of 64 bits."""
    try:
        return _parse(content)
    except (struct.error, IndexError, ValueError):
        return None


def _parse(content: bytes) -> Elf | None:
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    (number,) = struct.unpack_from("<H", content, 18)
    machine = MACHINES.get(number, f"machine {number}")
    segments = [*_segments(content)]
    interpreter = next(
        (_text(content, offset) for kind, offset, *_ in segments if kind == _INTERPRETER), ""
    )
    tags = [
        tag
        for kind, offset, _, size in segments
        if kind == _DYNAMIC
        for tag in struct.iter_unpack("<QQ", content[offset : offset + size - size % 16])
    ]
    places = {tag: _offset(segments, value) for tag, value in tags if tag in _ADDRESSES}
    if _STRINGS not in places:
        return Elf(machine, interpreter=interpreter)
    strings = places[_STRINGS]
    texts = {tag: _text(content, strings + value) for tag, value in tags if tag in _TEXTS}
    needed = tuple(_text(content, strings + value) for tag, value in tags if tag == _NEEDED)
    versions = {}
    if _VERSIONS_NEEDED in places:
        count = dict(tags).get(_VERSIONS_COUNT, 0)
        versions = dict(_versions(content, places[_VERSIONS_NEEDED], count, strings))
    runpath = texts.get(_RUNPATH) or texts.get(_RPATH, "")
    return Elf(machine, texts.get(_SONAME, ""), needed, runpath, interpreter, versions)


_ADDRESSES = frozenset({_STRINGS, _VERSIONS_NEEDED})
_TEXTS = frozenset({_SONAME, _RPATH, _RUNPATH})


def _segments(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, offset in the file, address in memory and size in the file of each segment."""
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * count, size or 1):
        kind, _, offset, address, _, file_size = struct.unpack_from("<IIQQQQ", content, at)
        yield kind, offset, address, file_size


def _offset(segments: list[tuple[int, int, int, int]], address: int) -> int:
    for kind, offset, start, size in segments:
        if kind == _LOAD and start <= address < start + size:
            return offset + address - start
    raise ValueError(f"no segment has the address {address:#x}")


def _text(content: bytes, at: int) -> str:
    end = content.index(b"\0", at, at + _LONGEST)
    return content[at:end].decode("utf-8", "replace")


def _versions(
    content: bytes, at: int, count: int, strings: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for _ in range(count):
        _, entries, file, first, following = struct.unpack_from("<HHIII", content, at)
        names, place = [], at + first
        for _ in range(entries):
            _, _, _, name, step = struct.unpack_from("<IHHII", content, place)
            names.append(_text(content, strings + name))
            place += step
        yield _text(content, strings + file), tuple(names)
        at += following
