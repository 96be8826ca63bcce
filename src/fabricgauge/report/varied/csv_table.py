"""Every effect as comma-separated values; changes are shares of the first level's figure."""

import csv
import io
import math

from fabricgauge.model.suite import LESS_IS_BETTER
from fabricgauge.model.varied import Varied
from fabricgauge.report.csv_table import cell
from fabricgauge.report.interface import Setting

COLUMNS = (
    "factor", "level", "base", "curve", "quantity", "less_is_better", "message_bytes", "change",
    "change_low", "change_high", "chance", "blocks", "clear",
)  # fmt: skip


def render(varied: Varied, _setting: Setting) -> str:
    """A row per size, and one with an empty size for all of a curve together."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in varied.effects:
        head = (one.factor, one.level, one.base, one.title, one.quantity)
        for each in (one.whole, *one.sizes):
            ends = (each.low, each.high) if math.isfinite(each.high) else (math.nan, math.nan)
            figures = (each.change, *ends, each.chance)
            known = (None if math.isnan(figure) else figure for figure in figures)
            row = (
                *head, int(one.quantity in LESS_IS_BETTER), each.message_bytes, *known,
                each.blocks, int(each.clear),
            )  # fmt: skip
            writer.writerow([cell(value) for value in row])
    return page.getvalue()
