"""Rows of a table whose columns are declared: found and taken apart many at a time.

A row is taken for one only if it is plain: each cell is what its column declares, with blanks
between. Whatever else may be a row (``nan``, a cell that is missing) is left to the table's
own reading of single lines. Either way the columns' declaration says what goes where.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from fabricgauge.model.suite import Besides
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import counts_of, numbers_of
from fabricgauge.parse.table import SuiteTable

#: What a printed column is for: the message size, the count of samples, a figure of a curve, a
#: ``part`` of one (0.00 is none), one more figure of a curve, one that was ``sought`` only where
#: it is above zero, the word on the data, or nothing.
Use = Literal["size", "samples", "figure", "part", "besides", "sought", "check", "skipped"]
#: No suite takes more samples; what is above is no count.
_MOST_SAMPLES = 1e15


class ColumnUse(msgspec.Struct, frozen=True):
    """One printed column. ``curve`` is the place of the table's column that it adds to.

    ``rounded_by`` is the place in the row of a figure that, above zero, tells that a 0.00 here
    is only what rounding left.
    """

    use: Use
    curve: int = 0
    besides: Besides | None = None
    rounded_by: int = -1


Kind = Literal["whole", "number", "check"]

#: A size or a count, a figure, and the word on whether the data were right. Nothing is tried
#: twice (``+`` behind a count): what is no row by its first reading is none.
_CELLS: dict[Kind, str] = {
    "whole": "[0-9]{1,15}+",
    "number": r"[0-9]{1,30}+(?:\.[0-9]{0,30}+)?+",
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
        return numbers_of(self.words[place :: self.width])

    def counts(self, place: int) -> list[int]:
        return counts_of(self.words[place :: self.width])

    @property
    def last(self) -> LogLine:
        text = self.text.rstrip("\n")
        return LogLine(self.number + self.count - 1, text[text.rfind("\n") + 1 :])

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
        cells = r"[ \t]++".join(_CELLS[kind] for kind in columns)
        self._width = len(columns)
        self._rows = re.compile(rf"(?:[ \t]*+{cells}[ \t]*+\n)++")

    def at(self, number: int, text: str, place: int) -> Rows | None:
        """The rows from ``place`` in a text of whole lines on; None if there is none."""
        match = self._rows.match(text, place)
        if match is None:
            return None
        return Rows(number, match[0], match[0].split(), self._width)


@lru_cache(maxsize=64)
def finder_of(cells: tuple[ColumnUse, ...]) -> RowFinder:
    return RowFinder([_KINDS.get(cell.use, "number") for cell in cells])


_KINDS: dict[Use, Kind] = {"size": "whole", "samples": "whole", "check": "check"}


def add_rows(table: SuiteTable, cells: Sequence[ColumnUse], rows: Rows) -> bool:
    """Add plain rows column by column; false, and nothing added, if they need a closer look."""
    if rows.width != len(cells) or not rows.count:
        return False
    sizes: Sequence[int | None] = [None] * rows.count
    samples: Sequence[int] = [0] * rows.count
    values: list[Sequence[float | None]] = [()] * len(table.columns)
    besides: list[dict[Besides, Sequence[float | None]]] = [{} for _ in table.columns]
    for place, cell in enumerate(cells):
        use = cell.use
        if use == "size":
            sizes = rows.counts(place)
        elif use == "samples":
            samples = rows.counts(place)
        elif use == "check":
            if "Fail" in rows.column(place):
                return False
        elif use != "skipped":
            figures = _figures(cell, rows, place)
            if cell.besides is None:
                values[cell.curve] = figures
            elif figures.count(None) < rows.count:
                besides[cell.curve][cell.besides] = figures
    return table.fill(rows.number, sizes, values, besides, samples)


def _figures(cell: ColumnUse, rows: Rows, place: int) -> Sequence[float | None]:
    """A column; None where a 0.00 is no figure, as in ``add_row``."""
    figures = rows.figures(place)
    if 0.0 not in figures:
        return figures
    if cell.use in ("part", "sought"):
        return [figure or None for figure in figures]
    if cell.rounded_by < 0:
        return figures
    others = zip(figures, rows.figures(cell.rounded_by), strict=True)
    return [None if not figure and other > 0 else figure for figure, other in others]


def add_row(
    table: SuiteTable,
    cells: Sequence[ColumnUse],
    line: LogLine,
    figures: Sequence[float],
    message_bytes: int | None = None,
) -> None:
    """Add one row, which may have fewer figures than columns; the size may be known otherwise."""
    samples = 0
    values: list[float | None] = [None] * len(table.columns)
    besides: list[dict[Besides, float]] = [{} for _ in table.columns]
    for cell, figure in zip(cells, figures, strict=False):
        use = cell.use
        if use == "figure":
            rounded = not figure and cell.rounded_by >= 0 and figures[cell.rounded_by] > 0
            values[cell.curve] = None if rounded else figure
        elif use == "part":
            values[cell.curve] = figure or None
        elif use == "size":
            message_bytes = int(figure)
        elif use == "samples":
            samples = int(figure) if 0 <= figure < _MOST_SAMPLES else 0
        elif cell.besides is not None and (use == "besides" or figure > 0):
            besides[cell.curve][cell.besides] = figure
    table.row(line, message_bytes, values, besides, samples)
