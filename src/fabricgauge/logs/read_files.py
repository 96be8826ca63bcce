"""Read other suites' logs from disk, plain or packed, line by line, in bounded memory."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabricgauge.logs.readers.json_text import MOST_CHARACTERS
from fabricgauge.logs.readers.likeness import likest_line
from fabricgauge.logs.readers.lines import LONGEST_BYTES, may_be_json
from fabricgauge.logs.readers.suites import Found, read
from fabricgauge.logs.unpack import UNPACKERS, Unpacked
from fabricgauge.model.suite import UNREADABLE, UnparsedLine
from fabricgauge.store.files.reading import opened, shown

_BUFFER_BYTES = 1 << 18
_BLOCK_BYTES = LONGEST_BYTES // 2
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_file(path: Path, name: str = "", within: Path | None = None) -> Iterator[Found]:
    """Yield curves and unparsed lines of one file; messages call it ``name``.

    No link may lead out of ``within``.

    A file that cannot be read (no such file, no permission, a broken archive) gives an
    ``UnparsedLine`` with the reason, after all its readable content. It does not end the reading of
    other files.
    """
    lines = _Lines(path, within)
    name = name or shown(str(path))
    yield from read(lines, name)
    if lines.trouble:
        reason = f"{UNREADABLE}: {lines.trouble}"
        yield UnparsedLine(lines.count + 1, "", reason, source=name)


def find_likest_line(path: Path, name: str, within: Path | None = None) -> UnparsedLine | None:
    """Return the line of a file without a figure that looks most like a suite's; None if none
    does.
    """
    return likest_line(_Lines(path, within), name)


class _Lines:
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
        unpacker = next(
            (factory for magic, factory in UNPACKERS.items() if head.startswith(magic)), None
        )
        if unpacker is not None:
            unpacked = Unpacked(file, unpacker)
            yield from self._split(io.BufferedReader(unpacked, _BUFFER_BYTES))
            self.trouble = unpacked.trouble
        else:
            yield from self._split(_Utf8Recoder(file) if head.startswith(_UTF_16) else file)

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
