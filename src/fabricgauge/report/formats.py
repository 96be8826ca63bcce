"""The table of report formats: a new one is a module and a row here."""

from fabricgauge.report.html.page import render as html
from fabricgauge.report.interface import Format, Judged, Setting
from fabricgauge.report.json_document import render as json
from fabricgauge.report.terminal import render as terminal

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("terminal", ".txt", "a page of text", terminal),
        Format("html", ".html", "one file with curves that opens offline", html),
        Format("json", ".json", "everything, for other programs", json),
    )
}

DEFAULT_SETTING = Setting()


def report(judged: Judged, name: str, setting: Setting = DEFAULT_SETTING) -> str:
    """The report in the format called ``name``, a key of ``FORMATS``."""
    return FORMATS[name].render(judged, setting)
