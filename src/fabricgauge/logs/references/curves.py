"""Convert an entry's printed table to curves in SI units, each by a stated rule."""

from collections.abc import Iterator
from typing import NamedTuple

from fabricgauge.logs.references.files import ReferenceColumn, ReferenceEntry
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import Besides, Quantity, SuiteCurve, SuitePoint


class PrintedUnit(NamedTuple):
    """Printed values times ``factor`` are seconds, bytes/s or messages/s."""

    quantity: Quantity
    factor: float
    rule: str


#: Units whose meaning does not depend on who printed them.
PLAIN: dict[str, PrintedUnit] = {
    "s": PrintedUnit("time", 1.0, "s"),
    "ms": PrintedUnit("time", 1e-3, "ms"),
    "us": PrintedUnit("time", 1e-6, "µs"),
    "usec": PrintedUnit("time", 1e-6, "µs"),
    "ns": PrintedUnit("time", 1e-9, "ns"),
    "MiB/s": PrintedUnit("bandwidth", 2.0**20, "MiB = 2^20 bytes"),
    "GiB/s": PrintedUnit("bandwidth", 2.0**30, "GiB = 2^30 bytes"),
    "Gb/s": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "Gbps": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "msg/s": PrintedUnit("message_rate", 1.0, "messages/s"),
    "Msg/sec": PrintedUnit("message_rate", 1.0, "messages/s (IMB)"),
    "M msg/s": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s"),
    "Mpps": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s (perftest)"),
}

#: Units that suites define differently: the rule must be stated, before " (suite)".
RULED: dict[str, tuple[PrintedUnit, ...]] = {
    printed: (
        PrintedUnit("bandwidth", 1e6, f"{name} = 10^6 bytes"),
        PrintedUnit("bandwidth", 2.0**20, f"{name} = 2^20 bytes"),
    )
    for printed, name in (("MB/s", "MB"), ("MB/sec", "MB"), ("Mbytes/sec", "Mbyte"))
}


def unit(printed: str, rule: str) -> PrintedUnit:
    """Return the meaning of a printed unit under a rule, empty for units with one meaning.

    Raises:
        ValueError: the unit is not known, or its rule is missing, unknown or needless.
    """
    if printed in PLAIN and not rule:
        return PLAIN[printed]
    for reading in RULED.get(printed, ()):
        if rule.partition(" (")[0] == reading.rule:
            return reading._replace(rule=rule)
    rules = " or ".join(repr(reading.rule) for reading in RULED.get(printed, ()))
    if rules:
        raise ValueError(f"unit {printed!r} needs a unit_rule that begins {rules}, not {rule!r}")
    if printed in PLAIN:
        raise ValueError(f"unit {printed!r} has one meaning; leave unit_rule out")
    raise ValueError(f"unit {printed!r} is not known: {', '.join((*PLAIN, *RULED))}")


def curves(entry: ReferenceEntry) -> tuple[SuiteCurve, ...]:
    """Return one curve per column with a quantity, in the columns' order."""
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
    """Yield the points of a column; further figures belong to the first curve of the entry."""
    first = next(i for i, column in enumerate(entry.columns, 1) if column.quantity is not None)
    for line, row in enumerate(entry.points, 1):
        size, value = row[0] if isinstance(row[0], int) else None, row[place]
        # An empty message has no bandwidth, and the suites print 0.00 for it.
        nothing = value == 0 and size == 0 and read.quantity == "bandwidth"
        if isinstance(value, str) or nothing:
            continue
        cells = list(zip(entry.columns, row[1:], strict=True))
        counts = (cell for column, cell in cells if column.samples and isinstance(cell, int))
        besides: dict[Besides, float] = {
            column.besides: cell * read.factor
            for column, cell in cells
            if place == first and column.besides and not isinstance(cell, str)
        }
        si = value * read.factor
        estimate = Estimate(si, si, si, 0.0, 1, next(counts, 0))
        yield SuitePoint(size, estimate, line, besides)
