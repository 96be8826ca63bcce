"""Read perftest's rows under one heading, and tables of several of its programs.

``#bytes  ib_send_lat  ib_write_lat  ib_read_lat`` is such a table, as people publish them. No
program of perftest writes it, and it does not state which of a program's columns it shows.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.perftest.programs import (
    PerftestLayout,
    PerftestProgram,
    curve_columns,
    form_of,
    named,
    towards,
)
from fabricgauge.logs.readers.rows import RowForm, Rows
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import SuiteCurve

#: A word with two points comes from two columns.
_GLUED = re.compile(r"\s*(\d{1,15})\s(?=.*\.\d*\.)[\d.\s]+")


class ResultRows:
    """Rows under one heading: of one table, or one column for each of several programs.

    ``roles`` are those of perftest's own columns; a table without roles has no end line, so a cut
    leaves no sign.
    """

    def __init__(
        self,
        form: RowForm,
        tables: Sequence[tuple[SuiteTable, Sequence[ColumnUse]]],
        roles: tuple[str, ...] = (),
        in_cycles: bool = False,
    ) -> None:
        self.roles = roles
        self._form, self._tables, self._in_cycles = form, tables, in_cycles
        self._last_bytes = 0
        self._sizes: set[int] = set()

    @property
    def expected(self) -> str:
        if not self.roles:
            return f"a size and {len(self._tables)} figures"
        return f"a row of {len(self.roles)} columns, or the ruler that ends the table"

    @property
    def rows(self) -> int:
        return self._tables[0][0].rows

    def take(self, number: int, text: str, place: int) -> int:
        rows = None if self._in_cycles else self._form.plain(number, text, place)
        if rows is None:
            return place
        self._add(rows)
        return place + len(rows.text)

    def row(self, line: LogLine) -> bool:
        """Take a line if it is a row; a short row's figures cannot be assigned."""
        words = [word.rstrip(".") for word in line.text.split()]
        if len(words) < len(self.roles):
            # Figures run into each other; their digits behind the point divide them in one way.
            matches = [match for form in _glued(self.roles) if (match := form.fullmatch(line.text))]
            words = list(matches[0].groups()) if len(matches) == 1 else words
        row = self._form.odd(LogLine(line.number, " ".join(words)))
        glued = _GLUED.fullmatch(line.text) if self.roles and row is None else None
        if glued:
            text = f"columns that run into each other: {line.text.strip()}"
            self._tables[0][0].failed(LogLine(line.number, text), int(glued[1]), "other")
        if row is None or len(words) < 2:
            return glued is not None
        is_cut = len(words) < len(self._form.cells)
        if is_cut or self._in_cycles:
            self._last_bytes = row.columns[0][0]
            for table, _ in self._tables:
                table.failed(line, self._last_bytes, "cut off" if is_cut else "other")
        else:
            self._add(Rows(line.number, line.text, words, row.columns))
        return True

    def _add(self, rows: Rows) -> None:
        for table, cells in self._tables:
            table.printed(cells, rows.number, rows.text, rows.columns)
        self._last_bytes = rows.columns[0][-1]
        self._sizes.update(rows.columns[0])

    def curves(self, proper_end: bool) -> Iterable[SuiteCurve]:
        sign = (
            f"no ruler after the last row ({self._last_bytes} bytes): cut off, or not the"
            " whole output"
        )
        sign = sign if self.rows else "the table ends before its first row"
        # With --run_infinitely a row of one size comes each period, and nothing ends the table.
        proper_end = proper_end or (self.rows > 1 and len(self._sizes) == 1)
        for table, _ in self._tables:
            yield from table.curves("" if proper_end or not self.roles else sign)


def results(
    heading: SuiteHeading, program: PerftestProgram, layout: PerftestLayout, in_cycles: bool
) -> ResultRows:
    """Return the rows under a program's own heading."""
    columns = curve_columns(layout, program)
    form = form_of(layout.roles, tuple(columns))
    table = SuiteTable(heading, tuple(columns.values()))
    return ResultRows(form, [(table, form.cells)], layout.roles, in_cycles)


@lru_cache(maxsize=64)
def _glued(roles: tuple[str, ...]) -> "tuple[re.Pattern[str], ...]":
    """Return the forms of rows: two digits behind the point, six for bandwidths and rates.

    Bandwidths may have two or six, rates always have six (``REPORT_FMT`` and ``REPORT_FMT_EXT`` in
    perftest_parameters.h). A whole number ends at a blank, so a number without it cannot be split.
    """
    forms = []
    for digits in (2, 6) if "average" in roles else (2,):
        counts = {"average": digits, "peak": digits, "Port1": digits, "Port2": digits}
        counts |= {role: 6 for role in roles if role.startswith("rate")}
        cells = (
            r"(\d{1,15})\s+"
            if role in ("size", "sl", "iterations")
            else rf"(\d{{1,15}}\.\d{{{counts.get(role, 2)}}})\s*"
            for role in roles
        )
        forms.append(re.compile(rf"\s*{''.join(cells)}\s*"))
    return tuple(forms)


_HEADING = re.compile(r"\s*(?:#\s*)?bytes((?:\s+ib_\w+_(?:lat|bw))+)\s*", re.IGNORECASE)
_MOST_COLUMNS = 16


def programs_of(text: str) -> tuple[PerftestProgram, ...]:
    match = _HEADING.fullmatch(text)
    if match is None:
        return ()
    programs = [named(word) for word in match[1].split()[:_MOST_COLUMNS]]
    return tuple(program for program in programs if program is not None)


def summary(line: LogLine, programs: Sequence[PerftestProgram]) -> ResultRows:
    skipped, figure = ColumnUse("skipped"), ColumnUse("figure")
    title = " ".join(line.text.split())
    tables: list[tuple[SuiteTable, Sequence[ColumnUse]]] = []
    for place, program in enumerate(programs):
        heading = SuiteHeading("perftest", "", program.name, title, line.number, transport="rdma")
        rule, pattern = "µs (perftest's; the table names no unit)", program.latency_pattern
        column = SuiteColumn("time", program.latency, "single", rule, 1e-6, pattern)
        if program.kind == "bw":
            rule = "MB = 2^20 bytes (perftest's default; the table names no unit)"
            meaning, pattern = program.bandwidth, program.bandwidth_pattern
            column = SuiteColumn("bandwidth", meaning, "single", rule, 2.0**20, pattern)
        table = SuiteTable(heading, (towards(column, program),))
        tables.append((table, [ColumnUse("size"), *[skipped] * place, figure]))
    return ResultRows(RowForm([ColumnUse("size"), *[figure] * len(programs)]), tables)
