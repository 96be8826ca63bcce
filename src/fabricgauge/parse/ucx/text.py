"""ucx_perftest's output, line by line."""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.table import Column, Table
from fabricgauge.parse.ucx.context import Context
from fabricgauge.parse.ucx.figures import Names, Row, names_of, row_of
from fabricgauge.parse.ucx.known_tests import Test

BEGINS = (
    r"^Waiting for connection\.\.\.$|^\+-{14}\+-|^\+-{90}\+|^\+-{106}\+"
    r"|^\|(?: +(?:Stage|Test) +\|)? +# iterations +\|"
    r"|^\| API: +(?:protocol|transport) layer|iterations,(?:typical|[\d.]+_percentile)_lat,avg_lat,"
    r"|ucx_perftest\s"
)
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
_BAD_RUN = "UCX says that something failed"
_OTHER = "a part of ucx_perftest's output"
_UNFINISHED = "no final line: cut off, or still running; this is the last line of progress"
_EMPTY = "the table ends before its first figures"
_LONGEST_COMMAND = 500
_MOST_SAMPLES = 1e15


class UcxReader:
    """Reads one or more outputs of ucx_perftest, client's or server's."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._context = Context()
        self._figures: _Figures | None = None
        self._shown = False

    def line(self, line: Line) -> Iterable[SuiteCurve]:
        text = line.text.strip()
        if self._figures is not None and (row := row_of(text, self._figures.names)):
            return self._figures.take(line, row, self._context)
        names = names_of(text)
        if names is not None:
            closed = self._close()
            self._figures, self._shown = _Figures(line, names), True
            return closed
        if text.startswith("| API:") or _COMMAND.search(text):
            return self._begin(line, text)
        return self._within(line, text)

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._begin(None, "")

    def _begin(self, line: Line | None, text: str) -> Iterable[SuiteCurve]:
        """A box or a command line ends what was before; a box may follow its command line."""
        closed = self._close()
        if self._context.announced is not None and not self._shown:
            self._report(self._context.announced, _NO_FIGURES)
        command = _COMMAND.search(text)
        if command is not None:
            words = " ".join(command["command"][:_LONGEST_COMMAND].split())
            self._context = Context(command=words)
        else:
            kept = "" if self._shown else self._context.command
            boxed = Context(announced=line, command=kept)
            self._context = boxed.with_box(text) or boxed
        self._shown = False
        return closed

    def _within(self, line: Line, text: str) -> Iterable[SuiteCurve]:
        if _OVERHEAD.match(text):
            self._context = msgspec.structs.replace(self._context, overhead=True)
        batch = _BATCH.fullmatch(text[:-1]) if text.endswith("+") else None
        if batch is not None and not _RULER.fullmatch(text):
            closed = self._figures.progress_only(self._context) if self._figures else ()
            self._context = msgspec.structs.replace(self._context, batch=batch["name"])
            return closed
        boxed = self._context.with_box(text) if self._context.announced else None
        if boxed is not None:
            self._context = boxed
        elif text and not _RULER.fullmatch(text) and not _PROSE.match(text):
            self._report(line, _BAD_RUN if _FAILED.match(text) else _OTHER)
        return ()

    def _close(self) -> Iterable[SuiteCurve]:
        figures, self._figures = self._figures, None
        return () if figures is None else figures.end(self._context)


class _Figures:
    """What follows one heading of columns: progress and final rows."""

    def __init__(self, first: Line, names: Names) -> None:
        self.names = names
        self._first = first
        self._last: tuple[Line, Row] | None = None
        self._given = False

    def take(self, line: Line, row: Row, context: Context) -> Iterable[SuiteCurve]:
        """A final row gives curves; one of progress is kept until a later one comes."""
        self._last = (line, row)
        if not self.names.csv and (not row.name or row.name.startswith("[thread")):
            return ()
        if row.name not in ("", "Final:"):
            context = msgspec.structs.replace(context, batch=row.name)
        return self._curves(context, "")

    def progress_only(self, context: Context) -> Iterable[SuiteCurve]:
        """UCX before 1.10 writes no final row: the last one is it."""
        if self._last is None:
            return ()
        return self._curves(context, _UNFINISHED if self.names.staged else "")

    def end(self, context: Context) -> Iterable[SuiteCurve]:
        if self._last is None and not self._given:
            return self._curves(context, _EMPTY)
        return self.progress_only(context)

    def _curves(self, context: Context, cut_off: str) -> Iterable[SuiteCurve]:
        last, self._last, self._given = self._last, None, True
        test = context.test
        table = Table(context.heading(self._first.number), _columns(test))
        if last is not None:
            _add(table, last[0], last[1], self.names.rank, context.message_bytes)
        origin = 1 if test.from_target else 0
        return tuple(
            msgspec.structs.replace(curve, origin=origin, target=1 - origin)
            for curve in table.curves(cut_off)
        )


def _columns(test: Test) -> tuple[Column, ...]:
    return (
        Column("time", test.time, "mean", "µs", 1e-6, test.latency_pattern),
        Column("bandwidth", test.bandwidth, "mean", _MB, 2.0**20, test.bandwidth_pattern),
        Column("message_rate", test.bandwidth, "mean", "messages/s", 1.0),
    )


def _add(table: Table, line: Line, row: Row, rank: Besides | None, size: int | None) -> None:
    """0.00 MB/s and 0 messages/s beside a sound time are a slow network's rounding."""
    sound = row.overall_us > 0
    bandwidth = None if sound and row.bandwidth == 0 else row.bandwidth
    rate = None if sound and row.rate == 0 else row.rate
    more: dict[Besides, float] = {rank: row.percentile} if rank and row.percentile > 0 else {}
    samples = int(row.iterations) if 0 <= row.iterations < _MOST_SAMPLES else 0
    table.row(line, size, [row.overall_us, bandwidth, rate], [more], samples)
