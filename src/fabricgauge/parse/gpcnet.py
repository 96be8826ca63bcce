"""GPCNeT: ``network_test`` and ``network_load_test`` with their boxes, plain and verbose.

Each row of a box is one test, and becomes one curve with one point. What the boxes' titles and
names mean is from utils.c, 1.1 to 1.3.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.lines import figure_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

#: Title of a box, the name that a curve gets from it, and the program's own count of rows.
ISOLATED, CONGESTORS, CONGESTED, IMPACT = "isolated", "congestors", "congested", "impact"
_TITLES = (
    ("Key Results", IMPACT),
    ("Isolated Network Tests", ISOLATED),
    ("Isolated Congestion Tests", CONGESTORS),
    ("Network Tests running with Congestion Tests", CONGESTED),
)
_NAME = re.compile(r"^(?P<name>.*\S) \( *(?P<bytes>\d{1,12}) B\)$")


class BoxRow(msgspec.Struct):
    """One row of a box: its name without the size, the other cells by their columns' names.

    ``impact`` are the words on the congestion impact factor, empty where none is told.
    """

    line: LogLine
    kind: str
    name: str
    message_bytes: int | None
    cells: dict[str, str]
    impact: str = ""


def title_of(text: str) -> str | None:
    """The kind of box whose title the line is."""
    if not text.startswith("|") or text.count("|") != 2:
        return None
    return next((kind for title, kind in _TITLES if title in text), None)


def cells_of(text: str) -> list[str]:
    """The cells of the row in a line; none in rulers, titles, and broken rows."""
    stripped = text.strip()
    if not stripped.startswith("|") or not stripped.endswith("|") or stripped.count("|") < 3:
        return []
    return [cell.strip() for cell in stripped[1:-1].split("|")]


#: What the names mean; ``RR`` is the random ring, ``Nat`` the natural one. In a ring each
#: rank exchanges with both of its neighbours, which no pattern of ours does.
WHAT = {
    "RR Two-sided Lat": "latency to the neighbours of a random ring",
    "RR Get Lat": "latency of a get in a random ring",
    "RR Two-sided BW": "bandwidth per rank in a random ring",
    "RR Put BW": "bandwidth per rank of puts in a random ring",
    "RR Two-sided BW+Sync": "bandwidth per rank in a random ring with a barrier",
    "Nat Two-sided BW": "bandwidth per rank in the natural ring",
    "Multiple Allreduce": "Allreduce, many at once",
    "Multiple Alltoall": "Alltoall bandwidth per rank, many at once",
}

BEGINS = {"Tests v": r"^Network ?(?:Load)? ?Tests v\d"}
#: The tool itself has at most 8 tests and 6 congestors.
MOST_ROWS = 64

_START = re.compile(r"^(?P<program>Network ?(?:Load)? ?Tests) v(?P<version>\d\S*)")
_RANKS = re.compile(r"^ *Test with (?P<ranks>\d{1,9}) MPI ranks \((?P<nodes>\d{1,9}) nodes\)")
_NODES = re.compile(r"^ *(?P<count>\d+) nodes running (?P<kind>Network|Congestion) Tests")
_REMARK = re.compile(
    r"^\s*$|^[-+]+$|^ *Legend|^ *(?:RR|Nat|Lat|BW|BW\+Sync) = |^\+[-+]*$|^ *ERROR: this app"
)
_UNITS = {"usec": 1e-6, "MiB/s/rank": 2.0**20, "MiB/s": 2.0**20}
_BESIDES: dict[str, Besides] = {"Min": "minimum", "Max": "maximum", "99%": "p99", "99.9%": "p99.9"}
_PERCENTILE = "in p99 and p99.9: the rate that so many of the samples reach"


class GpcnetReader:
    """Keeps the few rows of one output: the impact factors come last."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._clear()

    def _clear(self) -> None:
        self._start: LogLine | None = None
        self._program = ""
        self._version = ""
        self._kind = ""
        self._names: list[str] = []
        self._ranks: int | None = None
        self._settings: dict[str, str] = {}
        self._rows: list[BoxRow] = []
        self._impacts = 0

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        start, kind, cells = _START.match(text), title_of(text), cells_of(text)
        if start:
            yield from self.end()
            self._start = line
            self._program, self._version = start["program"], start["version"]
        elif kind:
            self._kind, self._names = kind, []
        elif cells and self._kind:
            self._row(line, *cells)
        elif not (self._heading(text) or _REMARK.match(text)):
            self._report(line, "a box of GPCNeT")

    def end(self) -> Iterable[SuiteCurve]:
        if self._start is not None:
            cut_off = self._cut_off()
            for row in self._rows:
                yield from self._curve(row, cut_off if row is self._rows[-1] else "")
            if not self._rows:
                heading = self._heading_of("GPCNeT", self._start, {})
                column = SuiteColumn("time", "latency", "mean", "usec (GPCNeT)", 1e-6)
                yield from SuiteTable(heading, [column]).curves(cut_off)
        self._clear()

    def _heading(self, text: str) -> bool:
        ranks, nodes = _RANKS.match(text), _NODES.match(text)
        if ranks:
            self._ranks = int(ranks["ranks"])
            self._settings["nodes"] = ranks["nodes"]
        elif nodes:
            self._settings[f"nodes of {nodes['kind']} Tests"] = nodes["count"]
        return bool(ranks or nodes)

    def _row(self, line: LogLine, named: str, *values: str) -> None:
        sized = _NAME.match(named)
        name = sized["name"] if sized else named
        if name in ("Name", ""):
            self._names = list(values) if name else self._names
        elif self._kind == IMPACT:
            self._impact(line, name, values)
        elif len(values) != len(self._names):
            self._report(line, f"{len(self._names)} columns, as in the heading of the box")
        elif len(self._rows) < MOST_ROWS:
            size = int(sized["bytes"]) if sized else None
            cells = dict(zip(self._names, values, strict=True))
            self._rows.append(BoxRow(line, self._kind, name, size, cells))

    def _impact(self, line: LogLine, name: str, values: Sequence[str]) -> None:
        self._impacts += 1
        for row in self._rows:
            if row.kind == CONGESTED and row.name == name and len(values) == 2:
                row.impact = "{} in the mean, {} at 99 %".format(*values)
                return
        self._report(line, "an impact factor of a test that ran with congestors")

    def _curve(self, row: BoxRow, cut_off: str) -> Iterable[SuiteCurve]:
        unit = row.cells.get("Units", "")
        factor = _UNITS.get(unit)
        if factor is None:
            self._report(row.line, "a unit of GPCNeT (usec, MiB/s/rank)")
            return
        told = {"test": row.kind}
        if row.impact:
            told["congestion impact factor"] = row.impact
        if factor > 1:
            told["percentiles"] = _PERCENTILE
        heading = self._heading_of(row.name, row.line, self._settings | told)
        table = SuiteTable(heading, [_column(row, unit, factor)])
        besides = {
            key: figure_of(row.cells[name]) for name, key in _BESIDES.items() if name in row.cells
        }
        table.row(row.line, row.message_bytes, [figure_of(row.cells.get("Avg", ""))], [besides])
        yield from table.curves(cut_off)

    def _heading_of(self, name: str, line: LogLine, settings: dict[str, str]) -> SuiteHeading:
        title = f"{self._program} v{self._version}"
        return SuiteHeading(
            "gpcnet", self._version, name, title, line.number, ranks=self._ranks, settings=settings
        )

    def _cut_off(self) -> str:
        """The output has no last line: its boxes are counted."""
        done = sum(row.kind == ISOLATED for row in self._rows)
        if "Load" not in self._program:
            return "" if done >= _TESTS else f"ends after {done} of {_TESTS} tests"
        if done and self._impacts >= done:
            return ""
        return f"ends after {self._impacts} of {done or 'the'} impact factors"


def _column(row: BoxRow, unit: str, factor: float) -> SuiteColumn:
    what = WHAT.get(row.name, row.name)
    what += ", with congestors running" if row.kind == CONGESTED else ""
    what = f"congestor: {what}" if row.kind == CONGESTORS else what
    if unit == "usec":
        return SuiteColumn("time", what, "mean", "usec (GPCNeT)", factor)
    return SuiteColumn("bandwidth", what, "mean", "MiB = 2^20 bytes, per rank (GPCNeT)", factor)


#: ``NUM_NETWORK_TESTS`` of network_test.c, the same in 1.0 to 1.3.
_TESTS = 8


DIALECT = Dialect("gpcnet", BEGINS, GpcnetReader)
