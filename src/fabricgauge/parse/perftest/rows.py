"""perftest's rows under one heading, and tables of figures of several of its programs.

``#bytes  ib_send_lat  ib_write_lat  ib_read_lat`` is such a table, as people publish them. No
program of perftest writes it, and it does not say which of a program's columns it shows.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import number_of
from fabricgauge.parse.perftest.programs import (
    PerftestLayout,
    PerftestProgram,
    curve_columns,
    form_of,
    named,
    towards,
)
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

#: Larger than any message; a longer run of digits is no size.
_WHOLE = re.compile(r"\d{1,15}")
_DIGITS = re.compile(r"[\d.\s]+")


class ResultRows:
    """The table under one ``#bytes #iterations`` heading."""

    def __init__(
        self, heading: SuiteHeading, program: PerftestProgram, layout: PerftestLayout, cycles: bool
    ) -> None:
        self._roles = layout.roles
        self._in_cycles = cycles and layout.kind == "lat"
        columns = curve_columns(layout, program)
        self._form = form_of(layout.roles, tuple(columns))
        self._table = SuiteTable(heading, tuple(columns.values()))
        self._last_bytes = 0

    @property
    def expected(self) -> str:
        return f"a row of {len(self._roles)} columns, or the ruler that ends the table"

    @property
    def rows(self) -> int:
        return self._table.rows

    def take(self, number: int, text: str, place: int) -> int:
        """Take the plain rows that begin at ``place``; where they end."""
        rows = None if self._in_cycles else self._form.plain(number, text, place)
        if rows is None:
            return place
        self._table.printed(self._form.cells, number, rows.text, rows.columns)
        self._last_bytes = rows.columns[0][-1]
        return place + len(rows.text)

    def row(self, line: LogLine) -> bool:
        """Take a line if it is a row."""
        count = len(self._roles)
        fields = line.text.split(None, count)
        if len(fields) < count:
            fields = self._apart(line.text) or fields
        if len(fields) < 2 or not _WHOLE.fullmatch(fields[0]):
            return False
        size, values = int(fields[0]), [number_of(field.rstrip(".")) for field in fields]
        if None in values and _DIGITS.fullmatch(line.text):
            text = f"columns that run into each other: {line.text.strip()}"
            self._table.failed(LogLine(line.number, text), size, "other")
            return True
        if None in values or len(values) > count:
            return False
        self._last_bytes = size
        if len(values) < count:
            self._table.failed(line, size, "cut off")
        elif self._in_cycles:
            self._table.failed(line, size, "other")
        else:
            columns: list[list[float | None]] = [[size], *([value] for value in values[1:])]
            self._table.printed(self._form.cells, line.number, line.text, columns)
        return True

    def _apart(self, text: str) -> list[str] | None:
        """A row whose figures run into each other, by their fixed digits behind the point.

        None where that has no answer, or two.
        """
        found = [match for row in _glued(self._roles) if (match := row.fullmatch(text))]
        return list(found[0].groups()) if len(found) == 1 else None

    def curves(self, proper_end: bool) -> Iterable[SuiteCurve]:
        sign = (
            f"no ruler after the last row ({self._last_bytes} bytes): cut off, or not the"
            " whole output"
        )
        sign = sign if self._table.rows else "the table ends before its first row"
        return self._table.curves("" if proper_end else sign)


@lru_cache(maxsize=64)
def _glued(roles: tuple[str, ...]) -> "tuple[re.Pattern[str], ...]":
    """Rows with two digits behind the point, or six for bandwidths; rates have six always.

    ``REPORT_FMT`` and ``REPORT_FMT_EXT`` in perftest_parameters.h. A whole number ends at a
    blank: what runs into it cannot be told from it.
    """
    found = []
    for digits in (2, 6) if "average" in roles else (2,):
        counts = {"average": digits, "peak": digits, "Port1": digits, "Port2": digits}
        counts |= {role: 6 for role in roles if role.startswith("rate")}
        cells = (
            r"(\d{1,15})\s+"
            if role in ("size", "sl", "iterations")
            else rf"(\d{{1,15}}\.\d{{{counts.get(role, 2)}}})\s*"
            for role in roles
        )
        found.append(re.compile(rf"\s*{''.join(cells)}\s*"))
    return tuple(found)


_HEADING = re.compile(r"\s*(?:#\s*)?bytes((?:\s+ib_\w+_(?:lat|bw))+)\s*", re.IGNORECASE)
_MOST_COLUMNS = 16


def programs_of(text: str) -> tuple[PerftestProgram, ...]:
    """The programs that a heading names, none if it is no such heading."""
    match = _HEADING.fullmatch(text)
    if match is None:
        return ()
    programs = [named(word) for word in match[1].split()[:_MOST_COLUMNS]]
    return tuple(program for program in programs if program is not None)


class SummaryRows:
    """The rows under such a heading: one table of one column for each program."""

    def __init__(self, line: LogLine, programs: Sequence[PerftestProgram]) -> None:
        self._tables = [_table(line, program) for program in programs]

    @property
    def expected(self) -> str:
        return f"a size and {len(self._tables)} figures"

    @property
    def rows(self) -> int:
        return self._tables[0].rows

    def row(self, line: LogLine) -> bool:
        """Take a line if it is a row; figures that it lacks cannot be told apart."""
        fields = line.text.split(None, len(self._tables) + 1)
        if len(fields) < 2 or not _WHOLE.fullmatch(fields[0]):
            return False
        values = [number_of(field.rstrip(".")) for field in fields[1:]]
        if None in values or len(values) > len(self._tables):
            return False
        for place, table in enumerate(self._tables):
            if len(values) < len(self._tables):
                table.failed(line, int(fields[0]), "cut off")
            else:
                table.row(line, int(fields[0]), [values[place]])
        return True

    def curves(self, proper_end: bool) -> Iterable[SuiteCurve]:
        """The curves; nothing ends such a table, so that no sign of a cut can be had."""
        del proper_end
        for table in self._tables:
            yield from table.curves()


def _table(line: LogLine, program: PerftestProgram) -> SuiteTable:
    title = " ".join(line.text.split())
    heading = SuiteHeading("perftest", "", program.name, title, line.number, transport="rdma")
    rule, pattern = "µs (perftest's; the table names no unit)", program.latency_pattern
    column = SuiteColumn("time", program.latency, "single", rule, 1e-6, pattern)
    if program.kind == "bw":
        rule = "MB = 2^20 bytes (perftest's default; the table names no unit)"
        what, pattern = program.bandwidth, program.bandwidth_pattern
        column = SuiteColumn("bandwidth", what, "single", rule, 2.0**20, pattern)
    return SuiteTable(heading, (towards(column, program),))
