"""A JSON object in the midst of lines: where it ends, and its text."""

import re
from collections.abc import Iterator

from fabricgauge.parse.interface import Line

#: iperf3's largest known outputs have some 10 MB; what exceeds these is read as lines.
MOST_CHARACTERS = 1 << 25
MOST_LINES = 1 << 20

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Collector:
    """Lines from an opening bracket to the one that closes it."""

    def __init__(self, first: Line) -> None:
        self.first = first
        self._lines: list[Line] = []
        self._depth = 0
        self._size = 0

    @staticmethod
    def begun_by(line: Line) -> "Collector | None":
        """A collector if the line can begin an object or an array of objects.

        ``[`` alone opens an array; ``[ ID] Interval`` and labels are no JSON.
        """
        text = line.text.strip()
        fits = text.startswith("{") or text in ("[", "[{")
        return Collector(line) if fits else None

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self._lines)

    def add(self, line: Line) -> bool:
        """Take a line; whether the object is complete now (or larger than any known)."""
        self._lines.append(line)
        self._size += len(line.text)
        bare = _STRING.sub("", line.text)
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        too_large = self._size > MOST_CHARACTERS or len(self._lines) >= MOST_LINES
        return self._depth <= 0 or too_large

    def lines(self) -> Iterator[Line]:
        yield from self._lines
