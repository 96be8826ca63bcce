"""A table of several perftest programs' figures side by side, as people publish them.

``#bytes  ib_send_lat  ib_write_lat  ib_read_lat``: no program of perftest writes it, and it
does not say which of a program's columns it shows.

perftest's rows under one heading, and tables of figures of several of its programs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.perftest.columns import BESIDES, PerftestLayout, curve_columns
from fabricgauge.parse.perftest.programs import PerftestProgram, named
from fabricgauge.parse.rows import RowFinder, Rows
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

#: Larger than any message; a longer run of digits is no size.
_WHOLE = re.compile(r"\d{1,15}")
_MOST_SAMPLES = 1e15


def number(field: str) -> float | None:
    """A printed number, also ``inf`` and ``-nan``; a slide's ``3.45...`` is 3.45."""
    try:
        return float(field.rstrip("."))
    except ValueError:
        return None


def _numbers(fields: Sequence[str]) -> list[float] | None:
    """All fields as numbers, None if one is none; nearly all are plain numbers."""
    try:
        return list(map(float, fields))
    except ValueError:
        numbers = [number(field) for field in fields]
        known = [value for value in numbers if value is not None]
        return known if len(known) == len(numbers) else None


@lru_cache(maxsize=64)
def _finder_of(layout: PerftestLayout) -> RowFinder:
    whole = ("size", "iterations", "sl")
    return RowFinder(["whole" if role in whole else "number" for role in layout.roles])


class ResultRows:
    """The table under one ``#bytes #iterations`` heading."""

    def __init__(
        self, heading: SuiteHeading, program: PerftestProgram, layout: PerftestLayout, cycles: bool
    ) -> None:
        self._layout, self._program, self._cycles = layout, program, cycles
        self._columns = curve_columns(layout, program)
        self._table = SuiteTable(heading, tuple(self._columns.values()))
        self._last_bytes = 0

    @property
    def expected(self) -> str:
        return f"a row of {len(self._layout.roles)} columns, or the ruler that ends the table"

    @property
    def rows(self) -> int:
        return self._table.rows

    def take(self, number: int, text: str, place: int) -> int:
        """Take the plain rows that begin at ``place``; where they end."""
        rows = _finder_of(self._layout).at(number, text, place)
        if rows is None:
            return place
        if not self._fill(rows):
            for line, _ in rows.single():
                self.row(line)
        self._last_bytes = int(rows.column(0)[-1])
        return place + len(rows.text)

    def _fill(self, rows: Rows) -> bool:
        """Add rows column by column; false if a 0.00 or cycles have to be looked at."""
        if self._cycles and self._layout.kind == "lat":
            return False
        figures = {role: rows.figures(place) for place, role in enumerate(self._layout.roles)}
        roles = list(self._columns)
        first = {
            key: figures[role]
            for role, key in BESIDES.items()
            if role in figures and role != roles[0] and (role != "peak" or any(figures[role]))
        }
        if "peak" in first and 0.0 in first["peak"]:
            return False
        sizes, samples = (map(int, figures[role]) for role in ("size", "iterations"))
        values = [figures[role] for role in roles]
        return self._table.fill(rows.number, list(sizes), values, (first,), list(samples))

    def row(self, line: LogLine) -> bool:
        """Take a line if it is a row."""
        fields = line.text.split(None, len(self._layout.roles))
        if len(fields) < 2 or not _WHOLE.fullmatch(fields[0]):
            return False
        values = _numbers(fields)
        if values is None or len(values) > len(self._layout.roles):
            return False
        found = dict(zip(self._layout.roles, values, strict=False))
        self._last_bytes = int(fields[0])
        if len(values) < len(self._layout.roles):
            self._table.failed(line, self._last_bytes, "cut off")
        elif self._cycles and self._layout.kind == "lat":
            self._table.failed(line, self._last_bytes, "other")
        else:
            self._add(line, found)
        return True

    def _add(self, line: LogLine, found: Mapping[str, float]) -> None:
        values, besides = row_values(self._columns, found)
        self._table.row(line, self._last_bytes, values, besides, samples_of(found))

    def curves(self, proper_end: bool) -> Iterable[SuiteCurve]:
        for curve in self._table.curves("" if proper_end else self._sign()):
            yield towards(curve, self._program)

    def _sign(self) -> str:
        if not self._table.rows:
            return "the table ends before its first row"
        return (
            f"no ruler after the last row ({self._last_bytes} bytes): cut off, or not the"
            " whole output"
        )


def towards(curve: SuiteCurve, program: PerftestProgram) -> SuiteCurve:
    """The curve with its ends the way the program's bytes move."""
    ends = (1, 0) if program.from_server else (0, 1)
    return msgspec.structs.replace(curve, origin=ends[0], target=ends[1])


def samples_of(found: Mapping[str, float]) -> int:
    count = found["iterations"]
    return int(count) if 0 <= count < _MOST_SAMPLES else 0


def row_values(
    columns: Iterable[str], found: Mapping[str, float]
) -> tuple[list[float | None], list[dict[Besides, float]]]:
    """A row's figures by the roles that become curves, and what belongs to the first of them.

    There is no figure where 0.00 is only the rounding of a small bandwidth, as a message
    rate above 0 shows.
    """
    roles = list(columns)
    rounded = found.get("rate", 0.0) > 0
    values = [None if role == "average" and rounded and not found[role] else found[role]
              for role in roles]  # fmt: skip
    besides: list[dict[Besides, float]] = [{} for _ in roles]
    besides[0] = {
        key: found[role]
        for role, key in BESIDES.items()
        if role in found and role != roles[0] and (role != "peak" or found[role] > 0)
    }
    return values, besides


_HEADING = re.compile(r"\s*(?:#\s*)?bytes((?:\s+ib_\w+_(?:lat|bw))+)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\d{1,15}")
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
        self._programs = programs
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
        if len(fields) < 2 or not _SIZE.fullmatch(fields[0]):
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


def _table(line: LogLine, program: PerftestProgram) -> SuiteTable:
    title = " ".join(line.text.split())
    heading = SuiteHeading("perftest", "", program.name, title, line.number, transport="rdma")
    return SuiteTable(heading, (_column(program),))


def _column(program: PerftestProgram) -> SuiteColumn:
    if program.kind == "bw":
        rule = "MB = 2^20 bytes (perftest's default; the table names no unit)"
        pattern = program.bandwidth_pattern
        return SuiteColumn("bandwidth", program.bandwidth, "single", rule, 2.0**20, pattern)
    rule = "µs (perftest's; the table names no unit)"
    return SuiteColumn("time", program.latency, "single", rule, 1e-6, program.latency_pattern)
