"""One NetPIPE run after the other, from the console or from its files."""

import re
from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.netpipe.rows import Row, console_row, file_row
from fabricgauge.parse.netpipe.run import Run

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
        self._run: Run | None = None
        self._seen = False

    def line(self, line: Line) -> Iterable[SuiteCurve]:
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

    def _open(self, line: Line) -> Run:
        if self._run is None:
            self._run = Run(line)
        return self._run

    def _row(self, line: Line, row: Row) -> Iterable[SuiteCurve]:
        """Rows are numbered from 0 or 1; in files sizes grow."""
        run = self._open(line)
        if run.follows(row):
            run.add(line, row)
            return
        yield from self.end()
        self._open(line).add(line, row)

    def _heading(self, line: Line) -> bool:
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
