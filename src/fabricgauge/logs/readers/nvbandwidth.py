"""Read nvbandwidth's text, and its JSON (``-j``, since v0.5), whose cells are strings.

Source: nvbandwidth v0.1 to v0.8 (nvbandwidth.cpp, output.cpp, inline_common.h: the printed lines;
json_output.cpp); v0.10 adds ``COEFFICIENT_OF_VARIATION``, as seen in published outputs.

One matrix becomes one curve: the median of its cells, with their extremes. The ``SUM`` that
nvbandwidth prints adds up cells that were measured one after another in most of its tests; it is no
rate that anything reached, so it is kept as a setting only.

Source: nvbandwidth v0.8, testcases_ce.cpp, testcases_sm.cpp, memcpy.cpp (a cell is bytes/s times
1e-9, the median of 3 samples), inline_common.h; v0.4, common.h. In JSON a device-to-device test in
both directions puts its three matrices (each direction, then the total) below each other; its sum
and its description are the total's, so only that one is read.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Literal, cast

import msgspec

from fabricgauge.logs.readers.interface import Dialect, JsonDialect, LogLine, Report
from fabricgauge.logs.readers.json_text import Elements, joined, value
from fabricgauge.logs.readers.lines import figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, GpuPairs, LogEvidence, SuiteCurve, Trouble

SUITE = "nvbandwidth"
_GB = "GB = 10^9 bytes (nvbandwidth)"
#: The cells of 1,024 GPUs in one clique.
_MOST_CELLS = 1 << 20
_MOST_DEVICES = 1 << 12
_MOST_GPUS = 64  # GPUs of one node, whose matrix is kept cell by cell

#: Tests that measure one way at a time: between two GPUs of a node, or a GPU and the host's memory.
_ONE_WAY = re.compile(
    r"device_to_device_memcpy_(?:read|write)_(?:ce|sm)"
    r"|(?P<to>host_to_device_memcpy_(?:ce|sm))|(?P<from>device_to_host_memcpy_(?:ce|sm))"
)


class NvbandwidthFacts(msgspec.Struct):
    """Facts of one output; each device and host is named once."""

    version: str = ""
    settings: dict[str, str] = {}
    devices: dict[str, None] = {}
    hosts: dict[str, None] = {}
    buses: list[str] = []

    def add_device(self, device: str, host: str | None, bus: str | None) -> None:
        if len(self.devices) < _MOST_DEVICES and len(self.buses) < _MOST_DEVICES:
            self.buses += [bus] if bus else []
            self.devices.setdefault(device)
            self.hosts.update({host: None} if host else {})

    def heading(self, name: str, title: str, first_line: int) -> SuiteHeading:
        devices = {"device": ", ".join(self.devices)}
        return SuiteHeading(
            SUITE, self.version, name or "unnamed test", title, first_line,
            settings=self.settings | devices, hosts=tuple(self.hosts),
        )  # fmt: skip


def curves(
    heading: SuiteHeading,
    line: LogLine | None,
    trouble: Trouble | None = None,
    matrix: Sequence[Sequence[float | None]] = (),
    description: str = "",
    summed: str = "",
    cut_off: str = "",
    facts: NvbandwidthFacts | None = None,
) -> tuple[SuiteCurve, ...]:
    """Return one test's curve: the figure of its whole matrix, or a failure.

    ``line`` is the figure's or failure's line, None without either; ``description`` is the matrix'
    own heading, ``summed`` is the printed sum of it. A cell of a pair that was not measured is
    None; a cell that is no measurement makes the matrix a failure.
    """
    is_square = description.count("GPU(") == 2
    measured = [
        figure
        for row, cells in enumerate(matrix)
        for place, figure in enumerate(cells)
        if figure is not None and not (is_square and row == place and figure == 0)
    ]
    if len(measured) > 1:
        settings = {"cells": str(len(measured)), "sum of all cells": summed}
        heading = msgspec.structs.replace(heading, settings=heading.settings | settings)
    if facts and (one_way := _ONE_WAY.fullmatch(heading.benchmark)):
        host = cast("Literal['to', 'from'] | None", one_way.lastgroup)
        pairs = _host_pairs(matrix, facts, host) if host else _pairs(matrix, description, facts)
        heading = msgspec.structs.replace(heading, evidence=LogEvidence(gpu_pairs=pairs))
    table = SuiteTable(heading, (column(description),))
    if line is None:
        return table.curves(cut_off)
    if trouble or not measured:
        table.failed(line, None, trouble or "other")
    elif not all(math.isfinite(figure) and figure > 0 for figure in measured):
        table.failed(line, None, "not a number")
    else:
        extremes: dict[Besides, float] = {"minimum": min(measured), "maximum": max(measured)}
        table.row(line, None, (median(measured),), (extremes,))
    return table.curves(cut_off)


def _pairs(
    matrix: Sequence[Sequence[float | None]], description: str, facts: NvbandwidthFacts
) -> GpuPairs | None:
    """Return the matrix by the GPU that bytes leave; None if incomplete or of a whole clique."""
    if not matrix or len(matrix) > _MOST_GPUS or any(len(row) != len(matrix) for row in matrix):
        return None
    if any(figure is not None and not math.isfinite(figure) for row in matrix for figure in row):
        return None
    rows = matrix if "->" in description else [*zip(*matrix, strict=True)]
    return GpuPairs(_rates(rows), tuple(facts.buses), tuple(facts.devices))


def _host_pairs(
    matrix: Sequence[Sequence[float | None]], facts: NvbandwidthFacts, host: Literal["to", "from"]
) -> GpuPairs | None:
    """Return the one row of a copy between the host and each GPU; None if it is not one row."""
    if len(matrix) != 1 or not all(figure and math.isfinite(figure) for figure in matrix[0]):
        return None
    return GpuPairs(_rates(matrix), tuple(facts.buses), tuple(facts.devices), host=host)


def _rates(
    rows: Iterable[Sequence[float | None]],
) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(figure and figure * 1e9 for figure in row) for row in rows)


def column(description: str) -> SuiteColumn:
    """Return the column of a matrix's cells: bandwidths, or latencies in ns."""
    words = description.removesuffix("(GB/s)").removesuffix("(ns)").strip()
    if description.endswith("(ns)"):
        return SuiteColumn("time", f"{words}: median over the pairs", "median", "ns", 1e-9)
    directions = 2 if "<->" in description and "Total" in description else 1
    meaning = f"{words or 'memory copy'}: median over the pairs"
    if "<->" in description and directions == 1:
        meaning += ", one of both directions at once"
    return SuiteColumn("bandwidth", meaning, "median", _GB, 1e9, directions=directions)


def cell(token: str) -> float | None:
    """Return a cell as printed: None for ``N/A``, not a number for other words."""
    return None if token == "N/A" else figure_of(token)  # noqa: S105


_VERSION = re.compile(r"nvbandwidth Version: (?P<version>\S+)")
_RUNNING = re.compile(r"Running (?P<name>\w+)\.$")
_WAIVED = re.compile(r"Waiv(?:ing (?P<name>\w+)\.|ed:.*)$")
_DESCRIPTION = re.compile(
    r"(?:mem(?:cpy|ory)|multicast|Device to Device) .*\((?:GB/s|ns)\)$|Bisect benchmarking"
)
_SUMMED = re.compile(
    r"(?:&&&& PERF|SUM|MIN|MAX|AVG|COEFFICIENT_OF_VARIATION) (?P<name>\w+) (?P<value>\S+)(?: \S+)?$"
)
_SETTING = re.compile(
    r"(?P<name>CUDA Runtime Version|CUDA Driver Version(?: \(API\))?|Driver Version"
    r"|MPI version|Built from Git version): *(?P<value>.*)"
)
_DEVICE = re.compile(
    r"(?:Device \d+: |Process +\d+ \((?P<host>\S+)\): device \d+: ?)"
    r"(?P<device>.*?)(?: \((?P<bus>[\da-f:]+)\))?$"
)
_ERROR = re.compile(
    r".*Invalid value when checking the pattern|(?i:error): |\[?(?:CUDA|NVML)_ERROR"
    r"|ASSERT in expression|\[cuda\w+\] "
)
_PROSE = re.compile(
    r"NOTE: |Performance can vary with|Additional system-specific tuning|Warning: there are more"
    r"|Sample \d+: |Measures? |=+$"
)


class NvbandwidthReader:
    """Reads one test after the other: its name, its matrix' heading, the matrix, its sum."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._facts = NvbandwidthFacts()
        self._corrupt: LogLine | None = None
        self._begin_test()

    def line(self, line: LogLine) -> Iterator[SuiteCurve]:
        text = line.text.strip()
        if match := _VERSION.match(text):
            yield from self.end()
            self._facts = NvbandwidthFacts(match["version"].lstrip("v"))
        elif not text or _PROSE.match(text) or self._is_fact(text):
            return
        elif match := _RUNNING.match(text):
            yield from self._end_test("")
            self._name, self._named_at = match["name"], line.number
        elif match := _WAIVED.match(text):
            yield from self._failure(line, match["name"] or "", "waived")
        elif _ERROR.match(text):
            if "pattern" in text:
                # The message precedes the figure that it spoils.
                self._corrupt = line
                return
            sought = re.search(r"Testcase (\w+) not found", text)
            name = sought[1] if sought else "" if self._has_result else self._name
            yield from self._failure(line, name)
        else:
            yield from self._matrix_line(line, text)

    def end(self) -> Iterator[SuiteCurve]:
        missing = self._description or (self._name and not self._has_result)
        yield from self._end_test("ends before the SUM of this test" if missing else "")

    def _begin_test(self) -> None:
        self._name, self._named_at, self._has_result = "", 0, False
        self._corrupt = None
        self._begin_matrix("", 0)

    def _begin_matrix(self, description: str, number: int) -> None:
        self._description, self._described_at = description, number
        self._columns = 0
        self._rows: list[list[float | None]] = []
        self._last: LogLine | None = None

    def _is_fact(self, text: str) -> bool:
        facts = self._facts
        # From v0.6 on the host's name stands alone above the devices.
        above = "Driver Version" in facts.settings and not (facts.devices or self._name)
        if match := _SETTING.match(text):
            name = "nvbandwidth build" if match["name"].startswith("Built") else match["name"]
            if match["value"].strip():
                facts.settings[name] = match["value"].strip()
        elif match := _DEVICE.match(text):
            facts.add_device(match["device"], match["host"], match["bus"])
        elif above and re.fullmatch(r"[A-Za-z0-9][\w.-]*", text):
            facts.hosts.setdefault(text)
        else:
            return False
        return True

    def _matrix_line(self, line: LogLine, text: str) -> Iterator[SuiteCurve]:
        tokens, has_room = text.split(), len(self._rows) * self._columns < _MOST_CELLS
        if _DESCRIPTION.match(text):
            yield from self._end_matrix("")
            self._begin_matrix(text, line.number)
        elif match := _SUMMED.match(text):
            # Other totals than the sum follow it.
            if text.startswith(("SUM", "&&&&")):
                self._name = self._name or match["name"]
                if not self._description:
                    self._begin_matrix("memory copy (GB/s)", line.number)
                    self._rows, self._last = [[cell(match["value"])]], line
                yield from self._end_matrix("", match["value"])
        elif self._description and not self._columns:
            self._columns = len(tokens)
        elif self._description and len(tokens) > self._columns and has_room:
            self._rows.append([cell(token) for token in tokens[-self._columns :]])
            self._last = line
        else:
            self._report(line, "a line of nvbandwidth")

    def _failure(
        self, line: LogLine, name: str, trouble: Trouble = "other"
    ) -> Iterator[SuiteCurve]:
        yield from self._end_test("")
        self._has_result = True
        yield from curves(self._heading(name, "", line.number), line, trouble)

    def _end_test(self, cut_off: str) -> Iterator[SuiteCurve]:
        yield from self._end_matrix(cut_off)
        if cut_off and self._name and not self._has_result:
            heading = self._heading(self._name, "", self._named_at)
            yield from curves(heading, None, cut_off=cut_off)
        self._begin_test()

    def _end_matrix(self, cut_off: str, summed: str = "") -> Iterable[SuiteCurve]:
        if not self._description:
            return ()
        ended = curves(
            self._heading(self._name, self._description, self._described_at),
            self._corrupt or self._last, "corrupt" if self._corrupt else None,
            self._rows, self._description, summed, cut_off, self._facts,
        )  # fmt: skip
        self._has_result = True
        self._begin_matrix("", 0)
        return ended

    def _heading(self, name: str, title: str, first_line: int) -> SuiteHeading:
        title = title or f"Running {name or 'a test that the log does not name'}"
        return self._facts.heading(name, title, self._named_at or first_line)


DIALECT = Dialect(
    suite=SUITE,
    begins={
        "nvbandwidth Version: ": r"nvbandwidth Version: ",
        "Running ": r"^\s*Running (?:multinode_|device_|host_|all_to_|one_to_)\w+\.\s*$",
        "mem": r"^\s*mem(?:cpy|ory latency) (?:CE|SM|local) .*\((?:GB/s|ns)\)",
    },
    reader=NvbandwidthReader,
)


_JSON_BEGINS = re.compile(r'\s*\{\s*"nvbandwidth"\s*:')
_OTHER_UNIT = re.compile(r"\((?!GB/s\)|ns\))([^()]{1,12}/s|[kKMGT]?[bB]ps|[mu]?s(?:ec)?)\)\s*$")
_FACTS = ("CUDA Runtime Version", "Driver Version", "git_version")
_JSON_DEVICE = re.compile(
    r"\d+: (?P<device>.*?)(?: \((?P<bus>[\da-f:]+)\))?(?:: \((?P<host>[^()]+)\))?$"
)


def read(text: str, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    """Yield one curve per test; for an output that is cut off, those of its whole tests."""
    text = joined(text)
    facts = _facts(text)
    heading = facts.heading("", "JSON output of nvbandwidth", first_line)
    tests = Elements(text, "testcases")
    element = None
    for element in tests:
        line = LogLine(first_line + element.line, str(element.value)[:200])
        if isinstance(element.value, dict):
            unit = _OTHER_UNIT.search(str(element.value.get("bandwidth_description", "")))
            if unit:
                report(line, f"a test of nvbandwidth in GB/s or ns, not {unit[1]}")
            else:
                yield from _curves(facts, line, element.value)
        else:
            report(line, "a test of nvbandwidth")
    error = value(text, "error")
    if isinstance(error, str):
        yield from curves(heading, LogLine(first_line, error), "other")
    elif not tests.complete:
        yield from curves(heading, None, cut_off="the list of tests breaks off")
    elif element is None:
        report(LogLine(first_line, "testcases"), "at least one test of nvbandwidth")


def _facts(text: str) -> NvbandwidthFacts:
    values, version = {name: value(text, name) for name in _FACTS}, value(text, "version")
    settings = {name: str(fact) for name, fact in values.items() if fact not in (None, "")}
    facts = NvbandwidthFacts(version.lstrip("v") if isinstance(version, str) else "", settings)
    for element in Elements(text, "GPU Device list"):
        if match := _JSON_DEVICE.match(str(element.value)):
            facts.add_device(match["device"], match["host"], match["bus"])
    return facts


def _curves(
    facts: NvbandwidthFacts, line: LogLine, test: Mapping[str, Any]
) -> Iterable[SuiteCurve]:
    description = str(test.get("bandwidth_description", "")).strip()
    printed = test.get("bandwidth_matrix")
    rows = [row for row in printed if isinstance(row, list)] if isinstance(printed, list) else []
    # Only the last of a total's three matrices is the total.
    rows = rows[-(len(rows) // 3) :] if "Total" in description and len(rows) % 3 == 0 else rows
    matrix = [[cell(str(token)) for token in row] for row in rows]
    heading = facts.heading(str(test.get("name") or ""), description, line.number)
    trouble: Trouble | None = None
    if not matrix or "error" in test:
        words = f"{test.get('status', 'no status')} {test.get('error', '')}"
        waived = test.get("status") == "Waived" and "error" not in test
        trouble = "corrupt" if "pattern" in words else "waived" if waived else "other"
        line = LogLine(line.number, words)
    summed = str(test.get("sum", ""))
    return curves(heading, line, trouble, matrix, description, summed, facts=facts)


JSON_DIALECT = JsonDialect(SUITE, _JSON_BEGINS.match, read)
