"""A table that grows row by row and becomes one curve per quantity."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, repeat
from typing import Literal, NamedTuple

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
    """One column that becomes a curve; printed values times ``factor`` are in SI units."""

    quantity: Quantity
    what: str
    statistic: Statistic
    unit_rule: str
    factor: float
    pattern: Pattern | None = None
    directions: int = 1
    origin: int = 0
    target: int = 1


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
        values: Sequence[float | None],
        besides: Sequence[Mapping[Besides, float]] = (),
        samples: int = 0,
    ) -> None:
        """Add one row; a value of None is a column that this row has not.

        A value that cannot be a measurement (not finite, negative, zero where bytes moved)
        becomes a failure instead of a point, and so does a size that no message has.
        """
        if self._given >= MOST_ROWS:
            self._left_out += 1
            return
        self._given += 1
        number = self._last_line = line.number
        if message_bytes is not None and not 0 <= message_bytes < _MOST:
            self.failed(line, None, "not a number")
            return
        samples = samples if 0 <= samples < _MOST else 0
        for place, value in enumerate(values):
            if value is None:
                continue
            column = self.columns[place]
            scaled = value * column.factor
            if not 0.0 < scaled < math.inf:
                if value == 0 and _says_nothing(column, message_bytes):
                    continue
                if scaled != 0.0 or column.quantity != "overlap":
                    self.failed(line, message_bytes, "not a number")
                    continue
            said = besides[place] if place < len(besides) else None
            more = _converted(said, column.factor) if said else {}
            estimate = Estimate(scaled, scaled, scaled, 0.0, 1, samples)
            self._points[place].append(SuitePoint(message_bytes, estimate, number, more))

    def fill(
        self,
        number: int,
        sizes: Sequence[int | None],
        values: Sequence[Sequence[float | None]],
        besides: Sequence[Mapping[Besides, Sequence[float | None]]],
        samples: Sequence[int],
    ) -> bool:
        """Add rows on consecutive lines from ``number`` on, column by column; None as in ``row``.

        False, and nothing is added, if one of them is no plain figure: ``row`` tells why.
        """
        count = len(sizes)
        few = self._given + count <= MOST_ROWS
        if not few or max(samples) >= _MOST or max(filter(None, sizes), default=0) >= _MOST:
            return False
        lines = range(number, number + count)
        found = [
            _points(column, _Column(lines, sizes, samples, printed, said))
            for column, printed, said in zip(self.columns, values, besides, strict=True)
        ]
        if None in found:
            return False
        for points, more in zip(self._points, found, strict=True):
            points += more or ()
        self._given += count
        self._last_line = lines[-1]
        return True

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
        return SuiteCurve(
            suite=heading.suite, version=heading.version, benchmark=heading.benchmark,
            title=heading.title, what=column.what, quantity=column.quantity,
            statistic=column.statistic, unit_rule=column.unit_rule,
            first_line=heading.first_line, last_line=self._last_line, points=tuple(points),
            pattern=column.pattern, directions=column.directions, origin=column.origin,
            target=column.target, pairs=heading.pairs,
            ranks=heading.ranks, transport=heading.transport, settings=heading.settings,
            hosts=heading.hosts, failures=tuple(self._failures), cut_off=cut_off,
            evidence=heading.evidence,
        )  # fmt: skip


class _Column(NamedTuple):
    """One column of many rows, as printed; None is a value that a row has not."""

    lines: Sequence[int]
    sizes: Sequence[int | None]
    samples: Sequence[int]
    values: Sequence[float | None]
    besides: Mapping[Besides, Sequence[float | None]]

    def only(self, chosen: Sequence[bool]) -> "_Column":
        """Those of some rows."""
        return _Column(
            [*compress(self.lines, chosen)], [*compress(self.sizes, chosen)],
            [*compress(self.samples, chosen)], [*compress(self.values, chosen)],
            {key: [*compress(one, chosen)] for key, one in self.besides.items()},
        )  # fmt: skip


def _points(column: SuiteColumn, one: _Column) -> Iterable[SuitePoint] | None:
    """The points of a column; None if a figure is not plain."""
    if 0.0 in one.values or None in one.values:
        values = zip(one.values, one.sizes, strict=True)
        one = one.only([bool(v) or (v == 0 and not _says_nothing(column, n)) for v, n in values])
    factor = column.factor
    figures = [value * factor for value in one.values if value is not None]
    if not figures:
        return ()
    least = min(figures)
    if not (least > 0.0 or (least == 0.0 and column.quantity == "overlap")):
        return None
    besides = [_scaled(each, factor) for each in one.besides.values()]
    if not (max(figures) < math.inf and all(map(_are_finite, besides))):
        return None
    estimates = map(Estimate, figures, figures, figures, repeat(0.0), repeat(1), one.samples)
    if not besides:
        return map(SuitePoint, one.sizes, estimates, one.lines)
    rows = (zip(one.besides, row, strict=True) for row in zip(*besides, strict=True))
    told = ({key: value for key, value in row if value is not None} for row in rows)
    return map(SuitePoint, one.sizes, estimates, one.lines, told)


def _scaled(values: Sequence[float | None], factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values]


def _are_finite(values: Iterable[float | None]) -> bool:
    return all(map(math.isfinite, filter(None, values)))


def _says_nothing(column: SuiteColumn, message_bytes: int | None) -> bool:
    """An empty message has no bandwidth, and the suites print 0.00 for it."""
    return message_bytes == 0 and column.quantity in ("bandwidth", "bus_bandwidth")


def _converted(besides: Mapping[Besides, float], factor: float) -> dict[Besides, float]:
    return {
        key: converted
        for key, value in besides.items()
        if math.isfinite(converted := value * factor)
    }
