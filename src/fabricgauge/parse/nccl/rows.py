"""The columns of one table of nccl-tests, as its own heading names them.

Generations (src/all_reduce.cu and src/common.cu of the versions named):

- v1.0.0: ``bytes N type op | time algbw busbw res``, time in ms
- v2.0.0-v2.11: ``size count type redop | time algbw busbw error``; without redop where there
  is none, with root for broadcast and reduce
- v2.13 on: ``size count type redop root | time algbw busbw #wrong``
- v2.19: with -I besides ``i_min i_max i_p99 i_cv%``; -S adds a timestamp

The part after ``|`` stands twice, out-of-place and in-place; rccl-tests can print one.

Rows of nccl-tests become tables: out-of-place and in-place apart, one per datatype and so on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from fabricgauge.model.suite import Besides, SuiteCurve, Trouble
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import number_of
from fabricgauge.parse.nccl.facts import NcclFacts
from fabricgauge.parse.table import SuiteColumn, SuiteTable

_GB = "GB = 10^9 bytes (nccl-tests)"
#: Figures are printed with two decimals: what is smaller than this reads 0.00.
_PRINTED_LEAST = 0.005


class NcclFigures(NamedTuple):
    """One placement's figures in a row: µs and GB/s as printed.

    ``wrong`` is the count of wrong elements, None where it was not checked; ``besides`` are
    in µs.
    """

    time_us: float
    algorithm_gb_s: float
    bus_gb_s: float
    wrong: float | None
    besides: Mapping[Besides, float] = {}


class NcclRow(NamedTuple):
    """One message size: settings that tell tables apart, and cells by placement."""

    message_bytes: int
    settings: dict[str, str]
    cells: dict[str, NcclFigures | None]


class NcclTables:
    """The tables of one combination of settings at a time; a new combination closes them."""

    def __init__(self, facts: NcclFacts) -> None:
        self._facts = facts
        self._settings: dict[str, str] = {}
        self._tables: dict[str, SuiteTable] = {}
        self._last_bytes = -1
        self._cycle = 1
        self.any = False

    def add(self, line: LogLine, row: NcclRow, milliseconds: bool = False) -> Iterator[SuiteCurve]:
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

    def failed(self, line: LogLine, trouble: Trouble) -> None:
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

    def _table(self, placement: str, milliseconds: bool) -> SuiteTable:
        if placement not in self._tables:
            more = {**self._settings, "placement": placement}
            if self._cycle > 1:
                more["cycle"] = str(self._cycle)
            heading = self._facts.heading(more)
            columns = _columns(self._facts.program, milliseconds)
            self._tables[placement] = SuiteTable(heading, columns)
        return self._tables[placement]

    def _fill(
        self, table: SuiteTable, line: LogLine, message_bytes: int, cells: NcclFigures
    ) -> None:
        if cells.wrong is not None and cells.wrong != 0:
            table.failed(line, message_bytes, "corrupt")
            return
        values = _values(message_bytes, cells, table.columns[0].factor, self._facts.ranks)
        table.row(line, message_bytes, values, (cells.besides,), self._facts.iterations)


def _columns(program: str, milliseconds: bool) -> Sequence[SuiteColumn]:
    name = program.removesuffix("_perf") or "collective"
    unit, factor = ("ms", 1e-3) if milliseconds else ("µs", 1e-6)
    algorithm = f"{name}: algorithm bandwidth (size / time)"
    bus = f"{name}: bus bandwidth (algorithm bandwidth times the collective's factor)"
    return (
        SuiteColumn("time", name, "mean", unit, factor),
        SuiteColumn("bandwidth", algorithm, "mean", _GB, 1e9),
        SuiteColumn("bus_bandwidth", bus, "mean", _GB, 1e9),
    )


def _values(
    message_bytes: int, cells: NcclFigures, factor: float, ranks: int
) -> tuple[float, float | None, float | None]:
    """The three figures; None for 0.00 that only says that two decimals were too few."""
    time_s = cells.time_us * factor
    possible = message_bytes / 1e9 / time_s if math.isfinite(time_s) and time_s > 0 else 0.0
    small = possible < 2 * _PRINTED_LEAST
    algorithm = None if cells.algorithm_gb_s == 0 and small else cells.algorithm_gb_s
    # One rank sends nothing over any bus; with two or more no factor is below one half.
    idle = ranks < 2 or cells.algorithm_gb_s < 4 * _PRINTED_LEAST
    return cells.time_us, algorithm, None if cells.bus_gb_s == 0 and idle else cells.bus_gb_s


_TIMES = ("time", "cputime")
_BESIDES: dict[str, Besides] = {"i_min": "minimum", "i_max": "maximum", "i_p99": "p99"}
_PLACEMENTS = ("out-of-place", "in-place")
_NONE = ("N/A", "-")


class NcclLayout(msgspec.Struct, frozen=True):
    """Names of the columns in front, names of one group of figures, and the groups."""

    front: tuple[str, ...]
    group: tuple[str, ...]
    placements: tuple[str, ...] = _PLACEMENTS

    @property
    def milliseconds(self) -> bool:
        return self.front[0] == "bytes"

    def row(self, tokens: Sequence[str]) -> NcclRow | None:
        """The row of these tokens, None if they are none; a group that is missing is None."""
        tokens = self._filled(tokens)
        front, figures = tokens[: len(self.front)], tokens[len(self.front) :]
        if not _begins_row(front, len(self.front)) or self._number_of_operation(front):
            return None
        cells: dict[str, NcclFigures | None] = {}
        for number, placement in enumerate(self.placements):
            part = figures[number * len(self.group) : (number + 1) * len(self.group)]
            found = self._cells(part) if len(part) == len(self.group) else None
            if part and len(part) == len(self.group) and found is None:
                return None
            cells[placement] = found
        if not any(cells.values()):
            return None
        return NcclRow(int(front[0]), self._settings(front), cells)

    def begins(self, tokens: Sequence[str]) -> bool:
        """Whether these are a row's first columns, whatever follows."""
        return _begins_row(self._filled(tokens)[: len(self.front)], len(self.front))

    def _number_of_operation(self, front: Sequence[str]) -> bool:
        """Whether a number stands where the operation's name belongs: another layout's row."""
        return "redop" in self.front and number_of(front[self.front.index("redop")]) is not None

    def _filled(self, tokens: Sequence[str]) -> Sequence[str]:
        """alltoall has no operation, and leaves its column blank: one word less, and no word."""
        place = self.front.index("redop") if "redop" in self.front else len(tokens)
        figures = len(tokens) + 1 - len(self.front)
        blank = place < len(tokens) and number_of(tokens[place]) is not None
        if blank and figures > 0 and figures % len(self.group) == 0:
            return (*tokens[:place], "none", *tokens[place:])
        return tokens

    def _settings(self, front: Sequence[str]) -> dict[str, str]:
        named = dict(zip(self.front, front, strict=True))
        settings = {"datatype": named["type"]}
        operation = named.get("redop", named.get("op", "none"))
        if operation != "none":
            settings["operation"] = operation
        if named.get("root", "-1") != "-1":
            settings["root"] = named["root"]
        if self.group[0] == "cputime":
            settings["time"] = "CPU time"
        return settings

    def _cells(self, tokens: Sequence[str]) -> NcclFigures | None:
        numbers = [number_of(token) for token in tokens[:3]]
        if any(number is None for number in numbers) or not _is_error(tokens[3]):
            return None
        time, algorithm, bus = (number or 0.0 for number in numbers)
        more = dict(zip(self.group[4:], tokens[4:], strict=True))
        besides = {
            _BESIDES[name]: number
            for name, token in more.items()
            if name in _BESIDES and (number := number_of(token)) is not None
        }
        return NcclFigures(time, algorithm, bus, self._wrong(tokens[3]), besides)

    def _wrong(self, token: str) -> float | None:
        """Wrong elements; older versions print the largest deviation, starred if too large."""
        if token in _NONE:
            return None
        number = number_of(token.rstrip("*"))
        if token.endswith("*") or number != number:
            return 1.0
        return number if self.group[3] == "#wrong" else 0.0


#: Of a table whose heading was lost: that of v2.13 on.
USUAL = NcclLayout(("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "#wrong"))


def layout_of(text: str, banner: str) -> NcclLayout | None:
    """The layout that a heading line names; ``banner`` is the line above it."""
    names = text.lstrip("# ").split()
    starts = [place for place, name in enumerate(names) if name in _TIMES]
    if not starts or starts[0] < 3 or names[0] not in _FIRST or names[2] != "type":
        return None
    end = starts[1] if len(starts) > 1 else len(names) - names.count("timestamp")
    group = tuple(names[starts[0] : end])
    if len(group) < 4 or len(starts) > 2 or group[1:3] != ("algbw", "busbw"):
        return None
    return NcclLayout(tuple(names[: starts[0]]), group, _placements(banner, len(starts)))


_FIRST = ("size", "bytes")


def _placements(banner: str, groups: int) -> tuple[str, ...]:
    if groups == 2:
        return _PLACEMENTS
    return ("in-place",) if "in-place" in banner and "out-of" not in banner else ("out-of-place",)


def _begins_row(front: Sequence[str], length: int) -> bool:
    whole = len(front) == length and all(_is_count(token) for token in front[:2])
    return whole and not _is_count(front[2])


def _is_count(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) <= 18


def _is_error(token: str) -> bool:
    return token in _NONE or number_of(token.rstrip("*")) is not None
