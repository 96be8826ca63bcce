"""Rows of a table whose columns are declared: found, taken apart and added many at a time.

A plain row is one in which each cell is what its column declares, with blanks between: as many
as follow each other are taken at once. Any other row (``nan``, cells that are missing at its end)
is taken by itself. Either way the declaration says what goes where.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from fabricgauge.model.suite import Besides
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import figure_of
from fabricgauge.parse.table import Printed, SuiteTable, TableRows, known_count

#: What a printed column is for: the message size, the count of samples, a group of ranks, a figure
#: of a curve, a ``part`` of one (0.00 is none), one more figure of a curve, one that was ``sought``
#: only where it is above zero, the word on the data, a count of wrong data, or nothing.
Use = Literal[
    "size", "samples", "group", "figure", "part", "besides", "sought", "check", "wrong",
    "skipped", "unknown",
]  # fmt: skip


class ColumnUse(msgspec.Struct, frozen=True):
    """One printed column. ``curve`` is the place of the table's column that it adds to.

    ``rounded_by`` is the place in the row of a figure that, above zero, tells that a 0.00 here
    is only what rounding left.
    """

    use: Use
    curve: int = 0
    besides: Besides | None = None
    rounded_by: int = -1


_PLAIN_WHOLE, _PLAIN_NUMBER = "[0-9]{1,15}+", r"[0-9]{1,30}+(?:\.[0-9]{0,30}+)?+"
#: Nothing is tried twice (``+`` behind a count): what is no row by its first reading is none.
_PLAIN: dict[Use, str] = {
    "size": _PLAIN_WHOLE, "samples": _PLAIN_WHOLE, "group": _PLAIN_WHOLE,
    "check": "Pass", "unknown": r"[^ \t\n]++",
}  # fmt: skip
_ODD_NUMBER = r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,4})?|(?ai:nan|inf))"
#: More digits than 18 has no size; ``inf`` and ``-nan`` are printf's.
_ODD: dict[Use, str] = {
    "size": "[0-9]{1,18}", "samples": "[0-9]{1,15}", "group": "[0-9]{1,15}",
    "check": "Pass|Fail", "unknown": ".*",
}  # fmt: skip
#: The words on the data, as counts of wrong ones.
_CHECKS = {"Pass": 0.0, "Fail": 1.0}
#: Rows that are refused are looked at again, each by itself: then no more are found than these.
_MOST_AT_ONCE = 256


class Rows(msgspec.Struct, frozen=True, gc=False):
    """Rows on consecutive lines, ``number`` the first one's; each has ``width`` words."""

    number: int
    text: str
    words: Sequence[str]
    width: int

    @property
    def count(self) -> int:
        return len(self.words) // self.width

    def columns(self) -> list[list[Any]]:
        """The columns as numbers, of which whole ones are exact; what is none is not a number.

        JSON's reader is several times as fast as another. What JSON writes otherwise (``5.``,
        ``007``, ``inf``) is read word by word, and so is a word that JSON takes for two.
        """
        try:
            numbers = _NUMBERS.decode(f"[{','.join(self.words)}]")
        except msgspec.DecodeError:
            numbers = []
        if len(numbers) != len(self.words):
            numbers = [_number(word) for word in self.words]
        return [numbers[place :: self.width] for place in range(self.width)]

    @property
    def last(self) -> LogLine:
        text = self.text.rstrip("\n")
        return LogLine(self.number + self.count - 1, text[text.rfind("\n") + 1 :])

    def first(self, count: int) -> "Rows":
        """The first of the rows."""
        text = "".join(f"{line}\n" for line in self.text.split("\n")[:count])
        return Rows(self.number, text, self.words[: count * self.width], self.width)

    def singles(self) -> "list[Rows]":
        """Each row by itself."""
        width = self.width
        return [
            Rows(self.number + row, text, self.words[row * width : (row + 1) * width], width)
            for row, text in enumerate(self.text.split("\n")[: self.count])
        ]


_NUMBERS = msgspec.json.Decoder(list[int | float])


def _number(word: str) -> float:
    if word.isdecimal():
        return int(word)
    return _CHECKS[word] if word in _CHECKS else figure_of(word)


class RowForm:
    """What rows look like whose printed columns are ``cells``."""

    def __init__(self, cells: Sequence[ColumnUse]) -> None:
        self.cells = tuple(cells)
        plain = r"[ \t]++".join(_PLAIN.get(cell.use, _PLAIN_NUMBER) for cell in cells)
        self._plain = re.compile(rf"(?:[ \t]*+{plain}[ \t]*+\n){{1,{_MOST_AT_ONCE}}}+")
        self._odd = [re.compile(_ODD.get(cell.use, _ODD_NUMBER)).fullmatch for cell in cells]

    def plain(self, number: int, text: str, place: int) -> Rows | None:
        """The rows from ``place`` in a text of whole lines on; None if there is none."""
        match = self._plain.match(text, place)
        if match is None:
            return None
        return Rows(number, match[0], match[0].split(), len(self.cells))

    def odd(self, line: LogLine) -> Rows | None:
        """The row that a line is, be it odd or cut off behind a word; None if it is none."""
        words = line.text.split()
        fits = 0 < len(words) <= len(self._odd) and all(
            match(word) for match, word in zip(self._odd, words, strict=False)
        )
        return Rows(line.number, line.text, words, len(words)) if fits else None

    def add(self, table: SuiteTable, rows: Rows) -> None:
        add_columns(table, self.cells, rows.number, rows.text, rows.columns())


def add_columns(
    table: SuiteTable,
    cells: Sequence[ColumnUse],
    number: int,
    text: str,
    columns: Sequence[Sequence[Any]],
    message_bytes: int | None = None,
) -> None:
    """Add rows by their columns, of which there may be fewer than cells.

    ``number`` is the first line's and ``text`` all lines. The size may be known otherwise.
    """
    count = len(columns[0])
    sizes: Sequence[int] | None = None if message_bytes is None else [message_bytes] * count
    samples: Sequence[int] = [0] * count
    wrong: Sequence[float] = ()
    values: list[Printed] = [[None] * count] * len(table.columns)
    besides: list[dict[Besides, Printed]] = [{} for _ in table.columns]
    for cell, column in zip(cells, columns, strict=False):
        use = cell.use
        if use == "size":
            sizes = column
        elif use == "samples":
            samples = column
        elif use in ("check", "wrong"):
            wrong = column
        elif cell.besides is not None:
            besides[cell.curve][cell.besides] = _told(cell, column, columns)
        elif use in ("figure", "part"):
            values[cell.curve] = _told(cell, column, columns)
    table.add(TableRows(number, text, sizes, samples, values, besides, wrong))


def _told(cell: ColumnUse, column: Printed, columns: Sequence[Printed]) -> Printed:
    """A column; None where a 0.00 is no figure."""
    if cell.use == "sought":
        return [figure if figure and figure > 0 else None for figure in column]
    if 0.0 not in column:
        return column
    if cell.use == "part":
        return [figure or None for figure in column]
    if cell.rounded_by < 0:
        return column
    others = zip(column, columns[cell.rounded_by], strict=True)
    return [None if not figure and (other or 0) > 0 else figure for figure, other in others]


def add_row(
    table: SuiteTable,
    cells: Sequence[ColumnUse],
    line: LogLine,
    figures: Sequence[float],
    message_bytes: int | None = None,
) -> None:
    """Add one row by its figures."""
    columns = [[figure] for figure in figures]
    for cell, column in zip(cells, columns, strict=False):
        if cell.use == "samples":
            column[0] = known_count(column[0])
        elif cell.use == "size" and math.isfinite(column[0]):
            column[0] = int(column[0])
    add_columns(table, cells, line.number, line.text, columns, message_bytes)
