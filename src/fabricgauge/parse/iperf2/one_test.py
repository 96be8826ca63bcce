"""The rows of one iperf 2 test, and what they come to."""

import msgspec

from fabricgauge.parse.interface import Line
from fabricgauge.parse.iperf_flow import (
    MOST_INTERVALS,
    MOST_OF_ALL,
    CountedBy,
    Direction,
    Flow,
    Interval,
    Test,
)
from fabricgauge.parse.iperf_rows import Row
from fabricgauge.parse.table import Heading

MOST_STREAMS = 4096
#: Rows print ends with one to four digits.
_SAME = 0.06


class Stream(msgspec.Struct):
    """Rows of one connection, or of all: ``whole`` is the last that begins at zero."""

    whole: Row | None = None
    line: Line | None = None
    intervals: list[Interval] = []
    last_end: float = 0.0

    def add(self, line: Line, row: Row, keep: bool) -> None:
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

    def __init__(self, line: Line, side: str, protocol: str, unit_rule: str) -> None:
        self.first = line
        self.side = side
        self.protocol = protocol
        self.unit_rule = unit_rule
        self.error = ""
        self.settings: dict[str, str] = {"log of": side} if side else {}
        self.hosts: tuple[str, ...] = ()
        self.reversed: set[str] = set()
        self.received: Row | None = None
        self.received_lost = ""
        self._streams: dict[tuple[Direction, str], Stream] = {}
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

    def stopped(self, line: Line, error: str) -> None:
        """Take the tool's own word that something went wrong; the first one counts."""
        self.error = self.error or error
        if not self.measured:
            self._last = line

    def row(self, line: Line, row: Row) -> None:
        self._last = line
        self._count = max(self._count, row.count)
        key = (self._direction(row), row.stream)
        if key in self._streams or len(self._streams) < MOST_STREAMS:
            self._kept += 1
            self._streams.setdefault(key, Stream()).add(line, row, self._kept <= MOST_OF_ALL)

    def _direction(self, row: Row) -> Direction:
        back = row.starred or row.stream in self.reversed
        return "server to client" if back else "client to server"

    def result(self) -> Test:
        """The test as far as it went."""
        directions: list[Direction] = sorted({key[0] for key in self._streams})
        flows = tuple(self._flow(one, len(directions) > 1) for one in directions)
        heading = Heading(
            "iperf2", "", "iperf", self.first.text.strip()[:200], self.first.number,
            transport="tcp" if self.protocol == "TCP" else "",
            settings=self.settings, hosts=self.hosts,
        )  # fmt: skip
        nothing = Flow("client to server", self._last, None, "")
        return Test(
            heading, self.protocol, self.unit_rule, flows or (nothing,), self.error,
            self._cut_off(),
        )  # fmt: skip

    def _cut_off(self) -> str:
        if self.error and self.measured:
            return f"iperf stopped: {self.error}"
        if self.ended or self.error:
            return ""
        return "no row of the whole test: the output ends among the intervals, or before them"

    def _flow(self, direction: Direction, two_way: bool) -> Flow:
        """The row of all connections is not used where it sums both directions up."""
        own = {name: one for (way, name), one in self._streams.items() if way == direction}
        together = own.pop("SUM", None)
        each = [one.rate for one in own.values() if one.rate]
        whole = together if together and not two_way else None
        single = next(iter(own.values())) if len(own) == 1 else Stream()
        chosen = whole if whole and whole.rate else single
        rate = (whole.rate if whole else None) or (sum(each) if self._all_ended(own) else None)
        if self.received and direction == "client to server":
            rate = self.received.rate
        return Flow(
            direction, chosen.line or self._last, rate, self._counted_by(direction, rate),
            max(1, len(own), self._count), tuple(each),
            (whole or single).parts, self._lost(),
        )  # fmt: skip

    def _all_ended(self, streams: dict[str, Stream]) -> bool:
        return bool(streams) and all(one.ended for one in streams.values())

    def _counted_by(self, direction: Direction, rate: float | None) -> CountedBy:
        if rate is None or not self.side:
            return ""
        if self.received and direction == "client to server":
            return "receiver"
        return "sender" if direction.startswith(self.side) else "receiver"

    def _lost(self) -> dict[str, str]:
        return {"lost": self.received_lost} if self.received_lost else {}
