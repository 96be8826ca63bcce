"""The usual table: a message size and its figures, or figures alone where there is no size."""

from collections.abc import Iterable, Sequence

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.osu.columns import Layout, Slot
from fabricgauge.parse.osu.ending import sign_of_end
from fabricgauge.parse.osu.numbers import MOST_DIGITS, is_number
from fabricgauge.parse.table import Heading, Table

_CHECKED = ("Pass", "Fail")
_INTEGERS = ("size", "sent", "samples")


class SizeTable:
    """Rows under one heading.

    The latest row waits until the next line shows that it is whole: a file that is cut off
    can end in the middle of a number.
    """

    def __init__(self, heading: Heading, layout: Layout) -> None:
        self._table = Table(heading, layout.columns)
        self._layout = layout
        self._sized = layout.slots[0].use == "size"
        self._needed = 1 + max(
            i for i, slot in enumerate(layout.slots) if slot.use in ("curve", "part")
        )
        self._waiting: tuple[Line, list[str]] | None = None
        self._words = 0
        self._decimals = 0
        self._last_bytes = -1
        self._stopped = ""
        self._corrupt_bytes: int | None = None

    def take(self, line: Line, words: list[str]) -> bool:
        """Take a row; whether the line is one."""
        if not _fit(words, self._layout.slots) or not self._is_next(words[0]):
            return False
        if self._waiting is not None:
            self._add(*self._waiting)
        self._waiting = (line, words)
        return True

    def corrupt(self, line: Line, message_bytes: int | None) -> None:
        """The suite says that it found wrong data, and stops."""
        self._settle(whole=True)
        if message_bytes is None or message_bytes != self._corrupt_bytes:
            self._table.failed(line, message_bytes, "corrupt")
        self._stopped = "the suite stopped because it found wrong data"

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """The curves; ``ended`` says that the same program went on to its next table."""
        sign = self._settle(whole=ended) or self._stopped
        if not (sign or ended):
            size = self._last_bytes if self._sized else None
            sign = sign_of_end(size, self._table.rows, self._layout.benchmark)
        return self._table.curves(sign)

    def _is_next(self, word: str) -> bool:
        """A smaller size belongs to something else; without sizes, one row is all."""
        if not self._sized:
            return self._waiting is None
        if int(word) <= self._last_bytes:
            return False
        self._last_bytes = int(word)
        return True

    def _settle(self, whole: bool) -> str:
        """Add the row that waits; what is wrong if it is cut off."""
        if self._waiting is None:
            return ""
        (line, words), self._waiting = self._waiting, None
        if whole or not self._is_short(words):
            self._add(line, words)
            return ""
        size = int(words[0]) if self._sized and len(words) > 1 else None
        self._table.failed(line, size, "cut off")
        return f"line {line.number} ends in the middle of its row"

    def _is_short(self, words: list[str]) -> bool:
        wanted = self._words or self._needed
        return len(words) < wanted or _decimals(words[-1]) < self._decimals

    def _add(self, line: Line, words: list[str]) -> None:
        if not self._words:
            self._words, self._decimals = len(words), _decimals(words[-1])
        if len(words) < self._needed:
            self._table.failed(line, int(words[0]) if self._sized else None, "other")
            return
        size: int | None = int(words[0]) if self._sized else None
        values: list[float | None] = []
        besides: list[dict[Besides, float]] = [{} for _ in self._layout.columns]
        samples = 0
        for slot, word in zip(self._layout.slots, words, strict=False):
            if slot.use == "curve":
                values.append(float(word))
            elif slot.use == "part":
                values.append(float(word) or None)
            elif slot.use == "sent":
                size = int(word)
            elif slot.besides is not None:
                besides[slot.curve][slot.besides] = float(word)
            elif slot.use == "samples":
                samples = int(word)
            elif word == "Fail":
                self._table.failed(line, size, "corrupt")
                self._corrupt_bytes = size
                return
        self._table.row(line, size, values, besides, samples)


def _fit(words: Sequence[str], slots: Sequence[Slot]) -> bool:
    """Whether each word can stand in its column; a row may be shorter than the heading."""
    if len(words) > len(slots):
        return False
    for word, slot in zip(words, slots, strict=False):
        if slot.use in _INTEGERS:
            if not (word.isdecimal() and len(word) <= MOST_DIGITS):
                return False
        elif slot.use == "check":
            if word not in _CHECKED:
                return False
        elif not is_number(word):
            return False
    return True


def _decimals(word: str) -> int:
    return len(word.partition(".")[2])
