"""Other suites' logs from disk: plain or gzip, line by line, in bounded memory."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from fabricgauge.model.suite import Strange
from fabricgauge.parse.json_text import MOST_CHARACTERS
from fabricgauge.parse.lines import LONGEST_BYTES
from fabricgauge.parse.suites import Found, read

_GZIP = b"\x1f\x8b"
_BUFFER_BYTES = 1 << 18


def found_in(path: Path, name: str = "") -> Iterator[Found]:
    """Curves and strange lines of one file, which ``name`` stands for in messages.

    What cannot be read (no such file, no permission, a broken archive) becomes a
    ``Strange`` with the reason, after all that stood before: one bad file does not end the
    reading of the others.
    """
    lines = _Lines(path)
    yield from read(lines, name or str(path))
    if lines.trouble:
        reason = f"the file cannot be read further: {lines.trouble}"
        yield Strange(lines.count + 1, "", reason, source=name or str(path))


class _Lines:
    """Raw lines up to the file's end, or to where it cannot be read further."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = 0
        self.trouble = ""

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as file:
                for raw in _lines(file):
                    self.count += 1
                    yield raw
        except (OSError, EOFError, zlib.error) as error:
            self.trouble = str(getattr(error, "strerror", None) or error)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    packed = file.peek(2)[:2] == _GZIP if isinstance(file, io.BufferedReader) else False
    content = io.BufferedReader(_unpacked(file), _BUFFER_BYTES) if packed else file
    while raw := content.readline(LONGEST_BYTES):
        yield raw if raw.endswith(b"\n") else _whole(raw, content)


def _unpacked(file: BinaryIO) -> io.RawIOBase:
    return cast(io.RawIOBase, gzip.GzipFile(fileobj=file))


def _whole(raw: bytes, content: BinaryIO) -> bytes:
    """The rest of a long line belongs to it: kept for JSON, dropped for all others."""
    kept = [raw]
    room = MOST_CHARACTERS if raw.lstrip()[:1] in (b"{", b"[") else 0
    while not raw.endswith(b"\n") and (raw := content.readline(LONGEST_BYTES)):
        if room > 0:
            kept.append(raw)
            room -= len(raw)
    return b"".join(kept)
