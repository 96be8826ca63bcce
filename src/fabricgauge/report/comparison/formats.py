"""The table of a comparison's formats: a new one is a module and a row here."""

from collections.abc import Callable

from fabricgauge.model.comparison import Comparison
from fabricgauge.report.comparison.csv_table import render as csv
from fabricgauge.report.comparison.json_document import render as json
from fabricgauge.report.comparison.markdown import render as markdown
from fabricgauge.report.comparison.page import render as html
from fabricgauge.report.comparison.terminal import render as terminal
from fabricgauge.report.interface import Setting

Render = Callable[[Comparison, Setting], str]

FORMATS: dict[str, Render] = {
    "terminal": terminal,
    "html": html,
    "json": json,
    "csv": csv,
    "markdown": markdown,
}
