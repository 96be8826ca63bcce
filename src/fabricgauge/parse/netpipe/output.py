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
_SETTINGS = (
    ("perturbations", re.compile(r"^Using (?P<value>no) perturbations|^Only testing (?P<more>factors of 2)")),
    ("socket buffers", re.compile(r"^Send and receive buffers are (?P<value>\d+ and \d+ bytes)")),
    ("cache", re.compile(r"(?P<value>without cache effects|different memory buffer each time)")),
    ("receives", re.compile(r"^(?P<value>[Pp]reposting (?:asynchronous|all) receives)")),
    ("sends", re.compile(r"^Using (?P<value>synchronous sends)")),
    ("send offset", re.compile(r"^(?:Transmit buffer offset: |Offsetting send buffer by )(?P<value>\d+)")),
    ("receive offset", re.compile(r"^(?:Receive buffer offset: |Offsetting recv buffer by )(?P<value>\d+)")),
    ("trials", re.compile(r"^Start testing with (?P<value>\d+) trials")),
)  # fmt: skip
_KNOWN = re.compile(
    r"^\s*$|^Now starting the main loop|^\(A bug in Linux|^Streaming does not provide|^measurement of"
    r"|^messages may get bundled|may get bundled together|of the latency since small|MPI implementations do not"
    r"|^You may need to run using -a|^Output is for the combined|The output shows the combined"
    r"|Clock resolution ~|^Starting measurements at|^Test using cache effects|data will always come"
    r"|^Using a constant number|^NOTE: |recommend bidirectional|Multiple overlapping"
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
        elif not (self._heading(line) or _KNOWN.search(line.text)):
            self._report(line, "a row or a remark of NetPIPE")
        elif _OUTPUT.match(line.text) and self._run is not None and self._run.rows:
            yield from self.end()

    def end(self) -> Iterable[SuiteCurve]:
        """A heading without rows is told of, unless it only trails behind its rows."""
        run, self._run = self._run, None
        if run is not None and (run.rows or not self._seen):
            self._seen = True
            yield from run.curves()

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
        if _OUTPUT.match(text):
            return True
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
