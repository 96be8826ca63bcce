"""Other suites' logs from disk: plain or gzip, line by line, in bounded memory."""

import io
from collections.abc import Iterator
from pathlib import Path

from fabricgauge.app.unpack import GZIP, Unpacked
from fabricgauge.model.suite import UNREADABLE, Strange
from fabricgauge.parse.json_text import MOST_CHARACTERS
from fabricgauge.parse.lines import LONGEST_BYTES
from fabricgauge.parse.suites import Found, read

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
        reason = f"{UNREADABLE}: {lines.trouble}"
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
                yield from self._of(file)
        except OSError as error:
            self.trouble = str(error.strerror or error)

    def _of(self, file: io.BufferedReader) -> Iterator[bytes]:
        if file.peek(2)[:2] != GZIP:
            yield from self._split(file)
            return
        unpacked = Unpacked(file)
        yield from self._split(io.BufferedReader(unpacked, _BUFFER_BYTES))
        self.trouble = unpacked.trouble

    def _split(self, content: io.BufferedReader) -> Iterator[bytes]:
        while raw := content.readline(LONGEST_BYTES):
            self.count += 1
            yield raw if raw.endswith(b"\n") else _whole(raw, content)


def _whole(raw: bytes, content: io.BufferedReader) -> bytes:
    """The rest of a long line belongs to it: kept for JSON, dropped for all others."""
    kept = [raw]
    room = MOST_CHARACTERS if raw.lstrip()[:1] in (b"{", b"[") else 0
    while not raw.endswith(b"\n") and (raw := content.readline(LONGEST_BYTES)):
        if room > 0:
            kept.append(raw)
            room -= len(raw)
    return b"".join(kept)
