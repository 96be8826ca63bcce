"""Read packed files as streams; a broken archive gives all its readable content first."""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

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
