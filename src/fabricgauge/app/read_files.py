"""Other suites' logs from disk: plain or gzip, line by line, in bounded memory."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from fabricgauge.model.suite import Strange
from fabricgauge.parse.lines import LONGEST_BYTES
from fabricgauge.parse.suites import Found, read

_GZIP = b"\x1f\x8b"


def found_in(path: Path, name: str = "") -> Iterator[Found]:
    """Curves and strange lines of one file, which ``name`` stands for in messages.

    What cannot be read (no such file, no permission, a broken archive) becomes a
    ``Strange`` with the reason: one bad file does not end the reading of the others.
    """
    source = name or str(path)
    last = 0
    try:
        with path.open("rb") as file:
            for found in read(_lines(file), source):
                last = found.line if isinstance(found, Strange) else found.last_line
                yield found
    except (OSError, EOFError, zlib.error) as error:
        reason = f"the file cannot be read further: {getattr(error, 'strerror', None) or error}"
        yield Strange(last + 1, "", reason, source=source)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    packed = file.read(2) == _GZIP
    file.seek(0)
    content = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
    while raw := content.readline(LONGEST_BYTES):
        yield raw
