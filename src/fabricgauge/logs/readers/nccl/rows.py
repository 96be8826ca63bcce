"""Read the columns of a table of nccl-tests by its own heading, and its rows as tables.

Generations (src/all_reduce.cu and src/common.cu of the versions named):

- v1.0.0: ``bytes N type op | time algbw busbw res``, time in ms
- v2.0.0-v2.11: ``size count type redop | time algbw busbw error``; without redop where there
  is none, with root for broadcast and reduce
- v2.13 on: ``size count type redop root | time algbw busbw #wrong``
- v2.19: -I adds ``i_min i_max i_p99 i_cv%``, -S a timestamp

The part after ``|`` stands twice, out-of-place and in-place; rccl-tests can print one. Each has a
table of its own, and so has each datatype and so on.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import lt
from typing import NamedTuple

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import figure_of, number_of
from fabricgauge.logs.readers.nccl.facts import NcclFacts, collective_of, renamed
from fabricgauge.logs.readers.rows import RowForm, Rows
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn, SuiteTable, TableRows, Use
from fabricgauge.model.suite import Besides, SuiteCurve, Trouble

_GB = "GB = 10^9 bytes (nccl-tests)"
#: Figures are printed with two decimals: a smaller one is printed as 0.00.
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
    cells: Mapping[str, NcclFigures | None]


class NcclTables:
    """The tables of one combination of settings at a time; a new combination closes them.

    ``last_bytes`` is the size of the last row; ``any`` is true once there was one.
    """

    def __init__(self, facts: NcclFacts) -> None:
        self._facts = facts
        self._settings: dict[str, str] = {}
        self._tables: dict[str, SuiteTable] = {}
        self._cycle = 1
        #: Placements whose data were compared.
        self._compared: set[str] = set()
        self.last_bytes = -1
        self.any = False

    def add(self, line: LogLine, row: NcclRow, milliseconds: bool = False) -> Iterator[SuiteCurve]:
        """Take a row; return the curves of the combination before it, if this begins another."""
        same = row.settings == self._settings
        if self._tables and same and row.message_bytes == self.last_bytes == 0:
            # Sizes too small to give each rank an element are rounded to nothing, one row for each.
            return
        if self._tables and not (same and row.message_bytes > self.last_bytes):
            yield from self.close("")
            self._cycle = self._cycle + 1 if same else 1
        self._settings, self.last_bytes, self.any = row.settings, row.message_bytes, True
        self._facts.begin(line)
        for placement, cells in row.cells.items():
            table = self._table(placement, milliseconds)
            if cells is not None and cells.wrong is not None:
                self._compared.add(placement)
            if cells is None or cells.wrong:
                table.failed(line, row.message_bytes, "corrupt" if cells else "cut off")
            else:
                values = self._values(table, row.message_bytes, *cells[:3])
                iterations = self._facts.iterations
                table.row(line, row.message_bytes, values, (cells.besides,), iterations)

    def take(self, layout: "NcclLayout", rows: Rows) -> bool:
        """Take plain rows if all continue the open tables, and none has wrong elements."""
        front, length, width = len(layout.front), len(layout.group), len(rows.columns)
        sizes, wrong = rows.columns[0], rows.columns[front + 3 :: length]
        same_front = all(len({*rows.words[place::width]}) == 1 for place in range(2, front))
        if (
            not (self._tables and same_front and layout.settings(rows.words) == self._settings)
            or (layout.group[3] == "#wrong" and any(map(any, wrong)))
            or not all(map(lt, [self.last_bytes, *sizes], sizes))
        ):
            return False
        self.last_bytes = sizes[-1]
        self._compared.update(layout.placements)
        for at, placement in enumerate(layout.placements):
            table = self._table(placement, layout.milliseconds)
            group = dict(zip(layout.group, rows.columns[front + at * length :], strict=False))
            figures = zip(sizes, *[*group.values()][:3], strict=True)
            values = [*zip(*(self._values(table, *row) for row in figures), strict=True)]
            spread = {_BESIDES[name]: column for name, column in group.items() if name in _BESIDES}
            samples = [self._facts.iterations] * len(sizes)
            add = TableRows(rows.number, rows.text, sizes, samples, values, (spread, {}, {}))
            table.add(add)
        return True

    def failed(self, line: LogLine, trouble: Trouble) -> None:
        """Add a failure that the program reports without a size."""
        self._facts.begin(line)
        if not self._tables:
            self._table("out-of-place", False)
        for table in self._tables.values():
            table.failed(line, None, trouble)

    def close(self, cut_off: str, more: Mapping[str, str] = {}) -> Iterator[SuiteCurve]:
        """Yield all curves of the open tables; ``more`` are settings that came after the rows.

        An output that ended before its first row gives a curve without points.
        """
        if cut_off and not self._tables and not self.any:
            self._table("out-of-place", False)
        for table in self._tables.values():
            settings = {**table.heading.settings, **more}
            table.heading = msgspec.structs.replace(table.heading, settings=settings)
            yield from self._named(table.curves(cut_off))
        self._tables, self._compared = {}, set()

    def _named(self, curves: Sequence[SuiteCurve]) -> Iterable[SuiteCurve]:
        """Return the curves, named by the ratio of their rates if no line names the collective."""
        rates = {curve.quantity: curve for curve in curves if curve.points}
        if self._facts.program or not {"bandwidth", "bus_bandwidth"} <= rates.keys():
            return curves
        algorithm, bus = rates["bandwidth"], rates["bus_bandwidth"]
        # A table of one placement does not show whether the other one is possible.
        compared = self._compared if len(self._tables) == len(_PLACEMENTS) else frozenset()
        program = collective_of(self._facts.ranks, bus.settings, algorithm, bus, compared)
        return [renamed(curve, program) for curve in curves] if program else curves

    def _values(
        self, table: SuiteTable, message_bytes: int, time: float, algorithm: float, bus: float
    ) -> tuple[float, float | None, float | None]:
        """Return the three figures; None for a 0.00 that two decimals were too few for."""
        if algorithm and bus:
            return time, algorithm, bus
        time_s = time * table.columns[0].factor
        possible = message_bytes / 1e9 / time_s if math.isfinite(time_s) and time_s > 0 else 0.0
        small = algorithm == 0 and possible < 2 * _PRINTED_LEAST
        # One rank sends nothing over any bus; with two or more no factor is below one half.
        idle = bus == 0 and (self._facts.ranks < 2 or algorithm < 4 * _PRINTED_LEAST)
        return time, None if small else algorithm, None if idle else bus

    def _table(self, placement: str, milliseconds: bool) -> SuiteTable:
        if placement not in self._tables:
            more = {**self._settings, "placement": placement}
            if self._cycle > 1:
                more["cycle"] = str(self._cycle)
            columns = _columns(self._facts.program, milliseconds)
            self._tables[placement] = SuiteTable(self._facts.heading(more), columns)
        return self._tables[placement]


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


_TIMES = ("time", "cputime")
_BESIDES: dict[str, Besides] = {"i_min": "minimum", "i_max": "maximum", "i_p99": "p99"}
_PLACEMENTS = ("out-of-place", "in-place")
_NONE = ("N/A", "-")
_FIRST = ("size", "bytes")


class NcclLayout(msgspec.Struct, frozen=True):
    """Names of the columns in front, names of one group of figures, and the groups."""

    front: tuple[str, ...]
    group: tuple[str, ...]
    placements: tuple[str, ...] = _PLACEMENTS

    @property
    def milliseconds(self) -> bool:
        return self.front[0] == "bytes"

    def row(self, tokens: Sequence[str]) -> NcclRow | None:
        """Return the row of these words, None if they are none; a missing group is None."""
        tokens, length = self._filled(tokens), len(self.group)
        # Where a number stands for the operation's name it is another layout's row.
        named = dict(zip(self.front, tokens, strict=False))
        if not self.begins(tokens) or number_of(named.get("redop", "")) is not None:
            return None
        cells: dict[str, NcclFigures | None] = {}
        for place, placement in enumerate(self.placements):
            part = tokens[len(self.front) + place * length :][:length]
            cells[placement] = self._cells(part) if len(part) == length else None
            if cells[placement] is None and len(part) == length:
                return None
        if not any(cells.values()):
            return None
        return NcclRow(int(tokens[0]), self.settings(tokens), cells)

    def begins(self, tokens: Sequence[str]) -> bool:
        """Check whether these are a row's first columns, with any words behind them."""
        front = self._filled(tokens)[: len(self.front)]
        counts = [token.isascii() and token.isdigit() and len(token) <= 18 for token in front[:3]]
        return len(front) == len(self.front) and counts == [True, True, False]

    def _filled(self, tokens: Sequence[str]) -> Sequence[str]:
        """Fill the blank operation of alltoall, whose rows have one word less."""
        place = self.front.index("redop") if "redop" in self.front else len(tokens)
        figures = len(tokens) + 1 - len(self.front)
        blank = place < len(tokens) and number_of(tokens[place]) is not None
        if blank and figures > 0 and figures % len(self.group) == 0:
            return (*tokens[:place], "none", *tokens[place:])
        return tokens

    def settings(self, tokens: Sequence[str]) -> dict[str, str]:
        """Return the settings in a row's first columns, which separate tables."""
        named = dict(zip(self.front, tokens, strict=False))
        settings = {
            "datatype": named["type"],
            "operation": named.get("redop", named.get("op", "none")).removesuffix("none"),
            "root": named.get("root", "-1").removesuffix("-1"),
            "time": "CPU time" if self.group[0] == "cputime" else "",
        }
        return {key: value for key, value in settings.items() if value}

    def _cells(self, tokens: Sequence[str]) -> NcclFigures | None:
        """Return a group's figures. Older versions print a deviation, starred if too large."""
        try:
            time, algorithm, bus = map(float, tokens[:3])
            wrong = None if tokens[3] in _NONE else float(tokens[3].rstrip("*"))
        except ValueError:
            return None
        if tokens[3].endswith("*") or wrong != wrong:
            wrong = 1.0
        elif wrong is not None and self.group[3] != "#wrong":
            wrong = 0.0
        more = zip(self.group[4:], tokens[4:], strict=True)
        besides = {_BESIDES[name]: figure_of(token) for name, token in more if name in _BESIDES}
        return NcclFigures(time, algorithm, bus, wrong, besides)


@lru_cache(maxsize=64)
def form_of(layout: NcclLayout) -> RowForm:
    front = [ColumnUse(_FRONT_USES.get(name, "unknown")) for name in layout.front]
    return RowForm([*front, *[ColumnUse("figure")] * len(layout.group * len(layout.placements))])


_FRONT_USES: dict[str, Use] = {"size": "size", "bytes": "size", "count": "samples", "N": "samples"}

#: The layout of a table whose heading was lost: that of v2.13 on.
USUAL = NcclLayout(("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "#wrong"))


def layout_of(text: str, banner: str) -> NcclLayout | None:
    """Return the layout that a heading line names; ``banner`` is the line above it."""
    names = text.lstrip("# ").split()
    starts = [place for place, name in enumerate(names) if name in _TIMES]
    if not starts or starts[0] < 3 or names[0] not in _FIRST or names[2] != "type":
        return None
    end = starts[1] if len(starts) > 1 else len(names) - names.count("timestamp")
    group = tuple(names[starts[0] : end])
    if len(group) < 4 or len(starts) > 2 or group[1:3] != ("algbw", "busbw"):
        return None
    in_place_alone = "in-place" in banner and "out-of" not in banner
    alone = _PLACEMENTS[1:] if in_place_alone else _PLACEMENTS[:1]
    return NcclLayout(tuple(names[: starts[0]]), group, _PLACEMENTS if len(starts) == 2 else alone)
