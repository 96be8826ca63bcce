"""Packed files as streams; gzip gives all that can be had of a broken archive before it says so."""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

GZIP = b"\x1f\x8b"
#: Room for the dictionary of ``xz -9`` (64 MiB) and more: a header may ask for 4 GiB.
MOST_MEMORY_BYTES = 1 << 28

Unpacker = bz2.BZ2Decompressor | lzma.LZMADecompressor
#: What unpacks a part, by how the file begins.
OTHERS: dict[bytes, Callable[[], Unpacker]] = {
    b"\xfd7zXZ": partial(lzma.LZMADecompressor, memlimit=MOST_MEMORY_BYTES),
    b"BZh": bz2.BZ2Decompressor,
}
_CHUNK_BYTES = 1 << 16
_GZIP_FORMAT = 31  # window of 2^15 bytes, with gzip's header (zlib manual, inflateInit2)


class Unpacked(io.RawIOBase):
    """The content of a gzip file, of one part or several behind each other.

    ``trouble`` says why it ended before its proper end; nothing is raised for that. The
    standard library's reader raises, and loses what it had unpacked last.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._part = zlib.decompressobj(_GZIP_FORMAT)
        self._rest = b""
        self._over = False
        self.trouble = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        content = b""
        while not content and not self._over:
            content = self._more(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def _more(self, most_bytes: int) -> bytes:
        if self._part.eof:
            self._turn_to_next_part()
            return b""
        packed = self._part.unconsumed_tail or self._next_bytes()
        before = self._part.copy()
        try:
            content = self._part.decompress(packed, most_bytes)
        except zlib.error as error:
            self._end(str(error))
            return _up_to_error(before, packed, most_bytes)
        if not packed and not content and not self._part.eof:
            self._end("the archive is cut off")
        return content

    def _turn_to_next_part(self) -> None:
        """Zeros may pad an archive; what else follows must be another one."""
        self._rest = self._part.unused_data.lstrip(b"\0")
        while not self._rest and (more := self._next_bytes()):
            self._rest = more.lstrip(b"\0")
        self._over = not self._rest
        self._part = zlib.decompressobj(_GZIP_FORMAT)

    def _next_bytes(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest or self._file.read(_CHUNK_BYTES)

    def _end(self, trouble: str) -> None:
        self._over, self.trouble = True, trouble


def _up_to_error(part: "zlib._Decompress", packed: bytes, most_bytes: int) -> bytes:
    """What a piece holds before the byte that is wrong."""
    content = bytearray()
    try:
        for i in range(len(packed)):
            content += part.decompress(packed[i : i + 1], most_bytes - len(content))
            if len(content) >= most_bytes:
                break
    except zlib.error:
        pass
    return bytes(content)


class OfLibrary(io.RawIOBase):
    """The content of an xz or bzip2 file, of one part or several behind each other.

    A part is unpacked by what ``begin`` makes. It raises what that raises, and EOFError for an
    archive that is cut off.
    """

    def __init__(self, file: BinaryIO, begin: Callable[[], Unpacker]) -> None:
        self._file, self._begin = file, begin
        self._part = begin()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # type: ignore[override]
        content = b""
        while not content:
            packed = b""
            if self._part.eof:
                packed = self._part.unused_data.lstrip(b"\0") or self._next_bytes().lstrip(b"\0")
                if not packed:
                    return 0
                self._part = self._begin()
            elif self._part.needs_input and not (packed := self._next_bytes()):
                raise EOFError("it is cut off")
            content = self._part.decompress(packed, len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def _next_bytes(self) -> bytes:
        return self._file.read(_CHUNK_BYTES)
