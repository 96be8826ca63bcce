"""Hold tables that differ in nothing but their figures: one heading, and the figures as a matrix.

A campaign repeats one test tens of thousands of times. The matrix has a row for each table and a
column for each figure, in the order of ``figures_of``.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fabricgauge.model.groups import group_by
from fabricgauge.model.suite import LogEvidence, SuiteCurve, SuitePoint, TableFamily

Table = tuple[SuiteCurve, ...]

#: Fields of a curve that are equal in a family as they are.
_SAME = tuple(
    name for name in SuiteCurve.__struct_fields__
    if name not in ("first_line", "last_line", "points", "settings", "source", "evidence")
)  # fmt: skip

#: Plain figures are so many seconds, bytes/s or messages/s, at least and at most: their ratios and
#: products stay far from the ends of floating-point numbers.
LEAST_FIGURE, MOST_FIGURE = 1e-15, 1e18

#: Messages that each table of a campaign may have, at the same place.
_USUAL = ("tcp", "asked", "memory", "local", "remote")


class Rows(NamedTuple):
    """Tables of one heading: ``first`` is one of them, ``lines`` the first line of each."""

    first: Table
    lines: NDArray[np.int64]
    figures: NDArray[np.float64]

    def table(self, row: int) -> Table:
        return with_figures(self.first, int(self.lines[row]), self.figures[row].tolist())


def key_of(table: Table) -> object:
    """Return all that tables of a family share."""
    first_line, parts = table[0].first_line, []
    for curve in table:
        points = tuple(
            (point.message_bytes, point.line - first_line, point.estimate.samples, *point.besides)
            for point in curve.points
        )
        same = [getattr(curve, name) for name in _SAME]
        settings = tuple(sorted(curve.settings.items()))
        evidence = _move_messages(curve, -first_line)
        parts.append((*same, evidence, curve.last_line - first_line, settings, points))
    return tuple(parts)


def _move_messages(curve: SuiteCurve, lines: int) -> LogEvidence:
    """Return the curve's evidence with its messages so many lines further down."""
    messages = curve.evidence.messages
    if not messages:
        return curve.evidence
    moved = tuple(replace(message, line=message.line + lines) for message in messages)
    return replace(curve.evidence, messages=moved)


def is_plain(curve: SuiteCurve) -> bool:
    """Check for a whole table of bare usual figures, its sizes growing, no error beside it."""
    evidence, points = curve.evidence, curve.points
    if curve.failures or curve.cut_off or not points or curve.first_line < 1:
        return False
    sizes = [point.message_bytes or 0 for point in points]
    return (
        all(message.kind in _USUAL for message in evidence.messages)
        and not (evidence.nccl or evidence.gpu_pairs or evidence.rank_pairs)
        and not (evidence.losses or evidence.intervals)
        and all(before < after for before, after in pairwise(sizes))
        and all(map(_is_bare, points))
    )


def _is_bare(point: SuitePoint) -> bool:
    estimate = point.estimate
    figures = (estimate.value, *point.besides.values())
    return (
        estimate.low == estimate.value == estimate.high
        and (estimate.confidence, estimate.launches) == (0.0, 1)
        and all(LEAST_FIGURE <= figure <= MOST_FIGURE for figure in figures)
    )


def figures_of(table: Table) -> list[float]:
    """Return the figures of a table: of each curve each point's value and what is beside it."""
    return [
        figure
        for curve in table
        for point in curve.points
        for figure in (point.estimate.value, *point.besides.values())
    ]


def with_figures(table: Table, first_line: int, figures: Sequence[float]) -> Table:
    """Return the table of a family that begins in ``first_line`` and has these figures."""
    moved, place, curves = first_line - table[0].first_line, 0, []
    for curve in table:
        points = []
        for point in curve.points:
            value, *beside = figures[place : place + 1 + len(point.besides)]
            place += 1 + len(beside)
            estimate = replace(point.estimate, value=value, low=value, high=value)
            besides = dict(zip(point.besides, beside, strict=True))
            points.append(SuitePoint(point.message_bytes, estimate, point.line + moved, besides))
        curves.append(replace(
            curve, points=tuple(points), first_line=first_line,
            last_line=curve.last_line + moved, evidence=_move_messages(curve, moved),
        ))  # fmt: skip
    return tuple(curves)


def family_of(table: Table, lines: NDArray[np.int64], figures: NDArray[np.float64]) -> TableFamily:
    """Return tables as a record."""
    return TableFamily(
        table, len(lines), lines.astype("<i8").tobytes(), figures.astype("<f8").tobytes()
    )


def find_damage(family: TableFamily) -> str:
    """Return what is wrong with a stored family; empty if nothing is."""
    curves, count = family.curves, family.tables
    width = len(figures_of(curves))
    lengths = len(family.first_lines), len(family.figures)
    if not (count > 0 and curves and all(map(is_plain, curves))):
        return "a family without a whole table"
    if lengths != (8 * count, 8 * count * width):
        return f"a family of {count} tables with {lengths[1]} bytes of figures"
    figures = np.frombuffer(family.figures, "<f8")
    is_sound = bool(((figures >= LEAST_FIGURE) & (figures <= MOST_FIGURE)).all())
    return "" if is_sound else "a family with a figure that is none"


def merge_tables(
    curves: Sequence[SuiteCurve], families: Sequence[TableFamily]
) -> tuple[list[SuiteCurve], list[SuiteCurve]]:
    """Return a curve of medians, least and largest figures for each family, and other curves.

    Tables of the family that were kept as curves are in the medians.
    """
    tables = group_by(curves, lambda curve: curve.first_line)
    plain = group_by((table for table in tables.values() if all(map(is_plain, table))), key_of)
    others = [table for table in tables.values() if not all(map(is_plain, table))]
    merged = []
    for key, records in group_by(families, lambda family: key_of(family.curves)).items():
        rows = rows_of(records, plain.pop(key, ()))
        values, least, most = (
            with_figures(rows.first, rows.first[0].first_line, figures.tolist())
            for figures in (
                np.median(rows.figures, axis=0), rows.figures.min(axis=0), rows.figures.max(axis=0)
            )
        )  # fmt: skip
        for curve, low, high in zip(values, least, most, strict=True):
            points = tuple(
                replace(point, estimate=replace(
                    point.estimate, low=below.estimate.value, high=above.estimate.value,
                    confidence=1.0 - 2.0 ** (1 - len(rows.lines)), launches=len(rows.lines),
                    samples=point.estimate.samples * len(rows.lines),
                ))
                for point, below, above in zip(curve.points, low.points, high.points, strict=True)
            )  # fmt: skip
            merged.append(replace(curve, points=points))
    others += [table for same in plain.values() for table in same]
    return merged, [curve for table in others for curve in table]


def rows_of(families: Iterable[TableFamily], tables: Sequence[Table] = ()) -> Rows:
    """Return the tables of records of one family, and further ones."""
    families = tuple(families)
    first = families[0].curves
    width = len(figures_of(first))
    lines = [np.frombuffer(family.first_lines, "<i8") for family in families]
    figures = [np.frombuffer(family.figures, "<f8").reshape(-1, width) for family in families]
    if tables:
        lines.append(np.array([table[0].first_line for table in tables], "<i8"))
        figures.append(np.array([figures_of(table) for table in tables], "<f8"))
    return Rows(first, np.concatenate(lines), np.concatenate(figures))
