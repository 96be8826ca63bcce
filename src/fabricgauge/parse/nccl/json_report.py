"""Reads the JSON report of nccl-tests (``-J``, since v2.17.0).

Source: nccl-tests v2.19.6, src/util.cu; before v2.17.9 two names were misspelt
(``average_bus_bandwidith``, ``bandwidith``). ``nan`` is written as a string, ``inf`` bare.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import JsonDialect, LogLine, Report
from fabricgauge.parse.json_text import Element, Elements, joined, value
from fabricgauge.parse.nccl.facts import PROGRAM, NcclFacts, library_version
from fabricgauge.parse.nccl.rows import NcclFigures, NcclRow, NcclTables

_BESIDES: dict[str, Besides] = {
    "min_us": "minimum", "max_us": "maximum", "p50_us": "p50", "p95_us": "p95",
    "p99_us": "p99", "stdev_us": "deviation",
}  # fmt: skip
_MEANING = {"out_of_place": "out-of-place", "in_place": "in-place"}


def recognised(text: str) -> bool:
    return '"nccl_version"' in text


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """The curves of one report; of one that is cut off, those of its whole rows."""
    text = joined(text)
    facts = _facts(text, first_line)
    tables = NcclTables(facts)
    results = Elements(text, "results")
    for element in results:
        line = LogLine(first_line + element.line, _words(element))
        row = _row(element.value)
        if row is None:
            report(line, "a row of nccl-tests' JSON report")
        else:
            yield from tables.add(line, row)
    wrong = _part(value(text, "out_of_bounds"), "count")
    if _number(wrong):
        line = LogLine(first_line, f"out of bounds values: {wrong}")
        tables.failed(line, "corrupt")
    tables.open_empty()
    yield from tables.close("" if results.complete else _sign(tables), _average(text))


def _sign(tables: NcclTables) -> str:
    if not tables.any:
        return "the JSON report has no results"
    return f"the JSON report breaks off behind the row of {tables.last_bytes} bytes"


def _facts(text: str, first_line: int) -> NcclFacts:
    facts = NcclFacts(started=True, first_line=first_line, title="JSON report of nccl-tests")
    arguments = value(text, "args")
    match = PROGRAM.search(str(arguments[0])) if isinstance(arguments, list) and arguments else None
    facts.program = match[0] if match else ""
    code = value(text, "nccl_version")
    if isinstance(code, int) and 0 < code < 10**9:
        facts.settings["nccl"] = library_version(code)
    iterations = value(text, "iterations")
    facts.iterations = iterations if isinstance(iterations, int) else 0
    for element in Elements(text, "devices"):
        _add_rank(facts, element.value)
    return facts


def _add_rank(facts: NcclFacts, device: Any) -> None:
    if isinstance(device, dict):
        words = {name: str(device.get(name, "")) for name in ("hostname", "device_info", "group")}
        facts.add_rank(words["hostname"], words["device_info"], words["group"])


def _row(found: Any) -> NcclRow | None:
    size = found.get("size") if isinstance(found, dict) else None
    if not isinstance(size, int) or not 0 <= size < 10**18:
        return None
    cells = {
        placement: cell
        for name, placement in _MEANING.items()
        if (cell := _cells(found.get(name), found.get(f"{name}_per_iter"))) is not None
    }
    return NcclRow(size, _settings(found), dict(cells)) if cells else None


def _settings(found: Mapping[str, Any]) -> dict[str, str]:
    settings = {"datatype": str(found.get("type", ""))}
    operation = str(found.get("redop", "none"))
    if operation != "none":
        settings["operation"] = operation
    root = str(found.get("root", "-1")).strip()
    if root != "-1":
        settings["root"] = root
    return settings


def _cells(found: Any, per_iteration: Any) -> NcclFigures | None:
    if not isinstance(found, dict):
        return None
    time = _number(found.get("time", found.get("cpu_time")))
    figures = (time, _number(found.get("alg_bw")), _number(found.get("bus_bw")))
    if any(figure is None for figure in figures):
        return None
    times = per_iteration if isinstance(per_iteration, dict) else {}
    besides = {
        ours: number
        for name, ours in _BESIDES.items()
        if (number := _number(times.get(name))) is not None
    }
    time, algorithm, bus = (figure or 0.0 for figure in figures)
    return NcclFigures(time, algorithm, bus, _number(found.get("nwrong")), besides)


def _average(text: str) -> dict[str, str]:
    for name, inner in (
        ("average_bus_bandwidth", "bandwidth"),
        ("average_bus_bandwidith", "bandwidith"),
    ):
        number = _number(_part(value(text, name), inner))
        if number is not None:
            words = f"{number:g} GB/s, the mean over all sizes"
            return {"average bus bandwidth": words}
    return {}


def _part(found: Any, name: str) -> Any:
    return found.get(name) if isinstance(found, dict) else None


def _number(found: Any) -> float | None:
    if isinstance(found, bool) or not isinstance(found, (int, float, str)):
        return None
    try:
        return float(found)
    except (ValueError, OverflowError):
        return None


def _words(element: Element) -> str:
    return str(element.value)[:200]


JSON_DIALECT = JsonDialect("nccl-tests", recognised, read)
