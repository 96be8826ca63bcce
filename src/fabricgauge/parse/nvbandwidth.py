"""Reads the text output of nvbandwidth.

Source: nvbandwidth v0.1 to v0.8 (nvbandwidth.cpp, output.cpp, inline_common.h: the printed
lines); v0.10 adds ``COEFFICIENT_OF_VARIATION``, as seen in published outputs.

One matrix becomes one curve: the median of its cells, with their extremes. The ``SUM`` that
nvbandwidth prints adds up cells that were measured one after another in most of its tests; it
is no rate that anything reached, so it is kept as a setting only.

Source: nvbandwidth v0.8, testcases_ce.cpp, testcases_sm.cpp, memcpy.cpp (a cell is bytes/s
times 1e-9, the median of 3 samples), inline_common.h; v0.4, common.h.
"""

import math
import re
from collections.abc import Iterator, Sequence
from statistics import median

from fabricgauge.model.suite import Besides, SuiteCurve, Trouble
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.lines import figure_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

SUITE = "nvbandwidth"
UNNAMED = "unnamed test"
_GB = "GB = 10^9 bytes (nvbandwidth)"

#: A cell of a pair that was not measured is None.
Matrix = Sequence[Sequence[float | None]]


def curves(
    heading: SuiteHeading,
    description: str,
    line: LogLine | None,
    cells: Matrix | Trouble,
    cut_off: str = "",
) -> tuple[SuiteCurve, ...]:
    """One test's curve: the figure of its whole matrix, or a failure.

    ``description`` is the matrix's own heading, ``line`` is where the figure or the trouble
    stands, None without either. A cell that is no measurement makes the matrix a failure.
    """
    table = SuiteTable(heading, (column(description),))
    if line is None:
        return table.curves(cut_off)
    if isinstance(cells, str):
        table.failed(line, None, cells)
        return table.curves(cut_off)
    is_square = description.count("GPU(") == 2
    measured = [
        value
        for row, values in enumerate(cells)
        for place, value in enumerate(values)
        if value is not None and not (is_square and row == place and value == 0)
    ]
    if not measured:
        table.failed(line, None, "other")
    elif not all(math.isfinite(value) and value > 0 for value in measured):
        table.failed(line, None, "not a number")
    else:
        extremes: dict[Besides, float] = {"minimum": min(measured), "maximum": max(measured)}
        table.row(line, None, (median(measured),), (extremes,))
    return table.curves(cut_off)


def column(description: str) -> SuiteColumn:
    """What a matrix's cells are: bandwidths, or latencies in ns."""
    words = description.removesuffix("(GB/s)").removesuffix("(ns)").strip()
    if description.endswith("(ns)"):
        return SuiteColumn("time", f"{words}: median over the pairs", "median", "ns", 1e-9)
    directions = 2 if "<->" in description and "Total" in description else 1
    what = f"{words or 'memory copy'}: median over the pairs"
    if "<->" in description and directions == 1:
        what += ", one of both directions at once"
    return SuiteColumn("bandwidth", what, "median", _GB, 1e9, directions=directions)


def cell(token: str) -> float | None:
    """A cell as printed: None for ``N/A``, not a number for what is neither."""
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
    r"(?P<device>.*?)(?: \([\da-f:]+\))?$"
)
_WRONG_DATA = re.compile(r"Invalid value when checking the pattern")
_ERROR = re.compile(r"(?i:error): |\[?(?:CUDA|NVML)_ERROR|ASSERT in expression|\[cuda\w+\] ")
_PROSE = re.compile(
    r"NOTE: |Performance can vary with|Additional system-specific tuning|Warning: there are more"
    r"|Sample \d+: |Measures? |=+$"
)
#: As of 1,024 GPUs in one clique; memory stays bounded.
_MOST_CELLS = 1 << 20
_MOST_DEVICES = 1 << 12
_EXPECTED = "a line of nvbandwidth"


class NvbandwidthReader:
    """One test after the other: its name, what the matrix is, the matrix, its sum."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin_output("")

    def line(self, line: LogLine) -> Iterator[SuiteCurve]:
        text = line.text.strip()
        if match := _VERSION.match(text):
            yield from self.end()
            self._begin_output(match["version"].lstrip("v"))
            return
        if not text or _PROSE.match(text) or self._is_fact(text):
            return
        if match := _RUNNING.match(text):
            yield from self._end_test("")
            self._name, self._named_at = match["name"], line.number
        elif match := _WAIVED.match(text):
            yield from self._end_test("")
            yield from self._failure(line, match["name"] or "", "other")
        elif _WRONG_DATA.search(text) or _ERROR.match(text):
            yield from self._trouble(line, "corrupt" if "pattern" in text else "other")
        else:
            yield from self._of_matrix(line, text)

    def end(self) -> Iterator[SuiteCurve]:
        missing = self._description or (self._name and not self._done)
        yield from self._end_test("ends before the SUM of this test" if missing else "")

    def _begin_output(self, version: str) -> None:
        self._version, self._hosts = version, dict[str, None]()
        self._settings: dict[str, str] = {}
        self._devices: dict[str, None] = {}
        self._begin_test()

    def _begin_test(self) -> None:
        self._name, self._named_at, self._done = "", 0, False
        self._corrupt: LogLine | None = None
        self._begin_matrix("", 0)

    def _begin_matrix(self, description: str, number: int) -> None:
        self._description, self._described_at = description, number
        self._columns = 0
        self._rows: list[list[float | None]] = []
        self._last: LogLine | None = None

    def _is_fact(self, text: str) -> bool:
        if match := _SETTING.match(text):
            name = "nvbandwidth build" if match["name"].startswith("Built") else match["name"]
            if match["value"].strip():
                self._settings[name] = match["value"].strip()
        elif match := _DEVICE.match(text):
            if len(self._devices) >= _MOST_DEVICES:
                return True
            self._devices.setdefault(match["device"])
            if match["host"]:
                self._hosts.setdefault(match["host"])
        elif self._is_above_devices and re.fullmatch(r"[A-Za-z0-9][\w.-]*", text):
            self._hosts.setdefault(text)
        else:
            return False
        return True

    @property
    def _is_above_devices(self) -> bool:
        """From v0.6 on the host's name stands alone there."""
        return "Driver Version" in self._settings and not (self._devices or self._name)

    def _of_matrix(self, line: LogLine, text: str) -> Iterator[SuiteCurve]:
        if _DESCRIPTION.match(text):
            yield from self._end_matrix("")
            self._begin_matrix(text, line.number)
        elif match := _SUMMED.match(text):
            yield from self._summed(line, match)
        elif self._description and not self._columns:
            self._columns = len(text.split())
        elif not (self._description and self._is_row(line, text.split())):
            self._report(line, _EXPECTED)

    def _is_row(self, line: LogLine, tokens: list[str]) -> bool:
        if len(tokens) <= self._columns or len(self._rows) * self._columns >= _MOST_CELLS:
            return False
        self._rows.append([cell(token) for token in tokens[-self._columns :]])
        self._last = line
        return True

    def _summed(self, line: LogLine, match: "re.Match[str]") -> Iterator[SuiteCurve]:
        """``SUM`` ends a matrix; what else is printed of it follows."""
        if not match[0].startswith(("SUM", "&&&&")):
            return
        self._name = self._name or match["name"]
        if not self._description:
            self._begin_matrix("memory copy (GB/s)", line.number)
            self._rows, self._last = [[cell(match["value"])]], line
        yield from self._end_matrix("", match["value"])

    def _trouble(self, line: LogLine, trouble: Trouble) -> Iterator[SuiteCurve]:
        if trouble == "corrupt":
            # The message precedes the figure that it spoils.
            self._corrupt = line
            return
        sought = re.search(r"Testcase (\w+) not found", line.text)
        name = sought[1] if sought else "" if self._done else self._name
        yield from self._end_test("")
        yield from self._failure(line, name, trouble)

    def _failure(self, line: LogLine, name: str, trouble: Trouble) -> Iterator[SuiteCurve]:
        yield from curves(self._heading(name, "", line.number), "", line, trouble)
        self._done = True

    def _end_test(self, cut_off: str) -> Iterator[SuiteCurve]:
        yield from self._end_matrix(cut_off)
        if cut_off and self._name and not self._done:
            heading = self._heading(self._name, "", self._named_at)
            yield from curves(heading, "", None, (), cut_off)
        self._begin_test()

    def _end_matrix(self, cut_off: str, summed: str = "") -> Iterator[SuiteCurve]:
        if not self._description:
            return
        heading = self._heading(self._name, self._description, self._described_at, summed)
        line = self._corrupt or self._last
        cells: Matrix | Trouble = "corrupt" if self._corrupt else self._rows
        yield from curves(heading, self._description, line, cells, cut_off)
        self._done = True
        self._begin_matrix("", 0)

    def _heading(self, name: str, title: str, first_line: int, summed: str = "") -> SuiteHeading:
        settings = dict(self._settings)
        if self._devices:
            settings["device"] = ", ".join(self._devices)
        cells = sum(bool(value) for row in self._rows for value in row)
        if cells > 1:
            settings["cells"] = str(cells)
        if summed and cells > 1:
            settings["sum of all cells"] = summed
        return SuiteHeading(
            suite=SUITE, version=self._version, benchmark=name or UNNAMED,
            title=title or f"Running {name or 'a test that the log does not name'}",
            first_line=self._named_at or first_line,
            settings=settings, hosts=tuple(self._hosts),
        )  # fmt: skip


DIALECT = Dialect(
    suite=SUITE,
    begins={
        "nvbandwidth Version: ": r"nvbandwidth Version: ",
        "Running ": r"^\s*Running (?:multinode_|device_|host_|all_to_|one_to_)\w+\.\s*$",
        "mem": r"^\s*mem(?:cpy|ory latency) (?:CE|SM|local) .*\((?:GB/s|ns)\)",
    },
    reader=NvbandwidthReader,
)
