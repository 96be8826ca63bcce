"""Read from a program or library what a loader reads: machine, name, needs and versions; pure.

Source: System V Application Binary Interface, "Object Files" and "Program Loading and Dynamic
Linking"; Linux Standard Base Core 5.0, "Symbol Versioning".
"""

import struct
from collections.abc import Iterator

import msgspec

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
