"""A table that grows by rows and becomes one curve per quantity."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Any, Literal

import msgspec
from msgspec.structs import asdict

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import (
    Besides,
    Failure,
    Quantity,
    Statistic,
    SuiteCurve,
    SuitePoint,
    Trouble,
)
from fabricgauge.model.suite import SuiteHeading as SuiteHeading

#: No suite prints more sizes; further rows are dropped, so that memory stays bounded.
MOST_ROWS = 10_000
SHOWN_CHARACTERS = 200
#: Sizes and counts stay below: larger whole numbers are not exact in all JSON readers.
_MOST = 1 << 53


class SuiteColumn(msgspec.Struct, frozen=True):
    """One column that becomes a curve; printed values times ``factor`` are in SI units.

    ``settings`` hold for this column alone.
    """

    quantity: Quantity
    what: str
    statistic: Statistic
    unit_rule: str
    factor: float
    pattern: Pattern | None = None
    directions: int = 1
    origin: int = 0
    target: int = 1
    settings: dict[str, str] = {}


#: The use of a printed column: the message size, the count of samples, a group of ranks, a figure
#: of a curve, a ``part`` of one (0.00 is none), one more figure of a curve, one that was ``sought``
#: only where it is above zero, the data check's result, a count of wrong data, or nothing.
Use = Literal[
    "size", "samples", "group", "figure", "part", "besides", "sought", "check", "wrong",
    "skipped", "unknown",
]  # fmt: skip


class ColumnUse(msgspec.Struct, frozen=True):
    """One printed column. ``curve`` is the place of the table's column that it adds to.

    ``rounded_by`` is the place of a figure in the row; if that is above zero, a 0.00 in this column
    is only a rounded value.
    """

    use: Use
    curve: int = 0
    besides: Besides | None = None
    rounded_by: int = -1


#: For points with a single figure; a dictionary for each would take more memory than the figure.
_NOTHING: dict[Besides, float] = {}

#: A column of rows as printed; None is a value that a row has not.
Printed = Sequence[float | None]


class TableRows(msgspec.Struct, frozen=True, gc=False):
    """Rows on consecutive lines, by column. ``number`` is the first line's, ``text`` all lines.

    ``values`` and ``besides``, further figures, are in the order of the table's columns. ``sizes``
    are None where rows have none, counts of ``samples`` 0 where they are not known, and ``wrong``
    is not 0 where the suite found wrong data. Several rows can share a size or a count.
    """

    number: int
    text: str
    sizes: Sequence[int] | None
    samples: Sequence[float]
    values: Sequence[Printed]
    besides: Sequence[Mapping[Besides, Printed]]
    wrong: Sequence[float] = ()

    def singles(self) -> "Iterator[TableRows]":
        for row, text in enumerate(self.text.split("\n")[: len(self.samples)]):
            single = slice(row, row + 1)
            yield TableRows(
                self.number + row, text, self.sizes and self.sizes[single], self.samples[single],
                [values[single] for values in self.values],
                [
                    {key: figures[single] for key, figures in column.items()}
                    for column in self.besides
                ],
                self.wrong[single],
            )  # fmt: skip


class SuiteTable:
    """Rows under one heading. Values are given as printed, in the columns' order."""

    def __init__(self, heading: SuiteHeading, columns: Sequence[SuiteColumn]) -> None:
        self.heading = heading
        self.columns = tuple(columns)
        self._points: list[list[SuitePoint]] = [[] for _ in columns]
        self._failures: list[Failure] = []
        self._row_count = 0
        self._left_out = 0
        self._last_line = heading.first_line

    @property
    def rows(self) -> int:
        return max(map(len, self._points), default=0) + len(self._failures)

    def row(
        self,
        line: LogLine,
        message_bytes: int | None,
        values: Printed,
        besides: Sequence[Mapping[Besides, float]] = (),
        samples: float = 0,
    ) -> None:
        """Add one row, as ``add`` does; the last values may have no entry in ``besides``."""
        sizes = None if message_bytes is None else [message_bytes]
        besides_of_columns = [{key: [more] for key, more in figures.items()} for figures in besides]
        besides_of_columns += [{}] * (len(values) - len(besides_of_columns))
        columns = [[value] for value in values]
        self.add(TableRows(line.number, line.text, sizes, [samples], columns, besides_of_columns))

    def printed(
        self,
        cells: Sequence[ColumnUse],
        number: int,
        text: str,
        columns: Sequence[Sequence[Any]],
        message_bytes: int | None = None,
    ) -> None:
        """Add rows by their printed columns; there may be fewer columns than cells.

        ``number`` is the first line's and ``text`` all lines. The size may be known otherwise.
        """
        count = len(columns[0])
        sizes: Sequence[int] | None = None if message_bytes is None else [message_bytes] * count
        samples: Sequence[float] = [0] * count
        wrong: Sequence[float] = ()
        values: list[Printed] = [[None] * count] * len(self.columns)
        besides: list[dict[Besides, Printed]] = [{} for _ in self.columns]
        for cell, column in zip(cells, columns, strict=False):
            use = cell.use
            if use == "size":
                sizes = column
            elif use == "samples":
                samples = column
            elif cell.besides is not None:
                besides[cell.curve][cell.besides] = _usable(cell, column, columns)
            elif use == "figure" or use == "part":
                values[cell.curve] = _usable(cell, column, columns)
            elif use == "wrong":
                wrong = column
            elif use == "check":
                wrong = [word != "Pass" for word in column]
        self.add(TableRows(number, text, sizes, samples, values, besides, wrong))

    def add(self, rows: TableRows) -> None:
        """Add rows; if one of them is odd, each row is checked by itself.

        A value that cannot be a measurement (not finite, negative, zero where bytes moved) becomes
        a failure instead of a point, and so does an impossible size.
        """
        count = len(rows.samples)
        if self._row_count >= MOST_ROWS:
            self._left_out += count
            return
        columns = zip(self.columns, rows.values, rows.besides, strict=False)
        points_by_column = [_points(rows, *column) for column in columns]
        possible = count > 1 or not rows.sizes or 0 <= rows.sizes[0] < _MOST
        corrupt = any(rows.wrong)
        sound = possible and None not in points_by_column and not corrupt
        if count > 1 and not (sound and self._row_count + count <= MOST_ROWS):
            for row in rows.singles():
                self.add(row)
            return
        self._row_count += count
        self._last_line = rows.number + count - 1
        if possible and not corrupt:
            for points, more in zip(self._points, points_by_column, strict=False):
                points += more or ()
        if not sound:
            size = rows.sizes[0] if rows.sizes else None
            trouble: Trouble = "corrupt" if possible and corrupt else "not a number"
            self.failed(LogLine(rows.number, rows.text), size, trouble)

    def leave_out(self, count: int) -> None:
        """Count rows beyond the limit that are not given."""
        self._left_out += count

    def failed(self, line: LogLine, message_bytes: int | None, trouble: Trouble) -> None:
        """Add a row (or the part of one) that has no usable figure."""
        self._last_line = line.number
        text = line.text.strip()[:SHOWN_CHARACTERS]
        is_listed = bool(self._failures) and self._failures[-1].line == line.number
        if self.rows < MOST_ROWS and not is_listed:
            size = message_bytes if 0 <= (message_bytes or 0) < _MOST else None
            self._failures.append(Failure(size, line.number, trouble, text))

    def curves(self, cut_off: str = "") -> tuple[SuiteCurve, ...]:
        """Return the curves; a column without any point gives none, unless all lack points.

        A table in which every row failed, or that was cut off before its first row, gives a curve
        without points. Rows beyond the limit make it incomplete.
        """
        if self._left_out:
            cut_off = f"{self._left_out:,} rows beyond the first {MOST_ROWS:,} are left out"
        settings = {name: value for name, value in self.heading.settings.items() if value}
        curves = tuple(
            [
                self._curve(column, points, settings, cut_off)
                for column, points in zip(self.columns, self._points, strict=True)
                if points
            ]
        )
        if curves or not (self._failures or cut_off) or not self.columns:
            return curves
        return (self._curve(self.columns[0], [], settings, cut_off),)

    def _curve(
        self,
        column: SuiteColumn,
        points: list[SuitePoint],
        settings: dict[str, str],
        cut_off: str,
    ) -> SuiteCurve:
        facts = asdict(self.heading)
        facts["settings"] = settings | column.settings if column.settings else settings
        return SuiteCurve(
            **facts, what=column.what, quantity=column.quantity, statistic=column.statistic,
            unit_rule=column.unit_rule, last_line=self._last_line, points=tuple(points),
            pattern=column.pattern, directions=column.directions, origin=column.origin,
            target=column.target, failures=tuple(self._failures), cut_off=cut_off,
        )  # fmt: skip


def _usable(cell: ColumnUse, column: Printed, columns: Sequence[Printed]) -> Printed:
    """Return a column; None where a 0.00 is no figure."""
    if cell.rounded_by < 0:
        if cell.use == "part":
            return [figure or None for figure in column]
        if cell.use == "sought":
            return [figure if figure and figure > 0 else None for figure in column]
        return column
    if 0.0 not in column:
        return column
    pairs = zip(column, columns[cell.rounded_by], strict=True)
    return [None if not figure and (reference or 0) > 0 else figure for figure, reference in pairs]


def _points(
    rows: TableRows, column: SuiteColumn, values: Printed, besides: Mapping[Besides, Printed]
) -> list[SuitePoint] | None:
    """Return the points of a column; None if a figure cannot be one."""
    lines: Sequence[int] = range(rows.number, rows.number + len(values))
    sizes: Sequence[int | None] = rows.sizes or [None] * len(values)
    samples, factor, infinite = rows.samples, column.factor, math.inf
    if not values[0] and _is_empty_rate(column, sizes[0]):
        lines, sizes, samples, values = lines[1:], sizes[1:], samples[1:], values[1:]
        besides = {key: more[1:] for key, more in besides.items()} if besides else besides
    if not all(values):
        is_kept = [
            value or (value == 0 and not _is_empty_rate(column, size))
            for value, size in zip(values, sizes, strict=True)
        ]
        lines, samples = [*compress(lines, is_kept)], [*compress(samples, is_kept)]
        sizes, values = [*compress(sizes, is_kept)], [*compress(values, is_kept)]
        besides = {key: [*compress(more, is_kept)] for key, more in besides.items()}
    figures = [value * factor for value in values if value is not None]
    least = min(figures, default=1.0)
    sound = least > 0.0 or (least == 0.0 and column.quantity == "overlap")
    if not (sound and math.isfinite(sum(figures))):
        return None
    if len(samples) == 1:
        samples = [int(samples[0]) if 0 <= samples[0] < _MOST else 0]
    estimates = map(Estimate, figures, figures, figures, repeat(0.0), repeat(1), samples)
    if not besides:
        return [*map(SuitePoint, sizes, estimates, lines, repeat(_NOTHING))]
    besides_of_rows: list[dict[Besides, float]] = [{} for _ in figures]
    for key, more in besides.items():
        for besides_of_row, value in zip(besides_of_rows, more, strict=True):
            if value is not None and -infinite < (figure := value * factor) < infinite:
                besides_of_row[key] = figure
    return [*map(SuitePoint, sizes, estimates, lines, besides_of_rows)]


def _is_empty_rate(column: SuiteColumn, message_bytes: int | None) -> bool:
    """Check for the 0.00 that suites print as the bandwidth of an empty message."""
    return message_bytes == 0 and column.quantity in ("bandwidth", "bus_bandwidth")
