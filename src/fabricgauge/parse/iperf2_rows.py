"""The rows of one iperf 2 test, and what they come to.

A row of iperf 2's CSV (``-y C``), which has no heading and exact numbers.

``time,local,port,remote,port,id,from-to,bytes,bit/s`` and for datagrams five more: jitter,
lost, all, share, out of order (``CSV_stats`` in ReportCSV.c, iperf 2.0.13). The row of all
connections has the id -1. iperf 2.1.8 may print a time of 1970.
"""

import re

import msgspec

from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.iperf import (
    MOST_INTERVALS,
    MOST_OF_ALL,
    CountedBy,
    Flow,
    FlowDirection,
    Interval,
    IperfRow,
    IperfTest,
)
from fabricgauge.parse.table import SuiteHeading

CSV_BEGINS = (
    r"^\d{14}(?:\.\d{3})?,[\da-fA-F.:%\w]*,\d*,[\da-fA-F.:%\w]*,\d*,-?\d+,\d+\.\d+-\d+\.\d+,\d+,"
)
CSV_UNIT_RULE = "bits per second / 8 (iperf 2 CSV)"

_ROW = re.compile(
    r"^\d{14}(?:\.\d{3})?,(?P<local>[^,]*),(?P<port>\d*),(?P<remote>[^,]*),(?P<to>\d*),(?P<id>-?\d+),"
    r"(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+),(?P<bytes>\d{1,25}),(?P<rate>-?\d{1,25})(?P<more>,.*)?$"
)


class CsvRow(msgspec.Struct, frozen=True):
    """``stream`` names the connection by its id and local port; ``lost`` is empty for TCP."""

    row: IperfRow
    hosts: tuple[str, str]
    protocol: str
    lost: str


def csv_row(text: str) -> CsvRow | None:
    """The row that the line holds."""
    match = _ROW.match(text) if text[:14].isdigit() else None
    if match is None:
        return None
    more = (match["more"] or "").split(",")
    row = IperfRow(
        stream="SUM" if match["id"] == "-1" else f"{match['id']}:{match['port']}",
        starred=False, count=0, role="", start=float(match["start"]), end=float(match["end"]),
        rate=int(match["rate"]) / 8, unit="bits", rest="",
    )  # fmt: skip
    known = len(more) > 4 and more[3].isdigit()
    lost = f"{more[4]} % ({more[2]} of {more[3]} datagrams)" if known else ""
    return CsvRow(row, (match["local"], match["remote"]), "UDP" if len(more) > 1 else "TCP", lost)


MOST_STREAMS = 4096
#: Rows print ends with one to four digits.
_SAME = 0.06


class ConnectionRows(msgspec.Struct):
    """Rows of one connection, or of all: ``whole`` is the last that begins at zero."""

    whole: IperfRow | None = None
    line: LogLine | None = None
    intervals: list[Interval] = []
    last_end: float = 0.0

    def add(self, line: LogLine, row: IperfRow, keep: bool) -> None:
        """An earlier row from zero was the first interval, and stays among those."""
        if row.start == 0:
            self.whole, self.line = row, line
        if keep and len(self.intervals) < MOST_INTERVALS:
            self.intervals.append(Interval(row.end - row.start, row.rate))
        self.last_end = max(self.last_end, row.end)

    @property
    def ended(self) -> bool:
        """Whether the whole is there: it reaches as far as any other row."""
        return self.whole is not None and self.whole.end >= self.last_end - _SAME

    @property
    def rate(self) -> float | None:
        return self.whole.rate if self.ended and self.whole else None

    @property
    def parts(self) -> tuple[Interval, ...]:
        """The intervals without the row of the whole."""
        single = len(self.intervals) == 1
        return tuple(self.intervals if single or not self.ended else self.intervals[:-1])


class Iperf2Test:
    """Grows row by row. ``side`` is whose log it is: ``client``, ``server`` or empty."""

    def __init__(self, line: LogLine, side: str, protocol: str, unit_rule: str) -> None:
        self.first = line
        self.side = side
        self.protocol = protocol
        self.unit_rule = unit_rule
        self.error = ""
        self.settings: dict[str, str] = {"log of": side} if side else {}
        self.hosts: tuple[str, ...] = ()
        self.reversed: set[str] = set()
        self.received: IperfRow | None = None
        self.received_lost = ""
        self._streams: dict[tuple[FlowDirection, str], ConnectionRows] = {}
        self._count = 0
        self._kept = 0
        self._last = line

    @property
    def measured(self) -> bool:
        return bool(self._streams)

    @property
    def ended(self) -> bool:
        """Whether every connection that began has its last row."""
        return self.measured and all(stream.ended for stream in self._streams.values())

    def knows(self, stream: str) -> bool:
        return any(key[1] == stream for key in self._streams)

    def knows_id(self, ident: str) -> bool:
        """Whether one of the connections has that id, whatever its port is (CSV)."""
        return any(key[1].partition(":")[0] == ident for key in self._streams)

    def stopped(self, line: LogLine, error: str) -> None:
        """Take the tool's own word that something went wrong; the first one counts."""
        self.error = self.error or error
        if not self.measured:
            self._last = line

    def row(self, line: LogLine, row: IperfRow) -> None:
        self._last = line
        self._count = max(self._count, row.count)
        key = (self._direction(row), row.stream)
        if key in self._streams or len(self._streams) < MOST_STREAMS:
            self._kept += 1
            self._streams.setdefault(key, ConnectionRows()).add(
                line, row, self._kept <= MOST_OF_ALL
            )

    def _direction(self, row: IperfRow) -> FlowDirection:
        back = row.starred or row.stream in self.reversed
        return "server to client" if back else "client to server"

    def result(self) -> IperfTest:
        """The test as far as it went."""
        directions: list[FlowDirection] = sorted({key[0] for key in self._streams})
        flows = tuple(self._flow(one, len(directions) > 1) for one in directions)
        heading = SuiteHeading(
            "iperf2", "", "iperf", self.first.text.strip()[:200], self.first.number,
            transport="tcp" if self.protocol == "TCP" else "",
            settings=self.settings, hosts=self.hosts,
        )  # fmt: skip
        nothing = Flow("client to server", self._last, None, "")
        return IperfTest(
            heading, self.protocol, self.unit_rule, flows or (nothing,), self.error,
            self._cut_off(),
        )  # fmt: skip

    def _cut_off(self) -> str:
        if self.error and self.measured:
            return f"iperf stopped: {self.error}"
        if self.ended or self.error:
            return ""
        return "no row of the whole test: the output ends among the intervals, or before them"

    def _flow(self, direction: FlowDirection, two_way: bool) -> Flow:
        """The row of all connections is not used where it sums both directions up."""
        own = {name: one for (way, name), one in self._streams.items() if way == direction}
        together = own.pop("SUM", None)
        each = [one.rate for one in own.values() if one.rate]
        whole = together if together and not two_way else None
        single = next(iter(own.values())) if len(own) == 1 else ConnectionRows()
        chosen = whole if whole and whole.rate else single
        all_ended = own and all(one.ended for one in own.values())
        rate = (whole.rate if whole else None) or (sum(each) if all_ended else None)
        if self.received and direction == "client to server":
            rate = self.received.rate
        return Flow(
            direction, chosen.line or self._last, rate, self._counted_by(direction, rate),
            max(1, len(own), self._count), tuple(each),
            (whole or single).parts, {"lost": self.received_lost} if self.received_lost else {},
        )  # fmt: skip

    def _counted_by(self, direction: FlowDirection, rate: float | None) -> CountedBy:
        if rate is None or not self.side:
            return ""
        if self.received and direction == "client to server":
            return "receiver"
        return "sender" if direction.startswith(self.side) else "receiver"
