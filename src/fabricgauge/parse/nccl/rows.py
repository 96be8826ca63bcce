"""Rows of nccl-tests become tables: out-of-place and in-place apart, one per datatype and so on."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from fabricgauge.model.suite import Besides, SuiteCurve, Trouble
from fabricgauge.parse.interface import Line
from fabricgauge.parse.nccl.facts import Facts
from fabricgauge.parse.table import Column, Table

_GB = "GB = 10^9 bytes (nccl-tests)"
#: Figures are printed with two decimals: what is smaller than this reads 0.00.
_PRINTED_LEAST = 0.005


class Cells(NamedTuple):
    """One placement's figures in a row: µs and GB/s as printed.

    ``wrong`` is the count of wrong elements, None where it was not checked; ``besides`` are
    in µs.
    """

    time_us: float
    algorithm_gb_s: float
    bus_gb_s: float
    wrong: float | None
    besides: Mapping[Besides, float] = {}


class Row(NamedTuple):
    """One message size: settings that tell tables apart, and cells by placement."""

    message_bytes: int
    settings: dict[str, str]
    cells: dict[str, Cells | None]


class Tables:
    """The tables of one combination of settings at a time; a new combination closes them."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._settings: dict[str, str] = {}
        self._tables: dict[str, Table] = {}
        self._last_bytes = -1
        self._cycle = 1
        self.any = False

    def add(self, line: Line, row: Row, milliseconds: bool = False) -> Iterator[SuiteCurve]:
        """Take a row; the curves of the combination before it, if this begins another."""
        same = row.settings == self._settings
        if self._tables and not (same and row.message_bytes > self._last_bytes):
            yield from self.close("")
            self._cycle = self._cycle + 1 if same else 1
        self._settings, self._last_bytes, self.any = row.settings, row.message_bytes, True
        self._facts.first_line = self._facts.first_line or line.number
        for placement, cells in row.cells.items():
            table = self._table(placement, milliseconds)
            if cells is None:
                table.failed(line, row.message_bytes, "cut off")
            else:
                self._fill(table, line, row.message_bytes, cells)

    def failed(self, line: Line, trouble: Trouble) -> None:
        """The program itself says that the test went wrong, at a size that it does not name."""
        self._facts.first_line = self._facts.first_line or line.number
        if not self._tables:
            self._table("out-of-place", False)
        for table in self._tables.values():
            table.failed(line, None, trouble)

    def close(self, cut_off: str, more: Mapping[str, str] = {}) -> Iterator[SuiteCurve]:
        """All curves of the open tables; ``more`` are settings that came after the rows."""
        for table in self._tables.values():
            settings = {**table.heading.settings, **more}
            table.heading = msgspec.structs.replace(table.heading, settings=settings)
            yield from table.curves(cut_off)
        self._tables = {}

    def open_empty(self) -> None:
        """A table without rows, so that an output which ended before its first is told of."""
        if not self._tables and not self.any:
            self._table("out-of-place", False)

    @property
    def last_bytes(self) -> int:
        return self._last_bytes

    def _table(self, placement: str, milliseconds: bool) -> Table:
        if placement not in self._tables:
            more = {**self._settings, "placement": placement}
            if self._cycle > 1:
                more["cycle"] = str(self._cycle)
            heading = self._facts.heading(more)
            columns = _columns(self._facts.program, milliseconds)
            self._tables[placement] = Table(heading, columns)
        return self._tables[placement]

    def _fill(self, table: Table, line: Line, message_bytes: int, cells: Cells) -> None:
        if cells.wrong is not None and cells.wrong != 0:
            table.failed(line, message_bytes, "corrupt")
            return
        values = _values(message_bytes, cells, table.columns[0].factor, self._facts.ranks)
        table.row(line, message_bytes, values, (cells.besides,), self._facts.iterations)


def _columns(program: str, milliseconds: bool) -> Sequence[Column]:
    name = program.removesuffix("_perf") or "collective"
    unit, factor = ("ms", 1e-3) if milliseconds else ("µs", 1e-6)
    algorithm = f"{name}: algorithm bandwidth (size / time)"
    bus = f"{name}: bus bandwidth (algorithm bandwidth times the collective's factor)"
    return (
        Column("time", name, "mean", unit, factor),
        Column("bandwidth", algorithm, "mean", _GB, 1e9),
        Column("bus_bandwidth", bus, "mean", _GB, 1e9),
    )


def _values(
    message_bytes: int, cells: Cells, factor: float, ranks: int
) -> tuple[float, float | None, float | None]:
    """The three figures; None for 0.00 that only says that two decimals were too few."""
    time_s = cells.time_us * factor
    possible = message_bytes / 1e9 / time_s if math.isfinite(time_s) and time_s > 0 else 0.0
    small = possible < 2 * _PRINTED_LEAST
    algorithm = None if cells.algorithm_gb_s == 0 and small else cells.algorithm_gb_s
    # One rank sends nothing over any bus; with two or more no factor is below one half.
    idle = ranks < 2 or cells.algorithm_gb_s < 4 * _PRINTED_LEAST
    return cells.time_us, algorithm, None if cells.bus_gb_s == 0 and idle else cells.bus_gb_s
