"""Read other suites' logs from disk, plain or packed, line by line, in bounded memory.

A broken archive gives all its readable content first.
"""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from fabricgauge.logs.readers.json_text import MOST_CHARACTERS
from fabricgauge.logs.readers.lines import LONGEST_BYTES, may_be_json
from fabricgauge.logs.readers.suites import Found, read
from fabricgauge.model.suite import UNREADABLE, LogContent, UnparsedLine
from fabricgauge.store.files.reading import opened, shown

_BUFFER_BYTES = 1 << 18
_BLOCK_BYTES = LONGEST_BYTES // 2
#: The place of ``ustar`` in an archive's first header (POSIX.1-2017, pax).
_TAR = slice(257, 262)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_file(path: Path, name: str = "", within: Path | None = None) -> Iterator[Found]:
    """Yield curves and unparsed lines of one file; messages call it ``name``.

    No link may lead out of ``within``.

    A file that cannot be read (no such file, no permission, a broken archive) gives an
    ``UnparsedLine`` with the reason, after all its readable content. It does not end the reading of
    other files.
    """
    lines = FileLines(path, within)
    name = name or shown(str(path))
    yield from read(lines, name)
    yield from _report_trouble(lines, name)


def read_large_file(
    path: Path, name: str, within: Path | None, fold_from: int
) -> Iterator[LogContent]:
    """Yield what ``read_file`` does; tables that repeat a heading more often come as families.

    The first ``fold_from`` tables of each heading, all odd ones and the last one stay as they are.
    """
    from fabricgauge.logs.readers.repetitions import read_folded  # it needs numpy

    lines = FileLines(path, within)
    yield from read_folded(lines, name, fold_from)
    yield from _report_trouble(lines, name)


def _report_trouble(lines: "FileLines", name: str) -> Iterator[UnparsedLine]:
    if lines.trouble:
        reason = f"{UNREADABLE}: {lines.trouble}"
        yield UnparsedLine(lines.count + 1, "", reason, source=name)


class FileLines:
    """Yield raw lines in blocks, to the end of the file or of its readable part."""

    def __init__(self, path: Path, within: Path | None) -> None:
        self._path, self._within = path, within
        self.count = 0
        self.trouble = ""

    def __iter__(self) -> Iterator[bytes]:
        try:
            with opened(self._path, self._within) as file:
                yield from self._read_content(file)
        except OSError as error:
            self.trouble = str(error.strerror or error)

    def _read_content(self, file: io.BufferedReader) -> Iterator[bytes]:
        head = file.read(6)
        file.seek(0)
        for magic, unpacker in UNPACKERS.items():
            if head.startswith(magic):
                unpacked = Unpacked(file, unpacker)
                content = io.BufferedReader(unpacked, _BUFFER_BYTES)
                yield from self._split_unless_tar(content)
                self.trouble = self.trouble or unpacked.trouble
                return
        if head.startswith(_UTF_16):
            yield from self._split(_Utf8Recoder(file))
        else:
            yield from self._split_unless_tar(file)

    def _split_unless_tar(self, content: "io.BufferedReader[Any]") -> Iterator[bytes]:
        """Yield the lines, except of an archive, which joins a log's first line to a header."""
        if content.peek(_TAR.stop)[_TAR] == b"ustar":
            self.trouble = "it is a tar archive: unpack it first (tar xf)"
        else:
            yield from self._split(content)

    def _split(self, content: "io.BufferedReader[Any] | _Utf8Recoder") -> Iterator[bytes]:
        """Yield all whole lines of one read together; a long line comes by itself."""
        partial_line = b""
        while more := content.read1(_BLOCK_BYTES):
            block = partial_line + more
            end = block.rfind(b"\n") + 1
            partial_line = block[end:]
            if end:
                self.count += block.count(b"\n")
                yield block[:end]
            if len(partial_line) >= LONGEST_BYTES:
                self.count += 1
                yield _read_long_line(partial_line, content)
                partial_line = b""
        if partial_line:
            self.count += 1
            yield partial_line


class _Utf8Recoder:
    """Recode UTF-16 as UTF-8: PowerShell redirects output as UTF-16."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._text = io.TextIOWrapper(file, "utf-16", "replace")

    def read1(self, most: int) -> bytes:
        return self._text.read(most).encode("utf-8", "replace")

    def readline(self, most: int) -> bytes:
        return self._text.readline(most).encode("utf-8", "replace")


def _read_long_line(raw: bytes, content: "io.BufferedReader[Any] | _Utf8Recoder") -> bytes:
    """Return a long line with its rest: kept for JSON, dropped for all other lines."""
    parts = [raw]
    room = MOST_CHARACTERS if may_be_json(raw) else 0
    while not raw.endswith(b"\n") and (raw := content.readline(LONGEST_BYTES)):
        if room > 0:
            parts.append(raw)
            room -= len(raw)
    return b"".join(parts)


#: Room for the dictionary of ``xz -9`` (64 MiB) and more: a header may ask for 4 GiB.
MAX_MEMORY_BYTES = 1 << 28
_CHUNK_BYTES = 1 << 16
_GZIP_FORMAT = 31  # window of 2^15 bytes, with gzip's header (zlib manual, inflateInit2)


class _GzipDecompressor:
    """Wrap zlib's object in the interface of bz2 and lzma; give all bytes before a wrong one."""

    def __init__(self) -> None:
        self._part = zlib.decompressobj(_GZIP_FORMAT)
        self._error: zlib.error | None = None

    @property
    def eof(self) -> bool:
        return self._part.eof

    @property
    def unused_data(self) -> bytes:
        return self._part.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._part.unconsumed_tail and self._error is None

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._error is not None:
            raise self._error
        before, packed = self._part.copy(), self._part.unconsumed_tail + data
        try:
            return self._part.decompress(packed, max_length)
        except zlib.error as error:
            self._error = error
        content = bytearray()
        try:
            for i in range(len(packed)):
                content += before.decompress(packed[i : i + 1], max_length - len(content))
                if len(content) >= max_length:
                    break
        except zlib.error:
            pass
        return bytes(content)


Unpacker = bz2.BZ2Decompressor | lzma.LZMADecompressor | _GzipDecompressor
#: Decompressor of a part, by the first bytes of the file.
UNPACKERS: dict[bytes, Callable[[], Unpacker]] = {
    b"\x1f\x8b": _GzipDecompressor,
    b"\xfd7zXZ": partial(lzma.LZMADecompressor, memlimit=MAX_MEMORY_BYTES),
    b"BZh": bz2.BZ2Decompressor,
}


class Unpacked(io.RawIOBase):
    """Read the content of a packed file of one part or several parts behind each other.

    ``begin`` makes the decompressor of a part. ``trouble`` is why the content ended too early; no
    error is raised for that.
    """

    def __init__(self, file: BinaryIO, begin: Callable[[], Unpacker]) -> None:
        self._file, self._begin = file, begin
        self._part, self._rest, self.trouble = begin(), b"", ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        content = b""
        while not content and not self.trouble and (not self._part.eof or self._has_more_parts()):
            content = self._read_more(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def _read_more(self, most_bytes: int) -> bytes:
        packed, self._rest = self._rest, b""
        if not packed and self._part.needs_input:
            packed = self._file.read(_CHUNK_BYTES)
        is_over = not packed and self._part.needs_input
        try:
            content = self._part.decompress(packed, most_bytes)
        except (zlib.error, lzma.LZMAError, OSError) as error:
            self.trouble = f"the archive is broken: {error}"
            return b""
        if is_over and not content:
            self.trouble = "the archive is cut off"
        return content

    def _has_more_parts(self) -> bool:
        """Check for another part. Zeros may pad an archive; all else must be another part."""
        self._rest = self._part.unused_data.lstrip(b"\0")
        while not self._rest and (more := self._file.read(_CHUNK_BYTES)):
            self._rest = more.lstrip(b"\0")
        if self._rest:
            self._part = self._begin()
        return bool(self._rest)
