"""libfabric's fi_pingpong and fabtests: the text table and the YAML-like rows (``-m``).

Facts are from libfabric's sources (``util/pingpong.c``, ``fabtests/common/shared.c``,
v1.6-2.6): MB is 10^6 bytes; sizes are cut to ``k``, ``m``, ``g`` = 2^10, 2^20, 2^30 with one
decimal below ten, counts to 10^3, 10^6; usec/xfer is elapsed time by iterations by transfers
per iteration, which are two in a ping-pong: half a round trip. MB/sec and Mxfers/sec are the
same figure once more, rounded to two places, so that a slow test's 0.00 is no failure.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.lines import command_line, number_of
from fabricgauge.logs.readers.table import ColumnUse, SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import LogEvidence, SuiteCurve

_COMMAND = re.compile(
    r"fi_(?:pingpong|(?:rdm|msg|dgram|rma)(?:_\w{1,24})?_(?:pingpong|bw|bw_mt"
    r"|tx_completion))(?=[\s'\"`]|$)"
)
_MB = "MB = 10^6 bytes (fabtests)"
_NAME = re.compile(r"fi_\w+")
_READ = re.compile(r"\s-o\s*read(?=\s|$)")
_PROVIDER = re.compile(r"\s-p\s*[\"']?([\w;]+)")
_CARRIERS: dict[str, Literal["tcp", "rdma"]] = {
    "tcp": "tcp", "sockets": "tcp", "net": "tcp", "verbs": "rdma", "efa": "rdma", "psm2": "rdma",
    "psm3": "rdma", "opx": "rdma", "cxi": "rdma", "ucx": "rdma",
}  # fmt: skip


def columns_of(name: str, command: str, transfers: int) -> tuple[SuiteColumn, ...]:
    time = "time per transfer: the log does not name the program"
    rate = "bytes of all transfers per time: the log does not name the program"
    latency: Pattern | None = None
    stream: Pattern | None = None
    if "pingpong" in name or "ping-pong" in name:
        time, rate = "half round trip", "ping-pong bandwidth (size / half round trip)"
        latency = "latency"
    elif "_bw" in name:
        time, rate, stream = "sender's time per message", "one-way stream", "bandwidth"
        if "rma" in name:
            reads = _READ.search(command)
            rate += " of reads" if reads else " of writes"
            stream = None if reads else "put_bandwidth"
    columns = (
        SuiteColumn("time", time, "mean", "µs", 1e-6, latency),
        SuiteColumn("bandwidth", rate, "mean", _MB, 1e6, stream),
        SuiteColumn("message_rate", rate, "mean", "10^6 transfers/s", 1e6),
    )
    return columns if transfers == 1 else columns[:2]


_SIZE = re.compile(r"(\d{1,15})(?:\.(\d))?([kmg]?)")
_COUNT = re.compile(r"(\d{1,15})([kmb]?)")
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_PAIR = re.compile(r"(?<![\w/])([\w/]+): ([-\w.+]+)")
_KEYS = ("xfer_size", "iterations", "total", "MB/sec", "usec/xfer", "Mxfers/sec")
_MOST = 1e15


class FabtestsRow(NamedTuple):
    """One row: ``figures`` are a size in bytes, iterations, MB/s, µs and 10^6 transfers/s.

    ``transfers`` per iteration are 2 in a ping-pong only. They are 0 where it is open, because
    sizes and counts are cut to two places and less. ``acknowledged`` is false where the other side
    acknowledged more or fewer messages than were sent.
    """

    name: str
    size_bytes: int
    figures: tuple[float, ...]
    transfers: int
    acknowledged: bool


def size_of(printed: str) -> int | None:
    """Return the bytes of ``64``, ``1.5k``, ``1m``."""
    match = _SIZE.fullmatch(printed)
    if match is None:
        return None
    return int((int(match[1]) + int(match[2] or 0) / 10) * _SIZES[match[3]])


def _count_of(printed: str) -> int | None:
    match = _COUNT.fullmatch(printed)
    return None if match is None else int(match[1]) * _COUNTS[match[2]]


def text_row(text: str, columns: int) -> FabtestsRow | None:
    """Return a row of a text table with ``columns`` columns; a name of several words may lead."""
    fields = text.split()
    named = len(fields) - columns
    if named < 0 or len(fields) > 24:
        return None
    size, count, *values = fields[named:]
    acknowledged = columns != 8 or values.pop(0)[0] == "="
    total, time, *figures = values
    printed: list[float | None] = [size_of(size), _count_of(count), size_of(total)]
    printed += map(number_of, figures)
    if None in printed or not time.endswith("s"):
        return None
    return _row(" ".join(fields[:named]), printed, acknowledged)


def yaml_row(text: str) -> FabtestsRow | None:
    """Return a row ``- { xfer_size: 64, iterations: 1000, … }``."""
    pairs = dict(_PAIR.findall(text))
    numbers = [number_of(pairs.get(key, "")) for key in _KEYS]
    if None in numbers or not all(0 <= (number or 0.0) < _MOST for number in numbers[:3]):
        return None
    return _row("", numbers, True)


def _row(name: str, printed: Sequence[float | None], acknowledged: bool) -> FabtestsRow:
    size, count, total, *rates = (value or 0.0 for value in printed)
    once = int(size) * int(count)
    transfers = round(int(total) / once) if once else 0
    return FabtestsRow(name, int(size), (int(size), int(count), *rates), transfers, acknowledged)


def cut_row(text: str) -> int | None:
    """Return the size at the beginning of a row that lacks columns."""
    fields = text.split(None, 3)
    return size_of(fields[0]) if len(fields) > 2 and _count_of(fields[1]) is not None else None


BEGINS = {
    "MB/sec": r"^\s*(?:name\s+)?bytes\s+(?:#sent\s+#ack|iters)\s+total\s+time\s+MB/sec",
    "xfer_size: ": r"^- \{ xfer_size: ",
    "fi_": _COMMAND.pattern,
}
_NAMES = re.compile(
    r"(?:name\s+)?bytes\s+(?P<sent>#sent\s+#ack|iters)\s+total\s+time\s+MB/sec\s+usec/xfer"
    r"\s+Mxfers/sec"
)
_YAML = "- { xfer_size:"
_OWN_SIZES = re.compile(r"\s-S(?=\s|\d)")
_PROSE = re.compile(r"---|Starting (?:server|client)\.\.\.")
#: Sizes of both programs' default run (without ``-S``).
_DEFAULT_BYTES = (64, 256, 1024, 4096, 65536, 1048576)
#: Bandwidth, time and rate of transfers; the first and the last are the second once more.
_CELLS = (
    ColumnUse("size"), ColumnUse("samples"), ColumnUse("figure", 1, rounded_by=3),
    ColumnUse("figure", 0), ColumnUse("figure", 2, rounded_by=3),
)  # fmt: skip
_ROW = "a row of sizes, counts, time, MB/sec, usec/xfer and Mxfers/sec"
_OTHER = "a part of fabtests' output"
_MOST_SIZES = len(_DEFAULT_BYTES) + 1


class FabtestsReader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._command = ""
        self._heading: LogLine | None = None
        self._columns = 0
        self._table: SuiteTable | None = None
        self._sizes: list[int] = []
        self._name = ""

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text.strip()
        if names := _NAMES.fullmatch(text):
            command = self._command if self._table is None else ""
            closed = self.end()
            self._heading, self._command = line, command
            self._columns = 8 if names["sent"].startswith("#") else 7
            return closed
        if text.startswith(_YAML):
            return self._row(line, yaml_row(text))
        if self._columns and text[:1].isalnum() and (row := text_row(text, self._columns)):
            return self._row(line, row)
        if _COMMAND.search(text):
            closed = self.end()
            self._command = command_line(text).rstrip(" :")
            return closed
        if text and not _PROSE.fullmatch(text):
            size = cut_row(text) if self._columns else None
            if size is not None and self._table is not None:
                self._table.failed(line, size, "cut off")
            else:
                self._report(line, _ROW if self._columns else _OTHER)
        return ()

    def end(self) -> Iterable[SuiteCurve]:
        """Close the output; it has no last line, so its sizes decide if it is whole."""
        closed = self._close()
        if self._heading is not None and self._columns and not closed and not self._name:
            self._report(self._heading, "rows under this heading: the run failed, or was cut off")
        self._heading, self._columns, self._name = None, 0, ""
        return closed

    def _row(self, line: LogLine, row: FabtestsRow | None) -> Iterable[SuiteCurve]:
        if row is None:
            self._report(line, _ROW)
            return ()
        closed: tuple[SuiteCurve, ...] = ()
        if self._table is not None and row.name != self._name:
            closed = self._close()
        if self._table is None:
            self._table, self._name = self._new_table(line, row), row.name
        if len(self._sizes) < _MOST_SIZES:
            self._sizes.append(row.size_bytes)
        if row.acknowledged:
            cells = _CELLS[: 2 + len(self._table.columns)]
            columns = [[figure] for figure in row.figures]
            self._table.printed(cells, line.number, line.text, columns)
        else:
            self._table.failed(line, row.size_bytes, "other")
        return closed

    def _new_table(self, line: LogLine, row: FabtestsRow) -> SuiteTable:
        """Identify the program by its heading, command line or counts; some print no name."""
        named = _NAME.search(self._command)
        name = named[0] if named else "fabtests (ping-pong)" if row.transfers == 2 else "fabtests"
        name = "fi_pingpong" if self._columns == 8 else name
        option = _PROVIDER.search(self._command)
        provider = option[1] if option else ""
        carriers = [_CARRIERS[part] for part in provider.split(";") if part in _CARRIERS]
        heading = SuiteHeading(
            "fabtests", "", name, row.name, (self._heading or line).number,
            transport="tcp" if "tcp" in carriers else carriers[0] if carriers else "",
            settings={"command": self._command, "name": row.name},
            evidence=LogEvidence(provider=provider),
        )  # fmt: skip
        return SuiteTable(heading, columns_of(name, self._command, row.transfers))

    def _close(self) -> tuple[SuiteCurve, ...]:
        table, self._table = self._table, None
        sizes, self._sizes = tuple(self._sizes), []
        if table is None:
            return ()
        chosen = _OWN_SIZES.search(self._command) or sizes == _DEFAULT_BYTES
        if chosen or sizes != _DEFAULT_BYTES[: len(sizes)]:
            return table.curves()
        return table.curves(
            f"ends at {sizes[-1]} bytes, where the default goes on to {_DEFAULT_BYTES[-1]}:"
            " cut off, or run with other sizes"
        )


DIALECT = Dialect("fabtests", BEGINS, FabtestsReader)
