"""Read ``ucc_perftest`` of UCC: a table of one collective (tools/perf of UCC 1.0 to 1.5).

Times are in µs, over the ranks. A GB is 10^9 bytes. The bandwidth is a bus bandwidth in all
versions: each program multiplies size / time by its collective's factor (``get_bw``); since 1.5 the
heading names it. Gather and scatter give one at the slowest rank's time only, which is left out.
The output names no hosts and no number of ranks.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import number_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.suite import Besides, SuiteCurve

_SUITE = "ucc_perftest"
_COLLECTIVE = re.compile(r"^Collective: +(?P<name>[A-Za-z]\w{1,40})\s*$")
_SETTING = re.compile(
    r"^(?P<name>Memory type|Data ?type|Reduction|Operation type|Inplace): +(?P<value>\S{1,40})\s*$"
)
_COUNTS = re.compile(
    r"^(?P<part>Warmup|Iterations):\s*$|^ *(?P<size>small|large) +(?P<count>\d{1,9})\s*$"
)
_HEADING = re.compile(r"^ *Count +Size +Time, us(?P<bandwidth> +(?:Bus )?Bandwidth, GB/s)?\s*$")
#: The first versions call the bandwidth at the shortest time ``min``.
_STATISTICS = re.compile(r"^ *avg +min +max(?: +avg +(?:min +max|max +min))?\s*$")
_FIGURE = r"(?:\d{1,15}\.\d{2}|N/A|-?nan|inf)"
_ROW = re.compile(
    rf"^ *(?:\d{{1,15}}|N/A) +(?P<size>\d{{1,18}}|N/A)"
    rf"(?P<figures>(?: +{_FIGURE}){{3}}|(?: +{_FIGURE}){{6}})\s*$"
)
_END = re.compile(r"^Total time: \S+ ms\s*$")
_GB = "GB = 10^9 bytes (ucc_perftest)"


class UccReader:
    _table: SuiteTable | None

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin(None, "")

    def line(self, line: LogLine) -> Iterator[SuiteCurve]:
        text = line.text
        if collective := _COLLECTIVE.match(text):
            yield from self.end()
            self._begin(line, collective["name"])
        elif setting := _SETTING.match(text):
            self._settings[setting["name"].lower()] = setting["value"]
        elif counts := _COUNTS.match(text):
            if counts["part"]:
                self._part = counts["part"].lower()
            else:
                self._settings[f"{self._part}, {counts['size']} messages"] = counts["count"]
        elif heading := _HEADING.match(text):
            self._table = self._open(line, heading["bandwidth"] is not None)
        elif self._table is not None and (row := _ROW.match(text)):
            self._row(self._table, line, row)
        elif _END.match(text):
            yield from self._close("")
        elif text.strip() and not _STATISTICS.match(text):
            self._report(line, "a row or a setting of ucc_perftest")

    def end(self) -> Iterable[SuiteCurve]:
        """Return the last curves. Before 1.5 no line shows that a table is whole."""
        if self._first is None:
            return ()
        self._table = self._table or self._open(self._first, False)
        return self._close("" if self._table.rows else "no row follows the heading")

    def _begin(self, first: LogLine | None, name: str) -> None:
        self._first, self._name, self._part = first, name, ""
        self._settings: dict[str, str] = {}
        self._table = None

    def _open(self, line: LogLine, bandwidth: bool) -> SuiteTable:
        first, name = self._first or line, self._name or "unnamed collective"
        self._first = first
        heading = SuiteHeading(
            _SUITE, "", name.lower(), first.text.strip(), first.number, settings=self._settings
        )
        bus = f"{name}: bus bandwidth (size / time times the collective's factor)"
        columns = (
            SuiteColumn("time", f"{name}, mean over ranks", "mean", "µs", 1e-6),
            SuiteColumn("bus_bandwidth", bus, "mean", _GB, 1e9),
        )
        return SuiteTable(heading, columns if bandwidth else columns[:1])

    def _row(self, table: SuiteTable, line: LogLine, row: "re.Match[str]") -> None:
        figures = [*map(number_of, row["figures"].split())]
        mean, low, high, *bandwidth = figures
        size = None if row["size"] == "N/A" else int(row["size"])
        besides: list[dict[Besides, float]] = [{"minimum": low or 0.0, "maximum": high or 0.0}]
        values = [mean]
        if bandwidth and len(table.columns) > 1:
            # For few bytes, two decimals leave 0.00, which is no figure.
            values.append(bandwidth[0] or None)
            besides.append({"maximum": bandwidth[1] or 0.0, "minimum": bandwidth[2] or 0.0})
        if mean is None:
            table.failed(line, size, "not a number")
        else:
            table.row(line, size, values, besides)

    def _close(self, cut_off: str) -> Iterable[SuiteCurve]:
        table = self._table
        self._begin(None, "")
        return () if table is None else table.curves(cut_off)


DIALECT = Dialect(
    suite=_SUITE,
    begins={"Collective: ": _COLLECTIVE.pattern, "Time, us": _HEADING.pattern},
    reader=UccReader,
)
