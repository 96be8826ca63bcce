"""A table of OSU: a message size and its figures, or figures alone.

The suite prints nothing at a table's end: only sizes, or a last line without its end, tell that
one was cut off.
"""

from collections.abc import Iterable, Sequence
from operator import lt

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.osu.layout import OsuLayout
from fabricgauge.parse.rows import Rows
from fabricgauge.parse.table import SuiteHeading, SuiteTable

#: Instead of a message size: there is none, or none yet.
NO_SIZE = -1


class OsuTable:
    """Rows under one heading. ``until`` is the last size of the same run's table before it.

    A row may be shorter than the heading: some programs announce columns that they do not
    print. Only a line without its end can be cut off, in the middle of a number even.
    """

    def __init__(self, heading: SuiteHeading, layout: OsuLayout, until: int) -> None:
        self._table = SuiteTable(heading, layout.columns)
        self._layout = layout
        self._until = until
        self._first: Sequence[str] = ()
        self._sign = ""
        self._wrong = False
        self.last_bytes = NO_SIZE

    def rows(self, number: int, text: str, place: int) -> int:
        """Take the plain rows that begin at ``place`` and belong to the table; where they end."""
        form = self._layout.form
        rows = form.plain(number, text, place)
        count = self._belonging(rows) if rows else 0
        if rows is not None and 0 < count < rows.count:
            rows = form.plain(number, "".join(rows.text.splitlines(keepends=True)[:count]))
        if rows is None or not count:
            return place
        self._table.printed(form.cells, number, rows.text, rows.columns)
        return place + len(rows.text)

    def take(self, line: LogLine) -> bool:
        """Take any row; whether the line is one. Of a row that lacks words its figures are kept."""
        row = self._layout.form.odd(line)
        if row is None or not self._belonging(row):
            return False
        words, columns = row.words, row.columns
        cut = not line.ended and self._is_cut(words)
        if cut:
            self._sign = f"line {line.number} ends in the middle of its row"
            columns = columns[:-1]
        if cut or len(words) < self._layout.needed:
            known = self._layout.is_sized and (line.ended or len(words) > 1)
            size = int(words[0]) if known else None
            self._table.failed(line, size, "cut off" if cut else "other")
        if columns:
            self._table.printed(self._layout.form.cells, line.number, line.text, columns)
        return True

    def corrupt(self, line: LogLine, message_bytes: int | None) -> None:
        """The suite says that it found wrong data, and stops.

        The row itself says Fail at most; one failure per size is enough.
        """
        if not self._wrong or message_bytes not in (None, self.last_bytes):
            self._table.failed(line, message_bytes, "corrupt")
        self._sign = "the suite stopped because it found wrong data"

    def close(self, ended: bool = False) -> Iterable[SuiteCurve]:
        """The curves; ``ended`` says that the same program went on to its next table."""
        return self._table.curves(self._sign or ("" if ended else self._sign_of_end()))

    def _belonging(self, rows: Rows) -> int:
        """How many are this table's: up to one that does not grow; without sizes the first one."""
        count = 0 if self._first else 1
        if self._layout.is_sized:
            sizes = [self.last_bytes, *rows.columns[0]]
            grows = [*map(lt, sizes, rows.columns[0])]
            count = grows.index(False) if False in grows else rows.count
            self.last_bytes = sizes[count]
        if count:
            width = len(rows.columns)
            self._first = self._first or rows.words[:width]
            self._wrong = "Fail" in rows.words[-width:]
        return count

    def _is_cut(self, words: Sequence[str]) -> bool:
        """Whether a row has less than the first one, in words or behind the point."""
        same_column = self._first[min(len(self._first), len(words)) - 1]
        whole = len(words) >= max(self._layout.needed, len(self._first))
        return not whole or _decimals(words[-1]) < _decimals(same_column)

    def _sign_of_end(self) -> str:
        """The sign that the table was cut off, empty if there is none.

        All tables of a run reach the last size of the first, which is compared with a default
        run's. A run with fewer sizes looks the same as one that was cut off: the sign says so.
        """
        if not self._first:
            return "no row follows the heading"
        last, until = self.last_bytes, self._until
        wanted = self._layout.benchmark.last_bytes if until == NO_SIZE else until
        if wanted is None or last == NO_SIZE or last >= wanted:
            return ""
        end = f"ends at {last} bytes, where"
        if until != NO_SIZE:
            return f"{end} the table before it goes on to {until}"
        default = f"the suite's default goes on to {wanted}"
        return f"{end} {default}: cut off, or run with a smaller maximum"


def _decimals(word: str) -> int:
    """How many digits stand behind the point; the suite prints as many in each row."""
    return len(word.partition(".")[2])
