"""Every size that was compared as comma-separated values, in SI units.

A cell is empty where there is nothing to say, never 0. ``change`` and its interval are
shares of A, positive where B's figure is larger.
"""

import csv
import io
from collections.abc import Iterator

from fabricgauge.model.comparison import Comparison, Difference, Pair
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS
from fabricgauge.report.csv_table import Cell, cell
from fabricgauge.report.interface import Setting

COLUMNS = (
    "pair", "outcome", "quantity", "unit", "less_is_better", "pattern",
    "a_suite", "a_benchmark", "a_source", "b_suite", "b_benchmark", "b_source",
    "message_bytes", "a", "a_low", "a_high", "b", "b_low", "b_high",
    "change", "change_low", "change_high", "standing", "basis", "tolerance",
)  # fmt: skip


def render(comparison: Comparison, _setting: Setting) -> str:
    """A heading and one row per size; RFC 4180 but for the line ends, which are LF."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, pair in enumerate(comparison.pairs, 1):
        for row in _rows(number, pair, comparison.tolerance):
            writer.writerow([cell(one) for one in row])
    return page.getvalue()


def _rows(number: int, pair: Pair, tolerance: float) -> Iterator[tuple[Cell, ...]]:
    a, b = pair.a, pair.b
    head = (
        number, "regression" if pair.regression else "", a.quantity, UNITS[a.quantity],
        int(a.quantity in LESS_IS_BETTER), a.pattern, a.suite, a.benchmark, a.source,
        b.suite, b.benchmark, b.source,
    )  # fmt: skip
    for one in pair.differences:
        yield (
            *head, one.message_bytes, *_ends(one.a), *_ends(one.b), *_change(one),
            one.standing, pair.basis, tolerance,
        )  # fmt: skip


def _ends(estimate: Estimate) -> tuple[Cell, ...]:
    if not estimate.supported:
        return estimate.value, None, None
    return estimate.value, estimate.low, estimate.high


def _change(difference: Difference) -> tuple[Cell, ...]:
    if difference.low is None or difference.high is None:
        return difference.change, None, None
    return difference.change, difference.low - 1.0, difference.high - 1.0
