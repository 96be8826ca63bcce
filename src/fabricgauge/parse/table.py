"""A table that grows by rows and becomes one curve per quantity."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Pattern
from fabricgauge.model.suite import (
    Besides,
    Failure,
    LogEvidence,
    Quantity,
    Statistic,
    SuiteCurve,
    SuitePoint,
    Trouble,
)
from fabricgauge.parse.interface import LogLine

#: No suite prints more sizes; what follows is not kept, so that memory stays bounded.
MOST_ROWS = 10_000
SHOWN_CHARACTERS = 200
#: Sizes and counts stay below: JSON has no larger whole numbers in common.
_MOST = 1 << 53


class SuiteHeading(msgspec.Struct, frozen=True):
    """What stands above a table and holds for all its curves; fields as in ``SuiteCurve``."""

    suite: str
    version: str
    benchmark: str
    title: str
    first_line: int
    pairs: int = 1
    ranks: int | None = None
    transport: Literal["tcp", "rdma", ""] = ""
    settings: dict[str, str] = {}
    hosts: tuple[str, ...] = ()
    evidence: LogEvidence = LogEvidence()


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


#: Said besides most points; a dictionary of its own for each would take more than its figure.
_NOTHING: dict[Besides, float] = {}

#: A column of rows as printed; None is a value that a row has not.
Printed = Sequence[float | None]


class TableRows(msgspec.Struct, frozen=True, gc=False):
    """Rows on consecutive lines, by column. ``number`` is the first line's, ``text`` all lines.

    ``values`` and what is said ``besides`` them are in the order of the table's columns. ``sizes``
    are None where rows have none, counts of ``samples`` 0 where they are not known, and ``wrong``
    is not 0 where the suite found wrong data. Sizes of several rows are such as can be.
    """

    number: int
    text: str
    sizes: Sequence[int] | None
    samples: Sequence[int]
    values: Sequence[Printed]
    besides: Sequence[Mapping[Besides, Printed]]
    wrong: Sequence[float] = ()

    def singles(self) -> "Iterator[TableRows]":
        """Each row by itself."""
        for row, text in enumerate(self.text.split("\n")[: len(self.samples)]):
            one = slice(row, row + 1)
            yield TableRows(
                self.number + row, text, self.sizes and self.sizes[one], self.samples[one],
                [values[one] for values in self.values],
                [{key: said[one] for key, said in each.items()} for each in self.besides],
                self.wrong[one],
            )  # fmt: skip


class SuiteTable:
    """Rows under one heading. Values are given as printed, in the columns' order."""

    def __init__(self, heading: SuiteHeading, columns: Sequence[SuiteColumn]) -> None:
        self.heading = heading
        self.columns = tuple(columns)
        self._points: list[list[SuitePoint]] = [[] for _ in columns]
        self._failures: list[Failure] = []
        self._given = 0
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
        samples: int = 0,
    ) -> None:
        """Add one row, as ``add`` does; what is not said ``besides`` the last values is nothing."""
        sizes = None if message_bytes is None else [message_bytes]
        said = [{key: [more] for key, more in each.items()} for each in besides]
        said += [{}] * (len(values) - len(said))
        columns, count = [[value] for value in values], known_count(samples)
        self.add(TableRows(line.number, line.text, sizes, [count], columns, said))

    def add(self, rows: TableRows) -> None:
        """Add rows; where one of them is odd, each is looked at by itself.

        A value that cannot be a measurement (not finite, negative, zero where bytes moved)
        becomes a failure instead of a point, and so does a size that no message has.
        """
        count = len(rows.samples)
        if self._given >= MOST_ROWS:
            self._left_out += count
            return
        columns = zip(self.columns, rows.values, rows.besides, strict=False)
        found = [_points(rows, *column) for column in columns]
        possible = count > 1 or not rows.sizes or 0 <= rows.sizes[0] < _MOST
        sound = possible and None not in found and not any(rows.wrong)
        if count > 1 and not (sound and self._given + count <= MOST_ROWS):
            for row in rows.singles():
                self.add(row)
            return
        self._given += count
        self._last_line = rows.number + count - 1
        size = rows.sizes[0] if rows.sizes else None
        if any(rows.wrong) or not possible:
            trouble: Trouble = "corrupt" if possible else "not a number"
            self.failed(LogLine(rows.number, rows.text), size, trouble)
            return
        for points, more in zip(self._points, found, strict=False):
            points += more or ()
        if None in found:
            self.failed(LogLine(rows.number, rows.text), size, "not a number")

    def leave_out(self, count: int) -> None:
        """Count rows beyond the limit that are not given."""
        self._left_out += count

    def failed(self, line: LogLine, message_bytes: int | None, trouble: Trouble) -> None:
        """Add a row (or the part of one) that has no usable figure."""
        self._last_line = line.number
        text = line.text.strip()[:SHOWN_CHARACTERS]
        is_told = bool(self._failures) and self._failures[-1].line == line.number
        if self.rows < MOST_ROWS and not is_told:
            size = message_bytes if 0 <= (message_bytes or 0) < _MOST else None
            self._failures.append(Failure(size, line.number, trouble, text))

    def curves(self, cut_off: str = "") -> tuple[SuiteCurve, ...]:
        """The table's curves; a column without any point gives none, unless none has one.

        A table in which every row failed, or that was cut off before its first row, is
        still told of by a curve without points. Rows beyond the limit make it incomplete.
        """
        if self._left_out:
            cut_off = f"{self._left_out:,} rows beyond the first {MOST_ROWS:,} are left out"
        curves = tuple(
            self._curve(column, points, cut_off)
            for column, points in zip(self.columns, self._points, strict=True)
            if points
        )
        if curves or not (self._failures or cut_off) or not self.columns:
            return curves
        return (self._curve(self.columns[0], [], cut_off),)

    def _curve(self, column: SuiteColumn, points: list[SuitePoint], cut_off: str) -> SuiteCurve:
        heading = self.heading
        settings = heading.settings | column.settings if column.settings else heading.settings
        return SuiteCurve(
            suite=heading.suite, version=heading.version, benchmark=heading.benchmark,
            title=heading.title, what=column.what, quantity=column.quantity,
            statistic=column.statistic, unit_rule=column.unit_rule,
            first_line=heading.first_line, last_line=self._last_line, points=tuple(points),
            pattern=column.pattern, directions=column.directions, origin=column.origin,
            target=column.target, pairs=heading.pairs,
            ranks=heading.ranks, transport=heading.transport, settings=settings,
            hosts=heading.hosts, failures=tuple(self._failures), cut_off=cut_off,
            evidence=heading.evidence,
        )  # fmt: skip


def known_count(samples: float) -> int:
    """A count of samples, 0 where it cannot be one."""
    return int(samples) if 0 <= samples < _MOST else 0


def _points(
    rows: TableRows, column: SuiteColumn, values: Printed, besides: Mapping[Besides, Printed]
) -> list[SuitePoint] | None:
    """The points of a column; None if a figure cannot be one."""
    lines: Sequence[int] = range(rows.number, rows.number + len(values))
    sizes: Sequence[int | None] = rows.sizes or [None] * len(values)
    samples = rows.samples
    if 0.0 in values or None in values:
        rest = [
            bool(value) or (value == 0 and not _says_nothing(column, size))
            for value, size in zip(values, sizes, strict=True)
        ]
        lines, samples = [*compress(lines, rest)], [*compress(samples, rest)]
        sizes, values = [*compress(sizes, rest)], [*compress(values, rest)]
        besides = {key: [*compress(more, rest)] for key, more in besides.items()}
    factor = column.factor
    figures = [value * factor for value in values if value is not None]
    least = min(figures, default=1.0)
    sound = least > 0.0 or (least == 0.0 and column.quantity == "overlap")
    if not (sound and all(map(math.isfinite, figures))):
        return None
    estimates = map(Estimate, figures, figures, figures, repeat(0.0), repeat(1), samples)
    if not besides:
        return [*map(SuitePoint, sizes, estimates, lines, repeat(_NOTHING))]
    said: list[dict[Besides, float]] = [{} for _ in figures]
    for key, more in besides.items():
        for each, value in zip(said, more, strict=True):
            if value is not None and -math.inf < value * factor < math.inf:
                each[key] = value * factor
    return [*map(SuitePoint, sizes, estimates, lines, said)]


def _says_nothing(column: SuiteColumn, message_bytes: int | None) -> bool:
    """An empty message has no bandwidth, and the suites print 0.00 for it."""
    return message_bytes == 0 and column.quantity in ("bandwidth", "bus_bandwidth")
