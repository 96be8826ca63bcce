"""A table of several perftest programs' figures side by side, as people publish them.

``#bytes  ib_send_lat  ib_write_lat  ib_read_lat``: no program of perftest writes it, and it
does not say which of a program's columns it shows.
"""

import re
from collections.abc import Iterable, Sequence

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.perftest.programs import Program, named
from fabricgauge.parse.perftest.rows import number, towards
from fabricgauge.parse.table import Column, Heading, Table

_HEADING = re.compile(r"\s*(?:#\s*)?bytes((?:\s+ib_\w+_(?:lat|bw))+)\s*", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,15}")
_MOST_COLUMNS = 16


def programs_of(text: str) -> tuple[Program, ...]:
    """The programs that a heading names, none if it is no such heading."""
    match = _HEADING.fullmatch(text)
    if match is None:
        return ()
    programs = [named(word) for word in match[1].split()[:_MOST_COLUMNS]]
    return tuple(program for program in programs if program is not None)


class SummaryRows:
    """The rows under such a heading: one table of one column for each program."""

    def __init__(self, line: Line, programs: Sequence[Program]) -> None:
        self._programs = programs
        self._tables = [_table(line, program) for program in programs]

    @property
    def expected(self) -> str:
        return f"a size and {len(self._tables)} figures"

    @property
    def rows(self) -> int:
        return self._tables[0].rows

    def row(self, line: Line) -> bool:
        """Take a line if it is a row; figures that it lacks cannot be told apart."""
        fields = line.text.split(None, len(self._tables) + 1)
        if len(fields) < 2 or not _WHOLE.fullmatch(fields[0]):
            return False
        values = [number(field) for field in fields[1:]]
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
        for table, program in zip(self._tables, self._programs, strict=True):
            for curve in table.curves():
                yield towards(curve, program)


def _table(line: Line, program: Program) -> Table:
    title = " ".join(line.text.split())
    heading = Heading("perftest", "", program.name, title, line.number, transport="rdma")
    return Table(heading, (_column(program),))


def _column(program: Program) -> Column:
    if program.kind == "bw":
        rule = "MB = 2^20 bytes (perftest's default; the table names no unit)"
        pattern = program.bandwidth_pattern
        return Column("bandwidth", program.bandwidth, "single", rule, 2.0**20, pattern)
    rule = "µs (perftest's; the table names no unit)"
    return Column("time", program.latency, "single", rule, 1e-6, program.latency_pattern)
