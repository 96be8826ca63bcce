"""The tables that osu_mbw_mr prints with ``-V``: a row per message size, a column per window.

Numbers as C's printf writes them.

How to tell that a table was cut off: the suite prints nothing at a table's end.

The usual table: a message size and its figures, or figures alone where there is no size.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import number_of
from fabricgauge.parse.osu.layout import MEGABYTE, OsuLayout
from fabricgauge.parse.osu.titles import OsuBenchmark
from fabricgauge.parse.rows import RowFinder, Rows, Use, add_row, add_rows, finder_of
from fabricgauge.parse.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable

#: More digits than any size or count has; int() takes its time with very long ones.
MOST_DIGITS = 18


def is_number(word: str) -> bool:
    """Whether printf writes such a word, which may be ``inf`` and ``-nan``."""
    return number_of(word) is not None and "_" not in word


def decimals(word: str) -> int:
    """How many digits stand behind the point; the suite prints as many in each row."""
    return len(word.partition(".")[2])


#: Instead of a message size: there is none, or none yet.
NO_SIZE = -1


def sign_of_end(last_bytes: int, rows: int, benchmark: OsuBenchmark, until: int) -> str:
    """The sign that a table was cut off, empty if there is none.

    ``until`` is the last size of the same run's table before it, which all others reach; the
    first is compared with a default run. A run with fewer sizes looks the same as one that
    was cut off, which the sign says.
    """
    if not rows:
        return "no row follows the heading"
    wanted = benchmark.last_bytes if until == NO_SIZE else until
    if wanted is None or last_bytes == NO_SIZE or last_bytes >= wanted:
        return ""
    end = f"ends at {last_bytes} bytes, where"
    if until != NO_SIZE:
        return f"{end} the table before it goes on to {until}"
    return f"{end} the suite's default goes on to {wanted}: cut off, or run with a smaller maximum"


#: What stands in a column. More digits than 18 has no size; ``inf`` and ``-nan`` are printf's.
#: What nearly all figures look like stands first: an optional part takes much longer to match.
_INTEGER = r"\d{1,18}"
_NUMBER = r"(?:\d{1,30}\.\d{0,30}|-?(?:\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?|inf|nan))"
_CELLS: dict[Use, str] = {"size": _INTEGER, "samples": _INTEGER, "check": "(?:Pass|Fail)"}


class OsuTable:
    """Rows under one heading, kept as words until the table ends.

    A row may be shorter than the heading: some programs announce columns that they do not
    print. Only the last row can be cut off, in the middle of a number even.
    """

    def __init__(self, heading: SuiteHeading, layout: OsuLayout, until: int) -> None:
        self._table = SuiteTable(heading, layout.columns)
        self._layout = layout
        self._until = until
        self._row, self._finder, self._needed = _forms_of(layout)
        self._sized = layout.cells[0].use == "size"
        self._rows: list[Rows] = []
        self._count = 0
        self.last_bytes = NO_SIZE
        self._stopped: tuple[LogLine, int | None] | None = None

    def rows(self, number: int, text: str, place: int) -> int:
        """Take the plain rows that begin at ``place``, if all of them belong to the table."""
        rows = self._finder.at(number, text, place)
        return place + len(rows.text) if rows is not None and self._belong(rows) else place

    def take(self, line: LogLine) -> bool:
        """Take any row; whether the line is one."""
        if self._row.fullmatch(line.text) is None:
            return False
        words = line.text.split()
        return self._belong(Rows(line.number, line.text, words, len(words)))

    def _belong(self, rows: Rows) -> bool:
        """Keep rows of this table. A size that does not grow is none; without sizes one is all."""
        if self._count + rows.count > (MOST_ROWS if self._sized else 1):
            return False
        if self._sized:
            sizes = [self.last_bytes, *rows.counts(0)]
            if sorted(set(sizes)) != sizes:
                return False
            self.last_bytes = sizes[-1]
        self._rows.append(rows)
        self._count += rows.count
        return True

    def corrupt(self, line: LogLine, message_bytes: int | None) -> None:
        """The suite says that it found wrong data, and stops."""
        self._stopped = (line, message_bytes)

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """The curves; ``ended`` says that the same program went on to its next table."""
        cut = None if ended or self._stopped else self._cut_row()
        for rows in self._rows:
            if not add_rows(self._table, self._layout.cells, rows):
                for line, words in rows.single():
                    self._add(line, words)
        if cut is not None:
            line, words = cut
            size = int(words[0]) if self._sized and len(words) > 1 else None
            self._table.failed(line, size, "cut off")
            return self._table.curves(f"line {line.number} ends in the middle of its row")
        if self._stopped is not None:
            return self._table.curves(self._stop(*self._stopped))
        sign = sign_of_end(self.last_bytes, self._count, self._layout.benchmark, self._until)
        return self._table.curves("" if ended else sign)

    def _stop(self, line: LogLine, message_bytes: int | None) -> str:
        """The row itself says Fail at most; one failure per size is enough."""
        words = self._rows[-1].words[-self._rows[-1].width :] if self._rows else ()
        if "Fail" not in words or message_bytes not in (None, self.last_bytes):
            self._table.failed(line, message_bytes, "corrupt")
        return "the suite stopped because it found wrong data"

    def _cut_row(self) -> tuple[LogLine, Sequence[str]] | None:
        """Take off the last row if it has less than the first."""
        if not self._rows:
            return None
        before, rows = self._rows[0], self._rows[-1]
        first, last = before.words[: before.width], rows.words[-rows.width :]
        wanted = max(self._needed, len(first) if self._count > 1 else 0)
        same_column = first[min(len(first), len(last)) - 1]
        whole = len(last) >= wanted and decimals(last[-1]) >= decimals(same_column)
        if whole:
            return None
        self._count -= 1
        self._rows[-1] = msgspec.structs.replace(rows, words=rows.words[: -rows.width])
        return rows.single()[-1]

    def _add(self, line: LogLine, words: Sequence[str]) -> None:
        size = int(words[0]) if self._sized else None
        if len(words) < self._needed:
            self._table.failed(line, size, "other")
        elif "Fail" in words:
            self._table.failed(line, size, "corrupt")
        else:
            figures = [0.0 if word == "Pass" else float(word) for word in words]
            add_row(self._table, self._layout.cells, line, figures)


@lru_cache(maxsize=64)
def _forms_of(layout: OsuLayout) -> tuple["re.Pattern[str]", RowFinder, int]:
    """A row, be it one of which columns are missing at the end; whole rows; words that it needs."""
    figures = (at for at, cell in enumerate(layout.cells) if cell.use in ("figure", "part"))
    cells = [_CELLS.get(cell.use, _NUMBER) for cell in layout.cells]
    row = ""
    for cell in reversed(cells[1:]):
        row = rf"(?:\s+{cell}{row})?"
    whole = r"\s+".join(cells)
    either = re.compile(rf"\s*(?:{whole}|{cells[0]}{row})\s*")
    return either, finder_of(layout.cells), 1 + max(figures)


#: WINDOW_SIZES of osu_mbw_mr has 8 of them.
MOST_WINDOWS = 64


class WindowMatrix:
    """One matrix: a curve per window. ``rates`` is the one of messages per second."""

    def __init__(
        self,
        heading: SuiteHeading,
        benchmark: OsuBenchmark,
        windows: list[str],
        rates: bool,
        until: int,
    ) -> None:
        what = benchmark.what
        column = SuiteColumn(
            "bandwidth", what, "mean", MEGABYTE, 1e6, benchmark.pattern, benchmark.directions
        )
        if rates:
            column = SuiteColumn("message_rate", what, "mean", "messages/s", 1.0)
        self._tables = [
            SuiteTable(
                msgspec.structs.replace(heading, settings={**heading.settings, "window": window}),
                (column,),
            )
            for window in windows[:MOST_WINDOWS]
        ]
        self._benchmark = benchmark
        self._until = until
        self._waiting: tuple[LogLine, list[str]] | None = None
        self.last_bytes = NO_SIZE

    def take(self, line: LogLine) -> bool:
        """Take a row; whether the line is one."""
        words = line.text.split()
        if len(words) > 1 + len(self._tables) or not all(map(is_number, words)):
            return False
        size = words[0] if words else ""
        if not size.isdecimal() or len(size) > MOST_DIGITS or int(size) <= self.last_bytes:
            return False
        self._settle(last=False)
        self._waiting, self.last_bytes = (line, words), int(words[0])
        return True

    def corrupt(self, line: LogLine, message_bytes: int | None) -> None:
        """The suite says that it found wrong data."""
        for table in self._tables:
            table.failed(line, message_bytes, "corrupt")

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """The curves of all windows."""
        broken = self._settle(last=True)
        for table in self._tables:
            sign = broken or sign_of_end(self.last_bytes, table.rows, self._benchmark, self._until)
            yield from table.curves("" if ended else sign)

    def _settle(self, last: bool) -> str:
        """Add the row that waits; a row is printed value by value, and can be cut off."""
        if self._waiting is None:
            return ""
        (line, words), self._waiting = self._waiting, None
        size, values = int(words[0]), words[1:]
        short = len(values) < len(self._tables)
        if values and (short or (last and decimals(values[-1]) < decimals(values[0]))):
            values.pop()
        for table, word in zip(self._tables, values, strict=False):
            table.row(line, size, (float(word),))
        missing = self._tables[len(values) :]
        for table in missing:
            table.failed(line, size, "cut off")
        return f"line {line.number} ends in the middle of its row" if missing else ""
