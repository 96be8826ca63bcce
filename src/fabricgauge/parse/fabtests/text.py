"""fi_pingpong's and fabtests' output, line by line."""

import re
from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.fabtests.programs import COMMAND, UNNAMED, Program, program_of
from fabricgauge.parse.fabtests.rows import Row, cut_row, text_row, yaml_row
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.table import Column, Heading, Table

BEGINS = (
    r"^\s*(?:name\s+)?bytes\s+(?:#sent\s+#ack|iters)\s+total\s+time\s+MB/sec|^- \{ xfer_size: |"
    + COMMAND
)
_COMMAND = re.compile(COMMAND)
_NAMES = re.compile(
    r"(?:name\s+)?bytes\s+(?P<sent>#sent\s+#ack|iters)\s+total\s+time\s+MB/sec\s+usec/xfer"
    r"\s+Mxfers/sec"
)
_YAML = "- { xfer_size:"
_SIZES = re.compile(r"\s-S(?=\s|\d)")
_PROSE = re.compile(r"---|Starting (?:server|client)\.\.\.")
#: What both programs go through unless told otherwise (``-S``).
_DEFAULT_BYTES = (64, 256, 1024, 4096, 65536, 1048576)
_MB = "MB = 10^6 bytes (fabtests)"
_ROW = "a row of sizes, counts, time, MB/sec, usec/xfer and Mxfers/sec"
_OTHER = "a part of fabtests' output"
_LONGEST_COMMAND = 500
_MOST_SIZES = len(_DEFAULT_BYTES) + 1


class FabtestsReader:
    """Reads one or more outputs, client's or server's, which look alike."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._command = ""
        self._heading: Line | None = None
        self._columns = 0
        self._table: Table | None = None
        self._sizes: list[int] = []
        self._name = ""

    def line(self, line: Line) -> Iterable[SuiteCurve]:
        text = line.text.strip()
        names = _NAMES.fullmatch(text)
        if names is not None:
            return self._begin(line, 8 if names["sent"].startswith("#") else 7)
        if text.startswith(_YAML):
            return self._row(line, yaml_row(text))
        if self._columns and text[:1].isalnum() and (row := text_row(text, self._columns)):
            return self._row(line, row)
        if _COMMAND.search(text):
            closed = self.end()
            self._command = " ".join(text[:_LONGEST_COMMAND].split()).rstrip(" :")
            return closed
        if text and not _PROSE.fullmatch(text):
            self._unknown(line, text)
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        """Neither program says that it is done: only its sizes tell."""
        closed = self._close()
        if self._heading is not None and self._columns and not closed and not self._name:
            self._report(self._heading, "rows under this heading: the run failed, or was cut off")
        self._heading, self._columns, self._name = None, 0, ""
        return closed

    def _begin(self, line: Line, columns: int) -> Iterable[SuiteCurve]:
        command = self._command if self._table is None else ""
        closed = self.end()
        self._heading, self._columns, self._command = line, columns, command
        return closed

    def _row(self, line: Line, row: Row | None) -> Iterable[SuiteCurve]:
        if row is None:
            self._report(line, _ROW)
            return ()
        closed: tuple[SuiteCurve, ...] = ()
        if self._table is not None and row.name != self._name:
            closed = self._close()
        if self._table is None:
            self._table, self._name = self._begun(line, row), row.name
        if len(self._sizes) < _MOST_SIZES:
            self._sizes.append(row.size_bytes)
        _add(self._table, line, row)
        return closed

    def _begun(self, line: Line, row: Row) -> Table:
        program = program_of(self._command, self._columns == 8, row.transfers)
        settings = {"command": self._command} if self._command else {}
        settings.update({"name": row.name} if row.name else {})
        heading = Heading(
            suite="fabtests", version="", benchmark=program.name, title=row.name,
            first_line=(self._heading or line).number, transport=program.transport,
            settings=settings,
        )  # fmt: skip
        return Table(heading, _columns(program, row.transfers))

    def _close(self) -> tuple[SuiteCurve, ...]:
        table, self._table = self._table, None
        sizes, self._sizes = tuple(self._sizes), []
        chosen = _SIZES.search(self._command) is not None
        return () if table is None else table.curves("" if chosen else _sign(sizes))

    def _unknown(self, line: Line, text: str) -> None:
        size = cut_row(text) if self._columns else None
        if size is not None and self._table is not None:
            self._table.failed(line, size, "cut off")
        else:
            self._report(line, _ROW if self._columns else _OTHER)


def _sign(sizes: tuple[int, ...]) -> str:
    if sizes == _DEFAULT_BYTES or sizes != _DEFAULT_BYTES[: len(sizes)]:
        return ""
    return (
        f"ends at {sizes[-1]} bytes, where the default goes on to {_DEFAULT_BYTES[-1]}:"
        " cut off, or run with other sizes"
    )


def _columns(program: Program, transfers: int) -> tuple[Column, ...]:
    time = Column("time", program.time, "mean", "µs", 1e-6, program.latency_pattern)
    bandwidth = Column("bandwidth", program.bandwidth, "mean", _MB, 1e6, program.bandwidth_pattern)
    if program is UNNAMED or transfers == 1:
        rate = Column("message_rate", program.bandwidth, "mean", "10^6 transfers/s", 1e6)
        return time, bandwidth, rate
    return time, bandwidth


def _add(table: Table, line: Line, row: Row) -> None:
    """MB/sec and Mxfers/sec of 0.00 beside a sound time are its rounding."""
    if not row.acknowledged:
        table.failed(line, row.size_bytes, "other")
        return
    values = [row.microseconds, row.megabytes, row.rate][: len(table.columns)]
    sound = row.microseconds > 0
    shown = [None if sound and value == 0 else value for value in values]
    table.row(line, row.size_bytes, shown, samples=row.iterations)
