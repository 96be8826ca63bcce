"""An entry's printed table as curves in SI units."""

from collections.abc import Iterator

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import Besides, SuiteCurve, SuitePoint
from fabricgauge.references.entry import ReferenceCell, ReferenceColumn, ReferenceEntry
from fabricgauge.references.units import PrintedUnit, unit

_Row = tuple[ReferenceCell, ...]


def curves(entry: ReferenceEntry) -> tuple[SuiteCurve, ...]:
    """One curve per column with a quantity, in the columns' order."""
    return tuple(
        _curve(entry, column, place)
        for place, column in enumerate(entry.columns, 1)
        if column.quantity is not None
    )


def _curve(entry: ReferenceEntry, column: ReferenceColumn, place: int) -> SuiteCurve:
    read = unit(column.unit, column.unit_rule)
    return SuiteCurve(
        suite=entry.suite, version=entry.version, benchmark=column.benchmark or entry.benchmark,
        title=entry.heading or entry.title, what=column.what, quantity=read.quantity,
        statistic=column.statistic, unit_rule=read.rule, first_line=1,
        last_line=len(entry.points), points=tuple(_points(entry, read, place)),
        pattern=column.pattern, directions=column.directions, pairs=entry.pairs,
        ranks=entry.ranks, transport=entry.transport, settings=entry.settings,
        hosts=entry.hosts, cut_off=entry.cut_off, source=entry.name,
    )  # fmt: skip


def _points(entry: ReferenceEntry, read: PrintedUnit, place: int) -> Iterator[SuitePoint]:
    for line, row in enumerate(entry.points, 1):
        size = row[0] if isinstance(row[0], int) else None
        value = row[place]
        if isinstance(value, str) or _says_nothing(read, size, value):
            continue
        si = value * read.factor
        estimate = Estimate(si, si, si, 0.0, 1, _samples(entry, row))
        yield SuitePoint(size, estimate, line, _besides(entry, read, place, row))


def _says_nothing(read: PrintedUnit, size: int | None, value: float) -> bool:
    """An empty message has no bandwidth, and the suites print 0.00 for it."""
    return value == 0 and size == 0 and read.quantity == "bandwidth"


def _samples(entry: ReferenceEntry, row: _Row) -> int:
    for column, cell in zip(entry.columns, row[1:], strict=True):
        if column.samples and isinstance(cell, int):
            return cell
    return 0


def _besides(
    entry: ReferenceEntry, read: PrintedUnit, place: int, row: _Row
) -> dict[Besides, float]:
    """What is said besides belongs to the first curve of the entry."""
    first = next(i for i, column in enumerate(entry.columns, 1) if column.quantity is not None)
    if place != first:
        return {}
    return {
        column.besides: cell * read.factor
        for column, cell in zip(entry.columns, row[1:], strict=True)
        if column.besides is not None and not isinstance(cell, str)
    }
