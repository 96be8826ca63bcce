"""Rows of a table whose columns are declared: found and taken apart many at a time.

A row is taken for one only if it is plain: each cell is what its column declares, with blanks
between. Whatever else may be a row (``nan``, a cell that is missing) is left to the table's
own reading of single lines.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from fabricgauge.parse.interface import LogLine

Kind = Literal["whole", "number", "check"]

#: A size or a count, a figure, and the word on whether the data were right.
_CELLS: dict[Kind, str] = {
    "whole": "[0-9]{1,15}",
    "number": r"[0-9]{1,30}(?:\.[0-9]{0,30})?",
    "check": "Pass",
}


class Rows(msgspec.Struct, frozen=True, gc=False):
    """Rows on consecutive lines, ``number`` the first one's; each has ``width`` words."""

    number: int
    text: str
    words: Sequence[str]
    width: int

    @property
    def count(self) -> int:
        return len(self.words) // self.width

    def column(self, place: int) -> Sequence[str]:
        return self.words[place :: self.width]

    def figures(self, place: int) -> list[float]:
        return list(map(float, self.words[place :: self.width]))

    def single(self) -> list[tuple[LogLine, Sequence[str]]]:
        """Each row by itself: its line and its words."""
        texts = self.text.split("\n")
        return [
            (LogLine(self.number + row, texts[row]), self.words[place : place + self.width])
            for row, place in enumerate(range(0, len(self.words), self.width))
        ]


class RowFinder:
    """Finds plain rows of a table with these columns."""

    def __init__(self, columns: Sequence[Kind]) -> None:
        cells = r"[ \t]+".join(_CELLS[kind] for kind in columns)
        self._width = len(columns)
        self._rows = re.compile(rf"(?:[ \t]*{cells}[ \t]*\n)+")

    def at(self, number: int, text: str, place: int) -> Rows | None:
        """The rows from ``place`` in a text of whole lines on; None if there is none."""
        match = self._rows.match(text, place)
        if match is None:
            return None
        return Rows(number, match[0], match[0].split(), self._width)
