"""The table of a preflight's formats: a new one is a module and a row here."""

from collections.abc import Callable

from fabricgauge.model.finding import Diagnosis
from fabricgauge.report.interface import Setting
from fabricgauge.report.preflight.json_document import render as json
from fabricgauge.report.preflight.markdown import render as markdown
from fabricgauge.report.preflight.page import render as html
from fabricgauge.report.preflight.terminal import render as terminal

FORMATS: dict[str, Callable[[Diagnosis, Setting], str]] = {
    "terminal": terminal,
    "html": html,
    "json": json,
    "markdown": markdown,
}
