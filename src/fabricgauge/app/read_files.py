"""Other suites' logs from disk, plain or packed, line by line, in bounded memory."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabricgauge.app.unpack import UNPACKERS, Unpacked
from fabricgauge.files.reading import opened, shown
from fabricgauge.model.suite import UNREADABLE, UnparsedLine
from fabricgauge.parse.json_text import MOST_CHARACTERS
from fabricgauge.parse.likeness import likest_line
from fabricgauge.parse.lines import LONGEST_BYTES, may_be_json
from fabricgauge.parse.suites import Found, read

_BUFFER_BYTES = 1 << 18
_BLOCK_BYTES = LONGEST_BYTES // 2
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def found_in(path: Path, name: str = "", within: Path | None = None) -> Iterator[Found]:
    """Curves and unparsed lines of one file, which ``name`` stands for in messages.

    No link may lead out of ``within``.

    What cannot be read (no such file, no permission, a broken archive) becomes a
    ``UnparsedLine`` with the reason, after all that stood before: one bad file does not end the
    reading of the others.
    """
    lines = _Lines(path, within)
    name = name or shown(str(path))
    yield from read(lines, name)
    if lines.trouble:
        reason = f"{UNREADABLE}: {lines.trouble}"
        yield UnparsedLine(lines.count + 1, "", reason, source=name)


def likest_in(path: Path, name: str, within: Path | None = None) -> UnparsedLine | None:
    """The line of a file without a figure that looks most like a suite's; None if none does."""
    return likest_line(_Lines(path, within), name)


class _Lines:
    """Raw lines in blocks, up to the file's end or to where it cannot be read further."""

    def __init__(self, path: Path, within: Path | None) -> None:
        self._path, self._within = path, within
        self.count = 0
        self.trouble = ""

    def __iter__(self) -> Iterator[bytes]:
        try:
            with opened(self._path, self._within) as file:
                yield from self._of(file)
        except OSError as error:
            self.trouble = str(error.strerror or error)

    def _of(self, file: io.BufferedReader) -> Iterator[bytes]:
        head = file.read(6)
        file.seek(0)
        begin = next((one for magic, one in UNPACKERS.items() if head.startswith(magic)), None)
        if begin is not None:
            unpacked = Unpacked(file, begin)
            yield from self._split(io.BufferedReader(unpacked, _BUFFER_BYTES))
            self.trouble = unpacked.trouble
        else:
            yield from self._split(_Recoded(file) if head.startswith(_UTF_16) else file)

    def _split(self, content: "io.BufferedReader[Any] | _Recoded") -> Iterator[bytes]:
        """All whole lines that one read gives, together; a long line comes by itself."""
        begun = b""
        while more := content.read1(_BLOCK_BYTES):
            block = begun + more
            end = block.rfind(b"\n") + 1
            begun = block[end:]
            if end:
                self.count += block.count(b"\n")
                yield block[:end]
            if len(begun) >= LONGEST_BYTES:
                self.count += 1
                yield _whole(begun, content)
                begun = b""
        if begun:
            self.count += 1
            yield begun


class _Recoded:
    """UTF-16 as UTF-8: PowerShell writes it where other shells write what the program wrote."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._text = io.TextIOWrapper(file, "utf-16", "replace")

    def read1(self, most: int) -> bytes:
        return self._text.read(most).encode("utf-8", "replace")

    def readline(self, most: int) -> bytes:
        return self._text.readline(most).encode("utf-8", "replace")


def _whole(raw: bytes, content: "io.BufferedReader[Any] | _Recoded") -> bytes:
    """The rest of a long line belongs to it: kept for JSON, dropped for all others."""
    kept = [raw]
    room = MOST_CHARACTERS if may_be_json(raw) else 0
    while not raw.endswith(b"\n") and (raw := content.readline(LONGEST_BYTES)):
        if room > 0:
            kept.append(raw)
            room -= len(raw)
    return b"".join(kept)
