"""The table of formats: a new one is a module and a row here."""

from collections.abc import Callable

from fabricgauge.model.varied import Varied
from fabricgauge.report.interface import Setting
from fabricgauge.report.varied.csv_table import render as csv
from fabricgauge.report.varied.json_document import render as json
from fabricgauge.report.varied.page import render as html
from fabricgauge.report.varied.terminal import render as terminal

FORMATS: dict[str, Callable[[Varied, Setting], str]] = {
    "terminal": terminal,
    "html": html,
    "json": json,
    "csv": csv,
}
