"""Read GPCNeT: ``network_test`` and ``network_load_test``, plain and verbose boxes.

Each row of a box is one test, and becomes one curve with one point. What the boxes' titles and
names mean is from utils.c, 1.1 to 1.3.
"""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, SuiteCurve

#: The kinds of boxes, by a part of their titles.
ISOLATED, CONGESTORS, CONGESTED, IMPACT = "isolated", "congestors", "congested", "impact"
_TITLES = {
    "Key Results": IMPACT,
    "Isolated Network Tests": ISOLATED,
    "Isolated Congestion Tests": CONGESTORS,
    "Network Tests running with Congestion Tests": CONGESTED,
}
_NAME = re.compile(r"^(?P<name>.*\S) \( *(?P<bytes>\d{1,12}) B\)$")


class BoxRow(msgspec.Struct):
    """One row of a box: its name without the size, its cells by column name.

    ``impact`` is the text about the congestion impact factor, empty where there is none.
    """

    line: LogLine
    kind: str
    name: str
    message_bytes: int | None
    cells: dict[str, str]
    impact: str = ""


#: The meaning of the names; ``RR`` is the random ring, ``Nat`` the natural one. In a ring each rank
#: exchanges with both of its neighbours, which none of our patterns does.
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
#: ``NUM_NETWORK_TESTS`` of network_test.c, the same in 1.0 to 1.3.
_TESTS = 8
_TIME, _RATE = "usec (GPCNeT)", "MiB = 2^20 bytes, per rank (GPCNeT)"
_UNITS = {"usec": 1e-6, "MiB/s/rank": 2.0**20, "MiB/s": 2.0**20}
_BESIDES: dict[str, Besides] = {"Min": "minimum", "Max": "maximum", "99%": "p99", "99.9%": "p99.9"}
_PERCENTILE = "p99 and p99.9 are the rates that 99 % and 99.9 % of the samples reach"


class GpcnetRun(msgspec.Struct):
    """The few rows of one output: the impact factors come last."""

    start: LogLine
    program: str
    version: str
    ranks: int | None = None
    settings: dict[str, str] = {}
    rows: list[BoxRow] = []
    impacts: int = 0

    def heading(self, name: str, line: LogLine, settings: dict[str, str]) -> SuiteHeading:
        return SuiteHeading(
            "gpcnet", self.version, name, f"{self.program} v{self.version}", line.number,
            ranks=self.ranks, settings=settings,
        )  # fmt: skip

    @property
    def cut_off(self) -> str:
        """Return why the output is incomplete. It has no last line, so its boxes are counted."""
        tests = sum(row.kind == ISOLATED for row in self.rows)
        if "Load" not in self.program:
            return "" if tests >= _TESTS else f"ends after {tests} of {_TESTS} tests"
        if tests and self.impacts >= tests:
            return ""
        return f"ends after {self.impacts} of {tests or 'the'} impact factors"


class GpcnetReader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._run: GpcnetRun | None = None
        self._kind = ""
        self._names: list[str] = []

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        if start := _START.match(text):
            over = tuple(self.end())
            self._run = GpcnetRun(line, start["program"], start["version"])
            return over
        run, cells = self._run, text.strip().split("|")
        is_row = len(cells) > 3 and not (cells[0] or cells[-1])
        titles = [kind for title, kind in _TITLES.items() if title in text]
        if titles and text.startswith("|") and len(cells) == 3:
            self._kind, self._names = titles[0], []
        elif is_row and self._kind and run is not None:
            self._row(run, line, *(cell.strip() for cell in cells[1:-1]))
        elif run is not None and (ranks := _RANKS.match(text)):
            run.ranks = int(ranks["ranks"])
            run.settings["nodes"] = ranks["nodes"]
        elif run is not None and (nodes := _NODES.match(text)):
            run.settings[f"nodes of {nodes['kind']} Tests"] = nodes["count"]
        elif not _REMARK.match(text):
            self._report(line, "a box of GPCNeT")
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        run, self._run, self._kind, self._names = self._run, None, "", []
        if run is None:
            return
        for row in run.rows:
            yield from self._curve(run, row, run.cut_off if row is run.rows[-1] else "")
        if not run.rows:
            column = SuiteColumn("time", "latency", "mean", _TIME, 1e-6)
            heading = run.heading("GPCNeT", run.start, {})
            yield from SuiteTable(heading, [column]).curves(run.cut_off)

    def _row(self, run: GpcnetRun, line: LogLine, named: str, *values: str) -> None:
        sized = _NAME.match(named)
        name = sized["name"] if sized else named
        if name in ("Name", ""):
            self._names = list(values) if name else self._names
        elif self._kind == IMPACT:
            run.impacts += 1
            congested = (row for row in run.rows if (row.kind, row.name) == (CONGESTED, name))
            if len(values) == 2 and (row := next(congested, None)):
                row.impact = "{} in the mean, {} at 99 %".format(*values)
            else:
                self._report(line, "an impact factor of a test that ran with congestors")
        elif len(values) != len(self._names):
            self._report(line, f"{len(self._names)} columns, as in the heading of the box")
        elif len(run.rows) < MOST_ROWS:
            size = int(sized["bytes"]) if sized else None
            cells = dict(zip(self._names, values, strict=True))
            run.rows.append(BoxRow(line, self._kind, name, size, cells))

    def _curve(self, run: GpcnetRun, row: BoxRow, cut_off: str) -> Iterable[SuiteCurve]:
        cells, unit = row.cells, row.cells.get("Units", "")
        factor = _UNITS.get(unit)
        if factor is None:
            self._report(row.line, "a unit of GPCNeT (usec, MiB/s/rank)")
            return ()
        percentiles = _PERCENTILE if factor > 1 else ""
        settings = {
            "test": row.kind, "congestion impact factor": row.impact, "percentiles": percentiles,
        }  # fmt: skip
        heading = run.heading(row.name, row.line, run.settings | settings)
        meaning = WHAT.get(row.name, row.name)
        meaning += ", with congestors running" if row.kind == CONGESTED else ""
        meaning = f"congestor: {meaning}" if row.kind == CONGESTORS else meaning
        column = SuiteColumn("bandwidth", meaning, "mean", _RATE, factor)
        if unit == "usec":
            column = SuiteColumn("time", meaning, "mean", _TIME, factor)
        table = SuiteTable(heading, [column])
        besides = {key: figure_of(cells[name]) for name, key in _BESIDES.items() if name in cells}
        table.row(row.line, row.message_bytes, [figure_of(cells.get("Avg", ""))], [besides])
        return table.curves(cut_off)


DIALECT = Dialect("gpcnet", BEGINS, GpcnetReader)
