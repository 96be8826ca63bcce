"""One matrix of nvbandwidth becomes one curve: the median of its cells, with their extremes.

The ``SUM`` that nvbandwidth prints adds up cells that were measured one after another in
most of its tests; it is no rate that anything reached, so it is kept as a setting only.

Source: nvbandwidth v0.8, testcases_ce.cpp, testcases_sm.cpp, memcpy.cpp (a cell is bytes/s
times 1e-9, the median of 3 samples), inline_common.h; v0.4, common.h.
"""

import math
from collections.abc import Sequence
from statistics import median

from fabricgauge.model.suite import SuiteCurve, Trouble
from fabricgauge.parse.interface import Line
from fabricgauge.parse.table import Column, Heading, Table

SUITE = "nvbandwidth"
UNNAMED = "unnamed test"
_GB = "GB = 10^9 bytes (nvbandwidth)"

#: A cell of a pair that was not measured is None.
Cells = Sequence[Sequence[float | None]]


class Test:
    """One test while its matrix is being read; ``description`` is the matrix's own heading."""

    def __init__(self, heading: Heading, description: str) -> None:
        self._table = Table(heading, (column(description),))
        self._is_square = description.count("GPU(") == 2

    def failed(self, line: Line, trouble: Trouble) -> None:
        self._table.failed(line, None, trouble)

    def fill(self, line: Line, cells: Cells) -> None:
        """The figure of a whole matrix; a cell that is no measurement makes it a failure."""
        measured = [
            value
            for row, values in enumerate(cells)
            for place, value in enumerate(values)
            if value is not None and not (self._is_square and row == place and value == 0)
        ]
        if not measured:
            self._table.failed(line, None, "other")
        elif not all(math.isfinite(value) and value > 0 for value in measured):
            self._table.failed(line, None, "not a number")
        else:
            self._fill(line, measured)

    def _fill(self, line: Line, measured: Sequence[float]) -> None:
        extremes = {"minimum": min(measured), "maximum": max(measured)}
        self._table.row(line, None, (median(measured),), (extremes,))  # type: ignore[arg-type]

    def curves(self, cut_off: str = "") -> tuple[SuiteCurve, ...]:
        return self._table.curves(cut_off)


def column(description: str) -> Column:
    """What a matrix's cells are: bandwidths, or latencies in ns."""
    words = description.removesuffix("(GB/s)").removesuffix("(ns)").strip()
    if description.endswith("(ns)"):
        return Column("time", f"{words}: median over the pairs", "median", "ns", 1e-9)
    directions = 2 if "<->" in description and "Total" in description else 1
    what = f"{words or 'memory copy'}: median over the pairs"
    if "<->" in description and directions == 1:
        what += ", one of both directions at once"
    return Column("bandwidth", what, "median", _GB, 1e9, directions=directions)


def cell(token: str) -> float | None:
    """A cell as printed: None for ``N/A``, not a number for what is neither."""
    if token == "N/A":  # noqa: S105
        return None
    try:
        return float(token)
    except ValueError:
        return math.nan
