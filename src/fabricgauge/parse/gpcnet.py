"""GPCNeT: ``network_test`` and ``network_load_test`` with their boxes, plain and verbose.

The boxes that GPCNeT draws, and what their titles and names mean (utils.c, 1.1 to 1.3).

GPCNeT's output: each row of a box is one test, and becomes one curve with one point.
"""

import re
from collections.abc import Iterable

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


class BoxRow(msgspec.Struct, frozen=True):
    """One row of a box: its name without the size, the size, and the other cells."""

    name: str
    message_bytes: int | None
    values: tuple[str, ...]


def title_of(text: str) -> str | None:
    """The kind of box whose title the line is."""
    if not text.startswith("|") or text.count("|") != 2:
        return None
    return next((kind for title, kind in _TITLES if title in text), None)


def cells_of(text: str) -> BoxRow | None:
    """The row in a line; None for rulers, titles, and broken rows."""
    stripped = text.strip()
    if not stripped.startswith("|") or not stripped.endswith("|") or stripped.count("|") < 3:
        return None
    name, *values = [cell.strip() for cell in stripped[1:-1].split("|")]
    match = _NAME.match(name)
    size = int(match["bytes"]) if match else None
    return BoxRow(match["name"] if match else name, size, tuple(values))


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


class _Row:
    """One test's row, with the line and the box that it stands in."""

    def __init__(self, line: LogLine, kind: str, names: tuple[str, ...], cells: BoxRow) -> None:
        self.line, self.kind, self.names, self.cells = line, kind, names, cells
        self.impact = ""


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
        self._names: tuple[str, ...] = ()
        self._ranks: int | None = None
        self._settings: dict[str, str] = {}
        self._rows: list[_Row] = []
        self._impacts = 0

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        start, kind, cells = _START.match(text), title_of(text), cells_of(text)
        if start:
            yield from self.end()
            self._start = line
            self._program, self._version = start["program"], start["version"]
        elif kind:
            self._kind, self._names = kind, ()
        elif cells and self._kind:
            self._row(line, cells)
        elif not (self._heading(text) or _REMARK.match(text)):
            self._report(line, "a box of GPCNeT")

    def end(self) -> Iterable[SuiteCurve]:
        if self._start is not None:
            cut_off = self._cut_off()
            for row in self._rows:
                yield from self._curve(row, cut_off if row is self._rows[-1] else "")
            if not self._rows:
                yield from self._empty(self._start, cut_off)
        self._clear()

    def _heading(self, text: str) -> bool:
        ranks, nodes = _RANKS.match(text), _NODES.match(text)
        if ranks:
            self._ranks = int(ranks["ranks"])
            self._settings["nodes"] = ranks["nodes"]
        elif nodes:
            self._settings[f"nodes of {nodes['kind']} Tests"] = nodes["count"]
        return bool(ranks or nodes)

    def _row(self, line: LogLine, cells: BoxRow) -> None:
        if cells.name in ("Name", ""):
            self._names = cells.values if cells.name == "Name" else self._names
        elif self._kind == IMPACT:
            self._impact(line, cells)
        elif len(cells.values) != len(self._names):
            self._report(line, f"{len(self._names)} columns, as in the heading of the box")
        elif len(self._rows) < MOST_ROWS:
            self._rows.append(_Row(line, self._kind, self._names, cells))

    def _impact(self, line: LogLine, cells: BoxRow) -> None:
        self._impacts += 1
        for row in self._rows:
            if row.kind == CONGESTED and row.cells.name == cells.name and len(cells.values) == 2:
                row.impact = "{} in the mean, {} at 99 %".format(*cells.values)
                return
        self._report(line, "an impact factor of a test that ran with congestors")

    def _curve(self, row: _Row, cut_off: str) -> Iterable[SuiteCurve]:
        named = dict(zip(row.names, row.cells.values, strict=True))
        factor = _UNITS.get(named.get("Units", ""))
        if factor is None:
            self._report(row.line, "a unit of GPCNeT (usec, MiB/s/rank)")
            return
        table = SuiteTable(self._heading_of(row, factor), [_column(row, named["Units"], factor)])
        besides = {key: figure_of(named[name]) for name, key in _BESIDES.items() if name in named}
        table.row(row.line, row.cells.message_bytes, [figure_of(named.get("Avg", ""))], [besides])
        yield from table.curves(cut_off)

    def _heading_of(self, row: _Row, factor: float) -> SuiteHeading:
        told = {"test": row.kind}
        if row.impact:
            told["congestion impact factor"] = row.impact
        if factor > 1:
            told["percentiles"] = _PERCENTILE
        title = f"{self._program} v{self._version}"
        return SuiteHeading(
            "gpcnet", self._version, row.cells.name, title, row.line.number,
            ranks=self._ranks, settings=self._settings | told,
        )  # fmt: skip

    def _empty(self, start: LogLine, cut_off: str) -> Iterable[SuiteCurve]:
        title = f"{self._program} v{self._version}"
        heading = SuiteHeading(
            "gpcnet", self._version, "GPCNeT", title, start.number, ranks=self._ranks
        )
        column = SuiteColumn("time", "latency", "mean", "usec (GPCNeT)", 1e-6)
        yield from SuiteTable(heading, [column]).curves(cut_off)

    def _cut_off(self) -> str:
        """The output has no last line: its boxes are counted."""
        counts = {kind: sum(row.kind == kind for row in self._rows) for kind in _KINDS}
        if "Load" not in self._program:
            done = counts[ISOLATED]
            return "" if done >= _TESTS else f"ends after {done} of {_TESTS} tests"
        if counts[ISOLATED] and self._impacts >= counts[ISOLATED]:
            return ""
        return f"ends after {self._impacts} of {counts[ISOLATED] or 'the'} impact factors"


def _column(row: _Row, unit: str, factor: float) -> SuiteColumn:
    what = WHAT.get(row.cells.name, row.cells.name)
    what += ", with congestors running" if row.kind == CONGESTED else ""
    what = f"congestor: {what}" if row.kind == CONGESTORS else what
    if unit == "usec":
        return SuiteColumn("time", what, "mean", "usec (GPCNeT)", factor)
    return SuiteColumn("bandwidth", what, "mean", "MiB = 2^20 bytes, per rank (GPCNeT)", factor)


_KINDS = (ISOLATED, CONGESTORS, CONGESTED)
#: ``NUM_NETWORK_TESTS`` of network_test.c, the same in 1.0 to 1.3.
_TESTS = 8


DIALECT = Dialect("gpcnet", BEGINS, GpcnetReader)
