"""The usual table: a message size and its figures, or figures alone where there is no size."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.osu.columns import Layout
from fabricgauge.parse.osu.ending import NO_SIZE, sign_of_end
from fabricgauge.parse.osu.numbers import decimals
from fabricgauge.parse.table import MOST_ROWS, Heading, Table

#: What stands in a column. More digits than 18 has no size; ``inf`` and ``-nan`` are printf's.
#: What nearly all figures look like stands first: an optional part takes much longer to match.
_INTEGER = r"\d{1,18}"
_NUMBER = r"(?:\d{1,30}\.\d{0,30}|-?(?:\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?|inf|nan))"
_CELLS = {"size": _INTEGER, "sent": _INTEGER, "samples": _INTEGER, "check": "(?:Pass|Fail)"}


class SizeTable:
    """Rows under one heading, kept as words until the table ends.

    A row may be shorter than the heading: some programs announce columns that they do not
    print. Only the last row can be cut off, in the middle of a number even.
    """

    def __init__(self, heading: Heading, layout: Layout, until: int) -> None:
        self._table = Table(heading, layout.columns)
        self._layout = layout
        self._until = until
        self._row = _row_of(layout)
        self._sized = layout.slots[0].use == "size"
        self._needed = 1 + max(
            i for i, slot in enumerate(layout.slots) if slot.use in ("curve", "part")
        )
        self._plain = all(slot.use == "curve" for slot in layout.slots[self._sized :])
        self._rows: list[tuple[Line, Sequence[str]]] = []
        self.last_bytes = NO_SIZE
        self._stopped: tuple[Line, int | None] | None = None

    def take(self, line: Line) -> bool:
        """Take a row; whether the line is one.

        A size that does not grow belongs to something else; without sizes, one row is all.
        """
        if self._row.fullmatch(line.text) is None or len(self._rows) >= MOST_ROWS:
            return False
        words = line.text.split()
        if not self._sized:
            if self._rows:
                return False
        elif (size := int(words[0])) > self.last_bytes:
            self.last_bytes = size
        else:
            return False
        self._rows.append((line, words))
        return True

    def corrupt(self, line: Line, message_bytes: int | None) -> None:
        """The suite says that it found wrong data, and stops."""
        self._stopped = (line, message_bytes)

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """The curves; ``ended`` says that the same program went on to its next table."""
        cut = None if ended or self._stopped else self._cut_row()
        for line, words in self._rows:
            self._add(line, words)
        if cut is not None:
            line, words = cut
            size = int(words[0]) if self._sized and len(words) > 1 else None
            self._table.failed(line, size, "cut off")
            return self._table.curves(f"line {line.number} ends in the middle of its row")
        if self._stopped is not None:
            return self._table.curves(self._stop(*self._stopped))
        sign = sign_of_end(self.last_bytes, len(self._rows), self._layout.benchmark, self._until)
        return self._table.curves("" if ended else sign)

    def _stop(self, line: Line, message_bytes: int | None) -> str:
        """The row itself says Fail at most; one failure per size is enough."""
        words = self._rows[-1][1] if self._rows else ()
        if "Fail" not in words or message_bytes not in (None, self.last_bytes):
            self._table.failed(line, message_bytes, "corrupt")
        return "the suite stopped because it found wrong data"

    def _cut_row(self) -> tuple[Line, Sequence[str]] | None:
        """Take off the last row if it has less than the first."""
        if not self._rows:
            return None
        first, last = self._rows[0][1], self._rows[-1][1]
        wanted = max(self._needed, len(first) if len(self._rows) > 1 else 0)
        same_column = first[min(len(first), len(last)) - 1]
        whole = len(last) >= wanted and decimals(last[-1]) >= decimals(same_column)
        return None if whole else self._rows.pop()

    def _add(self, line: Line, words: Sequence[str]) -> None:
        size: int | None = int(words[0]) if self._sized else None
        if len(words) < self._needed:
            self._table.failed(line, size, "other")
            return
        if self._plain:
            self._table.row(line, size, [float(word) for word in words[self._sized :]])
            return
        values: list[float | None] = []
        besides: list[dict[Besides, float]] = [{} for _ in self._layout.columns]
        samples = 0
        for slot, word in zip(self._layout.slots, words, strict=False):
            use = slot.use
            if use == "curve":
                values.append(float(word))
            elif use == "part":
                values.append(float(word) or None)
            elif slot.besides is not None:
                besides[slot.curve][slot.besides] = float(word)
            elif use == "sent":
                size = int(word)
            elif use == "samples":
                samples = int(word)
            elif word == "Fail":
                self._table.failed(line, size, "corrupt")
                return
        self._table.row(line, size, values, besides, samples)


@lru_cache(maxsize=64)
def _row_of(layout: Layout) -> "re.Pattern[str]":
    """A row: a whole one, or one of which columns are missing at the end."""
    cells = [_CELLS.get(slot.use, _NUMBER) for slot in layout.slots]
    row = ""
    for cell in reversed(cells[1:]):
        row = rf"(?:\s+{cell}{row})?"
    whole = r"\s+".join(cells)
    return re.compile(rf"\s*(?:{whole}|{cells[0]}{row})\s*")
