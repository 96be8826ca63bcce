"""The table of a survey's formats: a new one is a module and a row here."""

from collections.abc import Callable

from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report.discovery.json_document import render as json
from fabricgauge.report.discovery.page import render as html
from fabricgauge.report.discovery.terminal import render as terminal

#: The second argument asks for every node in detail.
Render = Callable[[Surveyed, bool], str]

FORMATS: dict[str, Render] = {"terminal": terminal, "html": html, "json": json}
