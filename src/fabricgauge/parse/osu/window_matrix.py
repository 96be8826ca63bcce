"""The tables that osu_mbw_mr prints with ``-V``: a row per message size, a column per window."""

from collections.abc import Iterable

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.osu.columns import MEGABYTE
from fabricgauge.parse.osu.ending import NO_SIZE, sign_of_end
from fabricgauge.parse.osu.numbers import MOST_DIGITS, decimals, is_number
from fabricgauge.parse.osu.titles import Benchmark
from fabricgauge.parse.table import Column, Heading, Table

#: WINDOW_SIZES of osu_mbw_mr has 8 of them.
MOST_WINDOWS = 64


class WindowMatrix:
    """One matrix: a curve per window. ``rates`` is the one of messages per second."""

    def __init__(
        self, heading: Heading, benchmark: Benchmark, windows: list[str], rates: bool, until: int
    ) -> None:
        column = _rate(benchmark) if rates else _bandwidth(benchmark)
        self._tables = [
            Table(_with_window(heading, window), (column,)) for window in windows[:MOST_WINDOWS]
        ]
        self._benchmark = benchmark
        self._until = until
        self._waiting: tuple[Line, list[str]] | None = None
        self.last_bytes = NO_SIZE

    def take(self, line: Line) -> bool:
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

    def corrupt(self, line: Line, message_bytes: int | None) -> None:
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


def _with_window(heading: Heading, window: str) -> Heading:
    return msgspec.structs.replace(heading, settings={**heading.settings, "window": window})


def _bandwidth(benchmark: Benchmark) -> Column:
    return Column(
        "bandwidth", benchmark.what, "mean", MEGABYTE, 1e6, benchmark.pattern, benchmark.directions
    )


def _rate(benchmark: Benchmark) -> Column:
    return Column("message_rate", benchmark.what, "mean", "messages/s", 1.0)
