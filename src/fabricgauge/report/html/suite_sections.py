"""The page's part on other suites' output: rows, tables, lines not understood."""

from typing import Any, NamedTuple

from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint, UnparsedLine
from fabricgauge.report import suites
from fabricgauge.report.quantities import of_unit, size
from fabricgauge.report.suites import SuiteRow, Told

#: A page with more rows than this takes seconds to open.
MOST_CURVES = 400
MOST_UNPARSED = 200


class PointRow(NamedTuple):
    """One figure of a table, as text."""

    size: str
    value: str
    interval: str
    besides: str
    samples: str
    line: int


class SuiteTable(NamedTuple):
    """One curve with all its figures."""

    row: SuiteRow
    settings: str
    cut_off: str
    points: tuple[PointRow, ...]


def filled(judged: Judged) -> dict[str, Any]:
    """What the template of this part needs; ``suite_rows`` is empty without such curves."""
    told = suites.told(judged)
    shown = told[:MOST_CURVES]
    imported = all(one.launch.imported for one in told)
    return {
        "suites_title": "Imported: what the logs say" if imported else "Measured by other suites",
        "suite_rows": [suites.row(judged, one) for one in shown],
        "suite_tables": [_table(judged, one) for one in shown],
        "suite_left_out": len(told) - len(shown),
        "unparsed": _unparsed(judged),
        "references": [_reference(one) for one in judged.against],
    }


def _reference(curve: SuiteCurve) -> SuiteTable:
    """A reference curve's row, with its provenance and caveat among the settings."""
    return _table_of(curve, suites.row_of(curve, None))


def _unparsed(judged: Judged) -> list[UnparsedLine]:
    return [one for launch in judged.run.launches for one in launch.unparsed][:MOST_UNPARSED]


def _table(judged: Judged, one: Told) -> SuiteTable:
    return _table_of(one.curve, suites.row(judged, one))


def _table_of(curve: SuiteCurve, row: SuiteRow) -> SuiteTable:
    settings = ", ".join(f"{key} {said}" for key, said in curve.settings.items())
    rows = tuple(_point(curve, point) for point in curve.points)
    return SuiteTable(row, settings, curve.cut_off, rows)


def _point(curve: SuiteCurve, one: SuitePoint) -> PointRow:
    unit = UNITS[curve.quantity]
    supported = one.estimate.supported
    ends = (of_unit(one.estimate.low, unit), of_unit(one.estimate.high, unit))
    return PointRow(
        size="" if one.message_bytes is None else size(one.message_bytes),
        value=suites.value(curve, one),
        interval=" to ".join(ends) if supported else "",
        besides=", ".join(f"{key} {of_unit(said, unit)}" for key, said in one.besides.items()),
        samples=f"{one.estimate.samples:,}" if one.estimate.samples else "",
        line=one.line,
    )
