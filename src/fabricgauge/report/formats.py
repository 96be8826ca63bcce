"""The table of report formats: a new one is a module and a row here."""

from collections.abc import Callable
from typing import NamedTuple

from fabricgauge.report.content import run
from fabricgauge.report.csv_table import render as csv
from fabricgauge.report.imb_layout import render as imb
from fabricgauge.report.interface import Format, Judged, Kind, Setting, Subject
from fabricgauge.report.json_document import render as json
from fabricgauge.report.junit import render as junit
from fabricgauge.report.osu_layout import render as osu
from fabricgauge.report.prometheus import render as prometheus
from fabricgauge.report.render import data
from fabricgauge.report.render import html as html_page
from fabricgauge.report.render import markdown as markdown_page
from fabricgauge.report.render import terminal as terminal_page

#: A format is for each kind of report that has what it is made of.
TABLE = (
    Format("terminal", ".txt", "a page of text", "document", terminal_page.render),
    Format("html", ".html", "a file with curves that opens offline", "document", html_page.render),
    Format("json", ".json", "everything, for other programs", "data", data.json),
    Format("csv", ".csv", "every figure, one row each", "records", data.table),
    Format("markdown", ".md", "a page for an issue tracker", "document", markdown_page.render),
)

DEFAULT_SETTING = Setting()


def formats_of(kind: Kind[Subject]) -> dict[str, Callable[[Subject, Setting], str]]:
    """What writes a report of that kind, by the name of its format."""

    def written(row: Format) -> Callable[[Subject, Setting], str]:
        part = getattr(kind, row.part)
        return lambda subject, setting: row.write(part(subject, setting), setting)

    return {row.name: written(row) for row in TABLE if getattr(kind, row.part) is not None}


class OfRun(NamedTuple):
    """One way to write the report of a run."""

    name: str
    suffix: str
    summary: str
    render: Callable[[Judged, Setting], str]


_RUN = formats_of(run.KIND)
FORMATS: dict[str, OfRun] = {
    row.name: row
    for row in (
        OfRun("terminal", ".txt", "a page of text", _RUN["terminal"]),
        OfRun("html", ".html", "one file with curves that opens offline", _RUN["html"]),
        OfRun("json", ".json", "everything, for other programs", json),
        OfRun("csv", ".csv", "every figure, one row each", csv),
        OfRun("markdown", ".md", "a page for an issue tracker", _RUN["markdown"]),
        OfRun("junit", ".xml", "one test case per verdict, for CI systems", junit),
        OfRun("prometheus", ".prom", "key figures for the textfile collector", prometheus),
        OfRun("osu", ".out", "our figures in the layout of the OSU suite", osu),
        OfRun("imb", ".out", "our figures in the layout of the Intel MPI Benchmarks", imb),
    )
}


def report(judged: Judged, name: str, setting: Setting = DEFAULT_SETTING) -> str:
    """The report in the format called ``name``, a key of ``FORMATS``."""
    return FORMATS[name].render(judged, setting)
