"""Find and split the rows of a table whose columns are declared, many at a time.

A plain row is one in which each cell is as its column declares, with blanks between: all plain rows
that follow each other are taken at once. Any other row (``nan``, cells that are missing at its end)
is taken by itself. Either way the declaration gives each cell's column.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import ONCE, figure_of
from fabricgauge.logs.readers.table import ColumnUse, Use

#: Nothing is tried twice (``+`` behind a count): a line is a row by its first reading or not at
#: all. Python 3.10 lacks that sign; its forms can be read in one way only, and are slower.
if ONCE:
    _PLAIN_NUMBER, _GAP = r"[0-9]{1,30}+\.?+[0-9]{0,30}+", r"[ \t] *+\t*+ *+"
else:
    _PLAIN_NUMBER, _GAP = r"[0-9]{1,30}(?:\.[0-9]{0,30})?", r"[ \t]+"
_PLAIN_WHOLE = f"[0-9]{{1,15}}{ONCE}"
_PLAIN: dict[Use, str] = {
    "size": _PLAIN_WHOLE, "samples": _PLAIN_WHOLE, "group": _PLAIN_WHOLE,
    "check": "Pass", "unknown": rf"[^ \t\n]+{ONCE}",
}  # fmt: skip
_ODD_NUMBER = r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,4})?|(?ai:nan|inf))"
#: No size has more than 18 digits; ``inf`` and ``-nan`` are printf's.
_ODD: dict[Use, str] = {
    "size": "[0-9]{1,18}", "samples": "[0-9]{1,15}", "group": "[0-9]{1,15}",
    "check": "Pass|Fail", "unknown": ".*",
}  # fmt: skip
#: Refused rows are read again one by one, so no more than these are taken at once.
_MOST_AT_ONCE = 256
_NUMBERS = msgspec.json.Decoder(list[int | float])


class Rows(msgspec.Struct, frozen=True, gc=False):
    """Rows on consecutive lines, ``number`` the first one's, in their ``words``.

    ``columns`` are the words as numbers; whole numbers are exact. Columns with any content keep
    their words.
    """

    number: int
    text: str
    words: Sequence[str]
    columns: Sequence[Sequence[Any]]

    @property
    def count(self) -> int:
        return len(self.columns[0])

    @property
    def last(self) -> LogLine:
        text = self.text.rstrip("\n")
        return LogLine(self.number + self.count - 1, text[text.rfind("\n") + 1 :])

    def singles(self) -> "list[Rows]":
        width = len(self.columns)
        return [
            Rows(
                self.number + row, text, self.words[row * width : (row + 1) * width],
                [column[row : row + 1] for column in self.columns],
            )
            for row, text in enumerate(self.text.split("\n")[: self.count])
        ]  # fmt: skip


def _numbers(words: Sequence[str]) -> list[int | float]:
    """Parse numbers with JSON's reader, which is several times as fast as another.

    Words that JSON writes differently (``5.``, ``007``, ``inf``) are read one by one, and so is a
    word that JSON takes for two.
    """
    try:
        numbers = _NUMBERS.decode(f"[{','.join(words)}]")
    except msgspec.DecodeError:
        numbers = []
    if len(numbers) == len(words):
        return numbers
    return [int(word) if word.isdecimal() else figure_of(word) for word in words]


class RowForm:
    """The form of rows whose printed columns are ``cells``."""

    def __init__(self, cells: Sequence[ColumnUse]) -> None:
        self.cells = tuple(cells)
        self._words = {at for at, cell in enumerate(cells) if cell.use in ("check", "unknown")}
        # A search for one sign is faster than for one of several; perftest has tabs among the
        # blanks.
        plain = _GAP.join(_PLAIN.get(cell.use, _PLAIN_NUMBER) for cell in cells)
        row = rf" *{ONCE}{plain}[ \t]*{ONCE}\n"
        self._plain = re.compile(rf"(?:{row}){{1,{_MOST_AT_ONCE}}}{ONCE}")
        self._odd = [re.compile(_ODD.get(cell.use, _ODD_NUMBER)).fullmatch for cell in cells]

    def plain(self, number: int, text: str, place: int = 0) -> Rows | None:
        """Return the rows from ``place`` in a text of whole lines on; None if there is none."""
        match = self._plain.match(text, place)
        if match is None:
            return None
        return self._rows(number, match[0], match[0].split(), len(self.cells))

    def odd(self, line: LogLine) -> Rows | None:
        """Return the row in a line, also one that is odd or cut off behind a word; else None."""
        words = line.text.split()
        fits = 0 < len(words) <= len(self._odd) and all(
            match(word) for match, word in zip(self._odd, words, strict=False)
        )
        return self._rows(line.number, line.text, words, len(words)) if fits else None

    def _rows(self, number: int, text: str, words: Sequence[str], width: int) -> Rows:
        if not self._words:
            numbers = _numbers(words)
            return Rows(number, text, words, [numbers[at::width] for at in range(width)])
        columns: list[Sequence[Any]] = [words[at::width] for at in range(width)]
        columns = [
            column if at in self._words else _numbers(column) for at, column in enumerate(columns)
        ]
        return Rows(number, text, words, columns)
