"""List the report formats: a new one is a module and a row here."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fabricgauge.model.judged import Judged
from fabricgauge.report.content import run
from fabricgauge.report.interface import Format, Kind, Setting, Subject


def _writer(module: str, function: str = "render") -> Callable[[Any, Setting], str]:
    """Return a function of ``report.render`` whose module is loaded when it is called."""

    def write(part: Any, setting: Setting) -> str:
        writer = getattr(import_module(f"fabricgauge.report.render.{module}"), function)
        return str(writer(part, setting))

    return write


#: A kind of report has a format if it has the ``part`` of the format.
FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("terminal", ".txt", "document", _writer("terminal")),
        Format("html", ".html", "document", _writer("html")),
        Format("json", ".json", "data", _writer("data", "json")),
        Format("csv", ".csv", "records", _writer("data", "table")),
        Format("tables", ".csv", "tables", _writer("data", "table")),
        Format("markdown", ".md", "document", _writer("markdown")),
        Format("junit", ".xml", "suite", _writer("junit")),
        Format("prometheus", ".prom", "gauges", _writer("prometheus")),
        Format("listing", ".txt", "listing", _writer("data", "text")),
        Format("osu", ".out", "layout", _writer("layouts", "osu")),
        Format("imb", ".out", "layout", _writer("layouts", "imb")),
    )
}

DEFAULT_SETTING = Setting()


def formats_of(kind: Kind[Subject]) -> dict[str, Callable[[Subject, Setting], str]]:

    def written(row: Format) -> Callable[[Subject, Setting], str]:
        part = getattr(kind, row.part)
        return lambda subject, setting: row.write(part(subject, setting), setting)

    rows = (row for row in FORMATS.values() if getattr(kind, row.part) is not None)
    return {row.name: written(row) for row in rows}


def report(judged: Judged, name: str, setting: Setting = DEFAULT_SETTING) -> str:
    """Return the report of a run in the format called ``name``, a key of ``FORMATS``."""
    return formats_of(run.KIND)[name](judged, setting)
