"""NetPIPE 3 to 5: its console lines and the files that it writes (``np.out``).

One NetPIPE run: its rows, and the curves that they make.

One NetPIPE run after the other, from the console or from its files.
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.netpipe_rows import BEGINS, NetPipeRow, console_row, file_row, rule_of
from fabricgauge.parse.table import MOST_ROWS, SuiteColumn, SuiteHeading, SuiteTable

#: NetPIPE ends when one message takes this long, if no upper size is set (netpipe.h 3.7.1).
STOP_S = 1.0

Mode = Literal["ping-pong", "stream", "both"]

_WHAT: dict[Mode, tuple[str, str]] = {
    "ping-pong": ("half round trip", "ping-pong bandwidth (size / half round trip)"),
    "stream": ("time per message of a one-way stream", "one-way stream of blocking sends"),
    "both": ("message each way at once", "both directions at once (both sizes / time)"),
}


class NetPipeRun:
    """Grows row by row. ``mode`` is what the heading says; files have no heading."""

    def __init__(self, line: LogLine) -> None:
        self.rows: list[tuple[LogLine, NetPipeRow]] = []
        self.settings: dict[str, str] = {}
        self.hosts: dict[int, str] = {}
        self.mode: Mode = "ping-pong"
        self.pairs = 1
        self.checks = False
        self.completed = False
        self.first = line

    def follows(self, row: NetPipeRow) -> bool:
        """Whether the row can belong to this run."""
        if not self.rows:
            return True
        last = self.rows[-1][1]
        if (row.index < 0) != (last.index < 0) or row.form != last.form:
            return False
        return row.index > last.index if row.index >= 0 else row.message_bytes > last.message_bytes

    def add(self, line: LogLine, row: NetPipeRow) -> None:
        if len(self.rows) < MOST_ROWS:
            self.rows.append((line, row))

    def curves(self) -> tuple[SuiteCurve, ...]:
        """Time and bandwidth over the sizes."""
        self._halve()
        form = self.rows[0][1].form if self.rows else ""
        rule = rule_of([row for _, row in self.rows], self._directions, form or "3")
        table = SuiteTable(self._heading(form), self._columns(form, rule.bits, rule.text))
        for line, row in self.rows:
            self._add_to(table, line, row)
        return table.curves(self._cut_off())

    def _add_to(self, table: SuiteTable, line: LogLine, row: NetPipeRow) -> None:
        if row.mbps is not None:
            rounded_off = row.mbps == 0 and bool(row.time_s)
            mbps = None if rounded_off else row.mbps
            table.row(line, row.message_bytes, [row.time_s, mbps], samples=row.repeats)
        elif not row.passed:
            corrupt = self.checks and "fail" in line.text.lower()
            table.failed(line, row.message_bytes, "corrupt" if corrupt else "cut off")

    def _halve(self) -> None:
        """Files have the sizes of a two-way run doubled: 2, 4, 6 for 1, 2, 3 bytes."""
        if not (self._of_file and [row.message_bytes for _, row in self.rows[:3]] == [2, 4, 6]):
            return
        self.mode = "both"
        self.settings["sizes"] = "half of those in the file, which adds both ways up"
        self.rows = [
            (line, msgspec.structs.replace(row, message_bytes=row.message_bytes // 2))
            for line, row in self.rows
        ]

    @property
    def _of_file(self) -> bool:
        return bool(self.rows) and self.rows[0][1].index < 0

    @property
    def _directions(self) -> int:
        return 2 if self.mode == "both" else 1

    def _heading(self, form: str) -> SuiteHeading:
        tcp = "socket buffers" in self.settings
        hosts = tuple(self.hosts[rank] for rank in sorted(self.hosts))
        return SuiteHeading(
            "netpipe", form, "NPtcp" if tcp else "NetPIPE",
            "np.out" if self._of_file else self.first.text.strip()[:200], self.first.number,
            pairs=max(1, self.pairs), ranks=len(hosts) or None, transport="tcp" if tcp else "",
            settings=self.settings, hosts=hosts,
        )  # fmt: skip

    def _columns(self, form: str, bits: int, rule: str) -> tuple[SuiteColumn, SuiteColumn]:
        time, bandwidth = _WHAT[self.mode]
        pattern: Pattern | None = "latency" if self.mode == "ping-pong" else None
        directions = self._directions
        statistic: Literal["mean", "minimum"] = "mean" if form == "5" else "minimum"
        return (
            SuiteColumn("time", time, statistic, "µs", 1.0, pattern, directions),
            SuiteColumn("bandwidth", bandwidth, statistic, rule, bits / 8, None, directions),
        )

    def _cut_off(self) -> str:
        if not self.rows:
            return "" if self.completed else "no row: the output ends before the first one"
        last = self.rows[-1][1]
        if last.mbps is None and not last.passed:
            return f"the row of {last.message_bytes} bytes stops in the middle"
        if self.completed or (last.time_s or 0.0) >= STOP_S or self.checks:
            return ""
        if last.form == "5" and last.index >= 0:
            return f"ends at {last.message_bytes} bytes without the line 'Completed with'"
        return (
            f"ends at {last.message_bytes} bytes, where a message takes {last.time_s or 0.0:.3g} s;"
            f" by itself NetPIPE goes on until one takes {STOP_S:g} s:"
            " cut off, or run with a smaller maximum"
        )


_HOST = re.compile(r"^(?P<rank>\d{1,6}): (?P<host>[A-Za-z][\w.-]*)\s*$")
_HOST_5 = re.compile(r"^Proc (?P<rank>\d{1,6}) is on host (?P<host>\S+)")
_PAIRS = re.compile(r"^Bidirectional mode using (?P<pairs>\d{1,6}) pairs of processes")
_SETTINGS = tuple(
    (name, re.compile(regex))
    for name, regex in (
        ("perturbations", r"^Using (no) perturbations|^Only testing (factors of 2)"),
        ("socket buffers", r"^Send and receive buffers are (\d+ and \d+ bytes)"),
        ("cache", r"(without cache effects|different memory buffer each time)"),
        ("receives", r"^([Pp]reposting (?:asynchronous|all) receives)"),
        ("sends", r"^Using (synchronous sends)"),
        ("send offset", r"^(?:Transmit buffer offset: |Offsetting send buffer by )(\d+)"),
        ("receive offset", r"^(?:Receive buffer offset: |Offsetting recv buffer by )(\d+)"),
        ("trials", r"^Start testing with (\d+) trials"),
    )
)
#: What both versions print besides, on the way to the first row.
_KNOWN = re.compile(
    r"^\s*$|^Now starting the main loop|^\(A bug in Linux|^Streaming does not provide"
    r"|^measurement of|may get bundled|of the latency since small|MPI implementations do not"
    r"|^You may need to run using -a|^Output is for the combined|The output shows the combined"
    r"|Clock resolution ~|^Starting measurements at|^Test using cache effects"
    r"|data will always come|^Using a constant number|^NOTE: |recommend bidirectional"
    r"|Multiple overlapping"
)
_OUTPUT = re.compile(r"^S(?:end|av)ing output to (?P<file>\S+)")


class NetPipeReader:
    """Keeps the rows of one run, since only all of them tell what a ``Mbps`` is."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._run: NetPipeRun | None = None
        self._seen = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        row = console_row(line.text) or file_row(line.text)
        if row is not None:
            yield from self._row(line, row)
        elif line.text.startswith("Completed with "):
            self._open(line).completed = True
            yield from self.end()
        elif _OUTPUT.match(line.text):
            if self._run is not None and self._run.rows:
                yield from self.end()
            self._open(line)
        elif not (self._heading(line) or _KNOWN.search(line.text)):
            self._report(line, "a row or a remark of NetPIPE")

    def end(self) -> Iterable[SuiteCurve]:
        """A heading without rows is told of, unless it only trails behind its rows."""
        run, self._run = self._run, None
        if run is not None and (run.rows or not self._seen):
            self._seen = True
            found = run.curves()
            if not found:
                self._report(run.first, "figures; an integrity check has none")
            yield from found

    def _open(self, line: LogLine) -> NetPipeRun:
        if self._run is None:
            self._run = NetPipeRun(line)
        return self._run

    def _row(self, line: LogLine, row: NetPipeRow) -> Iterable[SuiteCurve]:
        """Rows are numbered from 0 or 1; in files sizes grow."""
        run = self._open(line)
        if run.follows(row):
            run.add(line, row)
            return
        yield from self.end()
        self._open(line).add(line, row)

    def _heading(self, line: LogLine) -> bool:
        text = line.text
        host, pairs = _HOST.match(text) or _HOST_5.match(text), _PAIRS.match(text)
        found = [(name, match) for name, regex in _SETTINGS if (match := regex.search(text))]
        streams = text.startswith("Streaming") and "one direction" in text
        both = "both directions simultaneously" in text
        checks = "ntegrity check instead" in text
        if not (host or pairs or found or streams or both or checks):
            return False
        run = self._open(line)
        if host:
            run.hosts[int(host["rank"])] = host["host"]
        for name, match in found:
            run.settings[name] = next(value for value in match.groups() if value)
        run.pairs = int(pairs["pairs"]) if pairs else run.pairs
        run.mode = "both" if both or pairs else "stream" if streams else run.mode
        run.checks = run.checks or checks
        return True


DIALECT = Dialect("netpipe", BEGINS, NetPipeReader)
