"""What a reference's entry must be beyond its format: what a slip of the pen would break."""

import math
from collections.abc import Iterator, Sequence

from fabricgauge.logs.references.interface import (
    ReferenceCell,
    ReferenceColumn,
    ReferenceEntry,
    ReferenceFile,
    unit,
)
from fabricgauge.model.pattern import LATENCY_PATTERNS

NOT_TOLD = "-"


def wrongs(stem: str, file: ReferenceFile) -> list[str]:
    """What is wrong with a file's entries, each with the entry's name; nothing if it is sound."""
    names = [entry.name for entry in file.reference]
    return [
        *(f"{name}: the name is used twice" for name in set(names) if names.count(name) > 1),
        *(f"{n}: the name must begin with {stem}-" for n in names if not n.startswith(f"{stem}-")),
        *(f"{entry.name}: {wrong}" for entry in file.reference for wrong in _wrongs(entry)),
    ]


def _wrongs(entry: ReferenceEntry) -> Iterator[str]:
    yield from _wrong_words(entry)
    yield from _wrong_columns(entry.columns)
    yield from _wrong_rows(entry)


def _wrong_words(entry: ReferenceEntry) -> Iterator[str]:
    for key in ("name", "title", "where", "caveat"):
        if not getattr(entry, key).strip():
            yield f"{key} is empty"
    if not entry.points and entry.table is None:
        yield "has neither points nor a table"
    if bool(entry.points) != bool(entry.columns):
        yield "columns and points belong together"
    if entry.points and not (entry.suite and entry.benchmark):
        yield 'points need suite and benchmark ("not named" where the document is silent)'


def _wrong_columns(columns: Sequence[ReferenceColumn]) -> Iterator[str]:
    for place, column in enumerate(columns, 1):
        roles = (column.quantity is not None, column.besides is not None, column.samples)
        if sum(roles) != 1:
            yield f"column {place} must be one of quantity, besides and samples"
        if column.quantity is not None:
            yield from (f"column {place}: {wrong}" for wrong in _wrong_curve(column))
        elif column != ReferenceColumn(besides=column.besides, samples=column.samples):
            yield f"column {place} is no curve and has nothing but its role"
    curves = [column for column in columns if column.quantity is not None]
    times = [one for one in curves if one.quantity == "time"]
    if len([one for one in times if one.pattern in LATENCY_PATTERNS]) > 1:
        yield "two columns have a latency pattern"
    if any(column.besides for column in columns) and not curves:
        yield "a besides column needs a curve that it belongs to"


def _wrong_curve(column: ReferenceColumn) -> Iterator[str]:
    try:
        read = unit(column.unit, column.unit_rule)
    except ValueError as error:
        yield str(error)
        return
    if read.quantity != column.quantity:
        yield f"unit {column.unit!r} is one of {read.quantity}, not of {column.quantity}"
    if not column.what:
        yield "what is empty"
    if column.pattern == "bidirectional_bandwidth" and column.directions != 2:
        yield "bidirectional_bandwidth moves bytes in 2 directions"
    ping_pong = column.quantity == "bandwidth" and column.what.startswith("ping-pong")
    if column.pattern in LATENCY_PATTERNS and column.quantity != "time" and not ping_pong:
        yield f"{column.pattern} is a time"


def _wrong_rows(entry: ReferenceEntry) -> Iterator[str]:
    last = -1
    for place, row in enumerate(entry.points, 1):
        if len(row) != 1 + len(entry.columns):
            yield f"row {place} has {len(row)} cells, not a size and {len(entry.columns)} columns"
        yield from (f"row {place}: {cell!r} is no figure" for cell in row[1:] if _no_figure(cell))
        size = row[0] if row else NOT_TOLD
        if size == NOT_TOLD:
            continue
        if not isinstance(size, int) or size <= last:
            yield f"row {place}: sizes are whole bytes in growing order, or {NOT_TOLD!r}"
            return
        last = size
    table = entry.table
    for place, cells in enumerate(table.rows if table else (), 1):
        if table and len(cells) != len(table.columns):
            yield f"row {place} of the table has {len(cells)} cells, not {len(table.columns)}"


def _no_figure(cell: ReferenceCell) -> bool:
    if isinstance(cell, str):
        return cell != NOT_TOLD
    return not math.isfinite(cell) or cell < 0
