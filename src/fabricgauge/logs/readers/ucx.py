"""Read ucx_perftest: boxed tables of UCX 1.2 on, ``Final:`` lines, ``-f`` and CSV (``-v``).

Facts are from UCX's sources (``src/tools/perf/perftest*.c``, ``lib/libperf.c``, v1.0-1.20):

- MB/s is 2^20 bytes/s; latency is half a round trip for ping-pongs, else per operation.
- ``average`` is over the time since the line before, ``overall`` over all; hence the
  figures of a curve are the overall ones. A percentile (or ``typical``, the median) is of
  the last samples only.
- The box that the server draws names and describes the test; the command line may, too.
- The server prints the test's name and the message size, the client prints the figures.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import command_line
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Besides, SuiteCurve

_OPERATIONS = "bytes of all operations per time"
#: The meaning of times and rates of each kind of test.
WHAT = {
    "ping-pong": ("half round trip", "ping-pong bandwidth (size / half round trip)"),
    "stream": ("sender's time per message", "one-way stream"),
    "operation": ("one operation, as its origin sees it", _OPERATIONS),
    "": ("time per message or operation: the log does not name the test", _OPERATIONS),
}


class UcxTest(NamedTuple):
    """A test. ``kind`` is ``ping-pong``, ``stream``, ``operation`` (get, atomics), or unknown."""

    name: str
    kind: str
    latency_pattern: Pattern | None = None
    bandwidth_pattern: Pattern | None = None


#: Name and, for each API, the description (UCX v1.9 and later leave out ``UCP``).
_TESTS: tuple[tuple[UcxTest, str, str], ...] = (
    (UcxTest("am_lat", "ping-pong", "latency"), "UCT", "active message latency"),
    (UcxTest("put_lat", "ping-pong", "latency"), "UCT", "put latency"),
    (UcxTest("add_lat", "ping-pong"), "UCT", "atomic add latency"),
    (UcxTest("get", "operation"), "UCT", "get latency / bandwidth / message rate"),
    (UcxTest("fadd", "operation"), "UCT", "atomic fetch-and-add latency"),
    (UcxTest("swap", "operation"), "UCT", "atomic swap latency"),
    (UcxTest("cswap", "operation"), "UCT", "atomic compare-and-swap latency"),
    (UcxTest("am_bw", "stream", None, "bandwidth"), "UCT", "active message bandwidth"),
    (UcxTest("put_bw", "stream", None, "put_bandwidth"), "UCT", "put bandwidth"),
    (UcxTest("get_bw", "stream"), "UCT", "get bandwidth"),
    (UcxTest("add_mr", "stream"), "UCT", "atomic add message rate"),
    (UcxTest("tag_lat", "ping-pong", "latency"), "UCP", "tag match latency"),
    (UcxTest("tag_bw", "stream", None, "bandwidth"), "UCP", "tag match bandwidth"),
    (UcxTest("tag_sync_lat", "ping-pong", "latency"), "UCP", "tag sync match latency"),
    (UcxTest("tag_sync_bw", "stream", None, "bandwidth"), "UCP", "tag sync match bandwidth"),
    (UcxTest("ucp_put_lat", "ping-pong", "latency"), "UCP", "put latency"),
    (UcxTest("ucp_put_bw", "stream", None, "put_bandwidth"), "UCP", "put bandwidth"),
    (UcxTest("ucp_get", "operation"), "UCP", "get latency / bandwidth / message rate"),
    (UcxTest("ucp_add", "stream"), "UCP", "atomic add bandwidth"),
    (UcxTest("ucp_fadd", "operation"), "UCP", "atomic fetch-and-add latency"),
    (UcxTest("ucp_swap", "operation"), "UCP", "atomic swap latency"),
    (UcxTest("ucp_cswap", "operation"), "UCP", "atomic compare-and-swap latency"),
    (UcxTest("stream_bw", "stream", None, "bandwidth"), "UCP", "stream bandwidth"),
    (UcxTest("stream_lat", "ping-pong", "latency"), "UCP", "stream latency"),
    (UcxTest("ucp_am_lat", "ping-pong", "latency"), "UCP", "am latency"),
    (UcxTest("ucp_am_bw", "stream", None, "bandwidth"), "UCP", "am bandwidth"),
)
_BY_NAME = {test.name: test for test, _, _ in _TESTS}
_OPTION = re.compile(r"\s-t\s*(\w+)")


_BOX = re.compile(r"\| (?P<name>[A-Z][\w ]{2,30}): +(?P<value>[^|]{0,60}?) *\|")
_SIZE = re.compile(r"\s-s\s*(\d{1,15})(?=\s|$)")
_TRANSPORT = re.compile(r"\s-x\s*(?:(?P<tcp>tcp)(?!\w)|(?P<verbs>(?:rc|ud|dc)(?:_|\b)))")
_MOST_SETTINGS = 32


class UcxRun:
    """One run: its command line, and the server's box from its ``announced`` line on.

    ``batch`` names a test of a batch file; ``overhead`` is true if the heading calls its times so,
    and not latency.
    """

    def __init__(self, command: str = "", announced: LogLine | None = None) -> None:
        self.command = command
        self.announced = announced
        self.batch = ""
        self.overhead = False
        self._box: dict[str, str] = {}

    def learn(self, text: str) -> bool:
        """Take one more line of the box; return False for another line."""
        match = _BOX.match(text) if len(self._box) < _MOST_SETTINGS else None
        if match is not None:
            self._box[match["name"]] = match["value"].strip()
        return match is not None

    def test(self, batch: str) -> UcxTest:
        # The box describes the test under ``protocol layer`` or ``transport layer``.
        layer = "UCT" if "transport" in self._box.get("API", "") else "UCP"
        words = self._box.get("Test", "").removeprefix("UCP ").strip()
        option = _OPTION.search(self.command)
        names = (option[1] if option else "", batch.split("/")[0])
        named_tests = (
            *(test for test, of, begin in _TESTS if of == layer and words.startswith(begin)),
            *(_BY_NAME[name] for name in names if name in _BY_NAME),
        )
        # Only streams have a heading with ``overhead``.
        return next(iter(named_tests), UcxTest("ucx_perftest", "stream" if self.overhead else ""))

    @property
    def message_bytes(self) -> int | None:
        option = _SIZE.search(self.command)
        size = self._box.get("Message size") or (option[1] if option else "")
        return int(size) if size.isascii() and size.isdigit() and len(size) < 16 else None

    def heading(self, test: UcxTest, batch: str, first_line: int) -> SuiteHeading:
        settings = {name.lower(): value for name, value in self._box.items()}
        settings |= {"command": self.command, "batch": batch}
        by = _TRANSPORT.search(self.command)
        return SuiteHeading(
            "ucx_perftest", "", test.name, self._box.get("Test", ""), first_line,
            transport="" if by is None else "tcp" if by["tcp"] else "rdma",
            settings=settings,
        )  # fmt: skip


#: A printed figure, with thousands' separators (``-N``); also inf and nan.
_FIGURE = r"-?(?:\d[\d,]*(?:\.\d+)?|inf|nan)"
_ROW = re.compile(
    rf"(?:(?P<name>\[thread \d+\]|[^\s\d][^\s,|]*)\s+)?"
    rf"(?P<figures>{_FIGURE}(?:\s+{_FIGURE})*)"
)
_NAMES = re.compile(
    r"\|(?: +(?P<stage>Stage|Test) +\|)? +# iterations +\| *"
    r"(?:(?P<percentile>\d{1,3}(?:\.\d{1,3})?)%ile|(?P<typical>typical)) *\| *average"
)
_CSV_NAMES = re.compile(
    r"(?:[^,\s]+,)*iterations,(?:(?P<percentile>\d{1,3}(?:\.\d{1,3})?)_percentile|(?P<typical>typical))_lat,avg_lat,"
)
#: Where a comma divides figures, none of them contains one.
_CSV_ROW = re.compile(
    r"(?P<name>(?:(?=[^,\s]*[A-Za-z_])[^,\s]*,)*?)"
    r"(?P<figures>-?\d+(?:\.\d+)?(?:,-?(?:\d+(?:\.\d+)?|inf|nan))+)"
)
#: No row is longer; the rest of a line is not read.
_LONGEST = 400
#: Ranks of percentiles that a curve has a place for.
_PLACES: dict[float, Besides] = {
    50.0: "p50", 75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p99.9",
}  # fmt: skip


class UcxColumns(NamedTuple):
    """The heading's columns: ``rank`` is the place of the percentile, None if it has none."""

    rank: Besides | None
    staged: bool
    csv: bool


#: A row's name and its figures as printed: µs, 2^20 bytes/s, messages/s; a percentile below 0 is
#: none.
UcxRow = tuple[str, list[float]]


def names_of(text: str) -> UcxColumns | None:
    match = _NAMES.match(text) or _CSV_NAMES.match(text)
    if match is None:
        return None
    rank = "typical" if match["typical"] else _PLACES.get(float(match["percentile"]))
    staged = match.groupdict().get("stage") is not None
    return UcxColumns(rank, staged, csv=match.re is _CSV_NAMES)


def row_of(text: str, names: UcxColumns) -> UcxRow | None:
    """Return a row's figures: eight, or the four of several threads' sum; None for other lines."""
    match = (_CSV_ROW if names.csv else _ROW).fullmatch(text[:_LONGEST])
    if match is None:
        return None
    printed = match["figures"].split("," if names.csv else None, 9)
    if len(printed) not in (4, 8):
        return None
    return (match["name"] or "").strip(","), [float(word.replace(",", "")) for word in printed]


def cells_of(count: int, rank: Besides | None) -> tuple[ColumnUse, ...]:
    """Return the use of a row's ``count`` figures: iterations, a time, a bandwidth and a rate.

    0.00 MB/s and 0 messages/s beside a sound time are a slow network's rounding.
    """
    overall = 3 if count == 8 else 1
    shown = (
        ColumnUse("samples"), ColumnUse("sought", besides=rank) if rank else ColumnUse("skipped"),
        ColumnUse("skipped"), ColumnUse("figure", 0),
        ColumnUse("skipped"), ColumnUse("figure", 1, rounded_by=overall),
        ColumnUse("skipped"), ColumnUse("figure", 2, rounded_by=overall),
    )  # fmt: skip
    return shown if count == 8 else (shown[0], *shown[3::2])


BEGINS = {
    "Waiting for connection": r"^Waiting for connection\.\.\.$",
    "+--------------": r"^\+-{14}\+-|^\+-{90}\+|^\+-{106}\+",
    "# iterations": r"^\|(?: +(?:Stage|Test) +\|)? +# iterations +\|",
    "| API:": r"^\| API: +(?:protocol|transport) layer",
    "iterations,": r"iterations,(?:typical|[\d.]+_percentile)_lat,avg_lat,",
    "ucx_perftest": r"ucx_perftest\s",
}
_RULER = re.compile(r"\+[-+]+\+")
_BATCH = re.compile(r"\+(?P<name>[\w.:/]+(?:-[\w.:/]+)*)-[-+]*")
_COMMAND = re.compile(r"(?P<command>ucx_perftest\s.*)")
_OVERHEAD = re.compile(r"\| {9,}\|(?: {9,}\|)? +overhead \(usec\)")
_PROSE = re.compile(
    r"\| {9,}\||\| {9,}latency|Waiting for connection\.\.\.|Accepted connection from"
    r"|\[\d+\.\d+\] \[[^\]]*\] .*UCX +(?:DEBUG|TRACE|INFO|DATA|REQ|FUNC)"
)
_FAILED = re.compile(r".*(?:UCX +(?:ERROR|WARN|FATAL)|Fatal:)")
_MB = "MB = 2^20 bytes (ucx_perftest)"
_NO_FIGURES = "figures after this description: a server prints none, else the run failed"
_BAD_RUN = "UCX reports a failure"
_OTHER = "a part of ucx_perftest's output"
_UNFINISHED = "no final line: cut off, or still running; this is the last line of progress"
_EMPTY = "the table ends before its first figures"


class UcxReader:
    """Reads one or more outputs of ucx_perftest, client's or server's.

    Rows of progress and final rows stand below one heading of columns. ``_last`` is the latest row
    since a final one. ``_has_curves`` is true once a row gave curves, ``_has_heading`` once a run
    had a heading.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._run = UcxRun()
        self._has_heading = self._has_curves = False
        self._names: UcxColumns | None = None
        self._first = 0
        self._last: tuple[LogLine, list[float]] | None = None

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text.strip()
        if self._names is not None and (row := row_of(text, self._names)):
            # A final row gives curves; one of progress is kept until a later one comes.
            name, figures = row
            self._last = line, figures
            if not self._names.csv and (not name or name.startswith("[thread")):
                return ()
            batch = self._run.batch if name in ("", "Final:") else name
            return self._curves(self._names, batch, "")
        if names := names_of(text):
            closed = self._close()
            self._names, self._first, self._last = names, line.number, None
            self._has_heading, self._has_curves = True, False
            return closed
        if text.startswith("| API:") or _COMMAND.search(text):
            return self._begin(line, text)
        return self._within(line, text)

    def end(self) -> Iterable[SuiteCurve]:
        return self._begin(None, "")

    def _begin(self, line: LogLine | None, text: str) -> Iterable[SuiteCurve]:
        """Begin at a box or a command line, which ends the run before it.

        A box may follow its command line.
        """
        closed, before = self._close(), self._run
        if before.announced is not None and not self._has_heading:
            self._report(before.announced, _NO_FIGURES)
        if command := _COMMAND.search(text):
            self._run = UcxRun(command_line(command["command"]))
        else:
            self._run = UcxRun("" if self._has_heading else before.command, line)
            self._run.learn(text)
        self._has_heading = False
        return closed

    def _within(self, line: LogLine, text: str) -> Iterable[SuiteCurve]:
        run = self._run
        if _OVERHEAD.match(text):
            run.overhead = True
        batch = _BATCH.fullmatch(text[:-1]) if text.endswith("+") else None
        if batch is not None and not _RULER.fullmatch(text):
            closed = self._progress()
            run.batch = batch["name"]
            return closed
        is_prose = not text or _RULER.fullmatch(text) or _PROSE.match(text)
        if not (run.announced and run.learn(text)) and not is_prose:
            self._report(line, _BAD_RUN if _FAILED.match(text) else _OTHER)
        return ()

    def _progress(self) -> Iterable[SuiteCurve]:
        """Return the curves of the last row, because UCX before 1.10 writes no final row."""
        if self._last is None or self._names is None:
            return ()
        return self._curves(self._names, self._run.batch, _UNFINISHED if self._names.staged else "")

    def _close(self) -> Iterable[SuiteCurve]:
        closed = self._progress()
        if self._names is not None and not self._has_curves:
            closed = self._curves(self._names, self._run.batch, _EMPTY)
        self._names = None
        return closed

    def _curves(self, names: UcxColumns, batch: str, cut_off: str) -> Iterable[SuiteCurve]:
        last, self._last, self._has_curves = self._last, None, True
        run, test = self._run, self._run.test(batch)
        time, rate = WHAT[test.kind]
        ends = (1, 0) if test.name in ("get", "get_bw", "ucp_get") else (0, 1)
        columns = (
            SuiteColumn("time", time, "mean", "µs", 1e-6, test.latency_pattern, 1, *ends),
            SuiteColumn("bandwidth", rate, "mean", _MB, 2.0**20, test.bandwidth_pattern, 1, *ends),
            SuiteColumn("message_rate", rate, "mean", "messages/s", 1.0, None, 1, *ends),
        )
        table = SuiteTable(run.heading(test, batch, self._first), columns)
        if last is not None:
            line, figures = last
            cells, printed = cells_of(len(figures), names.rank), [[figure] for figure in figures]
            table.printed(cells, line.number, line.text, printed, run.message_bytes)
        return table.curves(cut_off)


DIALECT = Dialect("ucx_perftest", BEGINS, UcxReader, units=("usec", "MB/s", "msg/s"))
