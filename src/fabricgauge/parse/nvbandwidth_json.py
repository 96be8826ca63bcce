"""Reads nvbandwidth's JSON output (``-j``, since v0.5), whose cells are strings.

Source: nvbandwidth v0.8, json_output.cpp. A device-to-device test in both directions puts
its three matrices (each direction, then the total) below each other; its sum and its
description are the total's, so only that one is read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fabricgauge.model.suite import SuiteCurve, Trouble
from fabricgauge.parse.interface import JsonDialect, LogLine, Report
from fabricgauge.parse.json_text import Element, Elements, joined, value
from fabricgauge.parse.nvbandwidth import SUITE, UNNAMED, Matrix, cell, curves
from fabricgauge.parse.table import SuiteHeading

_BEGINS = re.compile(r'\s*\{\s*"nvbandwidth"\s*:')
_FACTS = ("CUDA Runtime Version", "Driver Version", "git_version")
_DEVICE = re.compile(r"\d+: (?P<device>.*?)(?: \([\da-f:]+\))?(?:: \((?P<host>[^()]+)\))?$")


def recognised(text: str) -> bool:
    return _BEGINS.match(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """One curve per test; of an output that is cut off, those of its whole tests."""
    text = joined(text)
    facts = _heading(text, first_line)
    tests = Elements(text, "testcases")
    element = None
    for element in tests:
        line = LogLine(first_line + element.line, str(element.value)[:200])
        if isinstance(element.value, dict):
            yield from _curves(facts, line, element)
        else:
            report(line, "a test of nvbandwidth")
    error = value(text, "error")
    if isinstance(error, str):
        yield from curves(facts, "", LogLine(first_line, error), "other")
    elif not tests.complete:
        yield from curves(facts, "", None, (), "the list of tests breaks off")
    elif element is None:
        report(LogLine(first_line, "testcases"), "at least one test of nvbandwidth")


def _heading(text: str, first_line: int) -> SuiteHeading:
    found = {name: value(text, name) for name in _FACTS}
    settings = {name: str(fact) for name, fact in found.items() if fact not in (None, "")}
    devices, hosts = dict[str, None](), dict[str, None]()
    for element in Elements(text, "GPU Device list"):
        if match := _DEVICE.match(str(element.value)):
            devices.setdefault(match["device"])
            if match["host"]:
                hosts.setdefault(match["host"])
    if devices:
        settings["device"] = ", ".join(devices)
    version = value(text, "version")
    return SuiteHeading(
        suite=SUITE, version=version.lstrip("v") if isinstance(version, str) else "",
        benchmark=UNNAMED, title="JSON output of nvbandwidth", first_line=first_line,
        settings=settings, hosts=tuple(hosts),
    )  # fmt: skip


def _curves(facts: SuiteHeading, line: LogLine, element: Element) -> Iterable[SuiteCurve]:
    found: Mapping[str, Any] = element.value
    description = str(found.get("bandwidth_description", "")).strip()
    cells = _cells(found.get("bandwidth_matrix"), "Total" in description)
    heading = _of_test(facts, line, found, cells)
    if cells and "error" not in found:
        return curves(heading, description, line, cells)
    words = f"{found.get('status', 'no status')} {found.get('error', '')}"
    trouble: Trouble = "corrupt" if "pattern" in words else "other"
    return curves(heading, description, LogLine(line.number, words), trouble)


def _of_test(
    facts: SuiteHeading, line: LogLine, found: Mapping[str, Any], cells: Matrix
) -> SuiteHeading:
    settings = dict(facts.settings)
    count = sum(one is not None for row in cells for one in row)
    if count > 1:
        settings["cells"] = str(count)
        settings["sum of all cells"] = str(found.get("sum", ""))
    return SuiteHeading(
        suite=SUITE, version=facts.version, benchmark=str(found.get("name") or UNNAMED),
        title=str(found.get("bandwidth_description", "")).strip(), first_line=line.number,
        settings=settings, hosts=facts.hosts,
    )  # fmt: skip


def _cells(matrix: Any, is_total: bool) -> Matrix:
    rows = [row for row in matrix if isinstance(row, list)] if isinstance(matrix, list) else []
    kept: Sequence[Any] = rows[-(len(rows) // 3) :] if is_total and len(rows) % 3 == 0 else rows
    return [[cell(str(token)) for token in row] for row in kept]


JSON_DIALECT = JsonDialect(SUITE, recognised, read)
