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
from fabricgauge.parse.json_text import Elements, joined, value
from fabricgauge.parse.nvbandwidth import SUITE, NvbandwidthFacts, NvbandwidthMatrix, cell, curves

_BEGINS = re.compile(r'\s*\{\s*"nvbandwidth"\s*:')
_FACTS = ("CUDA Runtime Version", "Driver Version", "git_version")
_DEVICE = re.compile(r"\d+: (?P<device>.*?)(?: \([\da-f:]+\))?(?:: \((?P<host>[^()]+)\))?$")


def recognised(text: str) -> bool:
    return _BEGINS.match(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """One curve per test; of an output that is cut off, those of its whole tests."""
    text = joined(text)
    facts = _facts(text)
    whole = facts.heading("", "JSON output of nvbandwidth", first_line)
    tests = Elements(text, "testcases")
    element = None
    for element in tests:
        line = LogLine(first_line + element.line, str(element.value)[:200])
        if isinstance(element.value, dict):
            yield from _curves(facts, line, element.value)
        else:
            report(line, "a test of nvbandwidth")
    error = value(text, "error")
    if isinstance(error, str):
        failed = NvbandwidthMatrix(line=LogLine(first_line, error), trouble="other")
        yield from curves(whole, failed)
    elif not tests.complete:
        yield from curves(whole, NvbandwidthMatrix(), "the list of tests breaks off")
    elif element is None:
        report(LogLine(first_line, "testcases"), "at least one test of nvbandwidth")


def _facts(text: str) -> NvbandwidthFacts:
    found, version = {name: value(text, name) for name in _FACTS}, value(text, "version")
    settings = {name: str(fact) for name, fact in found.items() if fact not in (None, "")}
    facts = NvbandwidthFacts(version.lstrip("v") if isinstance(version, str) else "", settings)
    for element in Elements(text, "GPU Device list"):
        if match := _DEVICE.match(str(element.value)):
            facts.add_device(match["device"], match["host"])
    return facts


def _curves(
    facts: NvbandwidthFacts, line: LogLine, found: Mapping[str, Any]
) -> Iterable[SuiteCurve]:
    description = str(found.get("bandwidth_description", "")).strip()
    cells = _cells(found.get("bandwidth_matrix"), "Total" in description)
    trouble: Trouble | None = None
    number = line.number
    if not cells or "error" in found:
        words = f"{found.get('status', 'no status')} {found.get('error', '')}"
        trouble = "corrupt" if "pattern" in words else "other"
        line = LogLine(number, words)
    matrix = NvbandwidthMatrix(description, cells, line, str(found.get("sum", "")), trouble)
    return curves(facts.heading(str(found.get("name") or ""), description, number), matrix)


def _cells(matrix: Any, is_total: bool) -> list[list[float | None]]:
    rows = [row for row in matrix if isinstance(row, list)] if isinstance(matrix, list) else []
    kept: Sequence[Any] = rows[-(len(rows) // 3) :] if is_total and len(rows) % 3 == 0 else rows
    return [[cell(str(token)) for token in row] for row in kept]


JSON_DIALECT = JsonDialect(SUITE, recognised, read)
