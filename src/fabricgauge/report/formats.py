"""List the report formats: a new one is a module and a row here."""

from collections.abc import Callable

from fabricgauge.model.judged import Judged
from fabricgauge.report.content import run
from fabricgauge.report.interface import Format, Kind, Setting, Subject
from fabricgauge.report.render import data, html, junit, layouts, markdown, prometheus, terminal

#: A kind of report has a format if it has the ``part`` of the format.
FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("terminal", ".txt", "document", terminal.render),
        Format("html", ".html", "document", html.render),
        Format("json", ".json", "data", data.json),
        Format("csv", ".csv", "records", data.table),
        Format("tables", ".csv", "tables", data.table),
        Format("markdown", ".md", "document", markdown.render),
        Format("junit", ".xml", "suite", junit.render),
        Format("prometheus", ".prom", "gauges", prometheus.render),
        Format("listing", ".txt", "listing", data.text),
        Format("osu", ".out", "layout", layouts.osu),
        Format("imb", ".out", "layout", layouts.imb),
    )
}

DEFAULT_SETTING = Setting()


def formats_of(kind: Kind[Subject]) -> dict[str, Callable[[Subject, Setting], str]]:
    """Return the writers of that kind of report, by the name of the format."""

    def written(row: Format) -> Callable[[Subject, Setting], str]:
        part = getattr(kind, row.part)
        return lambda subject, setting: row.write(part(subject, setting), setting)

    rows = (row for row in FORMATS.values() if getattr(kind, row.part) is not None)
    return {row.name: written(row) for row in rows}


def report(judged: Judged, name: str, setting: Setting = DEFAULT_SETTING) -> str:
    """Return the report of a run in the format called ``name``, a key of ``FORMATS``."""
    return formats_of(run.KIND)[name](judged, setting)
