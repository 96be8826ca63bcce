"""The table of report formats: a new one is a module and a row here."""

from fabricgauge.report.csv_table import render as csv
from fabricgauge.report.html.page import render as html
from fabricgauge.report.imb_layout import render as imb
from fabricgauge.report.interface import Format, Judged, Setting
from fabricgauge.report.json_document import render as json
from fabricgauge.report.junit import render as junit
from fabricgauge.report.markdown import render as markdown
from fabricgauge.report.osu_layout import render as osu
from fabricgauge.report.prometheus import render as prometheus
from fabricgauge.report.terminal import render as terminal

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("terminal", ".txt", "a page of text", terminal),
        Format("html", ".html", "one file with curves that opens offline", html),
        Format("json", ".json", "everything, for other programs", json),
        Format("csv", ".csv", "every figure, one row each", csv),
        Format("markdown", ".md", "a page for an issue tracker", markdown),
        Format("junit", ".xml", "one test case per verdict, for CI systems", junit),
        Format("prometheus", ".prom", "key figures for the textfile collector", prometheus),
        Format("osu", ".out", "our figures in the layout of the OSU suite", osu),
        Format("imb", ".out", "our figures in the layout of the Intel MPI Benchmarks", imb),
    )
}

DEFAULT_SETTING = Setting()


def report(judged: Judged, name: str, setting: Setting = DEFAULT_SETTING) -> str:
    """The report in the format called ``name``, a key of ``FORMATS``."""
    return FORMATS[name].render(judged, setting)
