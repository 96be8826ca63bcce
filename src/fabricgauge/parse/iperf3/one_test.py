"""The rows of one iperf 3 test as text, and what they come to."""

import re

import msgspec

from fabricgauge.parse.interface import Line
from fabricgauge.parse.iperf_flow import (
    MOST_INTERVALS,
    MOST_OF_ALL,
    Direction,
    Flow,
    Interval,
    Test,
)
from fabricgauge.parse.iperf_rows import UNIT_RULES, Row, Unit
from fabricgauge.parse.table import Heading

#: iperf 3 itself refuses more than 128 connections.
MOST_STREAMS = 1024

_RETRANSMITS = re.compile(r"^ +(?P<count>\d+) +sender")
_LOST = re.compile(r"(?<!\d)(?P<lost>\d+)/(?P<all>\d+) \((?P<share>[-+.\w]+)%\)")


class Summary(msgspec.Struct):
    """The closing rows of one direction; rates in bytes/s, by connection."""

    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    line: Line | None = None
    settings: dict[str, str] = {}


class TextTest:
    """Grows row by row; ``side`` is whose log it is, empty where that is not known."""

    def __init__(self, line: Line, version: str, peer: str, side: str) -> None:
        self.protocol = ""
        self.reverse = False
        self.error = ""
        self.settings: dict[str, str] = {"log of": side} if side else {}
        self._line = line
        self._version = version
        self._peer = peer
        self._side = side
        self._hosts: tuple[str, ...] = ()
        self._headers = 0
        self._unit: Unit = "bits"
        self._sums: dict[str, Summary] = {}
        self._intervals: dict[tuple[str, str], list[Interval]] = {}
        self._last = line
        self._kept = 0

    def connected(self, local: str, remote: str) -> None:
        self._hosts = self._hosts or (local, remote)

    def header(self, text: str) -> None:
        self._headers += 1
        if "Datagrams" in text:
            self.protocol = self.protocol or "UDP"

    def row(self, line: Line, row: Row) -> None:
        """Rows after the second heading, or that name an end, are the summary."""
        self._unit = row.unit
        self._last = line
        if row.rest.rstrip().endswith(("sender", "receiver")) or self._headers > 1:
            self._summary(line, row)
        elif "(omitted)" not in row.rest:
            self._interval(row)

    def _interval(self, row: Row) -> None:
        key = (row.role, row.stream)
        if key not in self._intervals and len(self._intervals) >= MOST_STREAMS:
            return
        kept = self._intervals.setdefault(key, [])
        if len(kept) < MOST_INTERVALS and self._kept < MOST_OF_ALL:
            self._kept += 1
            kept.append(Interval(row.end - row.start, row.rate))

    def _summary(self, line: Line, row: Row) -> None:
        summary = self._sums.setdefault(row.role, Summary())
        by_sender = row.rest.rstrip().endswith("sender")
        rates = summary.sent if by_sender else summary.received
        if len(rates) < MOST_STREAMS:
            rates[row.stream] = row.rate
        if summary.line is None or not by_sender:
            summary.line = line
        self._loss(summary, row)

    def _loss(self, summary: Summary, row: Row) -> None:
        """A single connection's, or in the row of all (it comes last) that of all."""
        retransmits, lost = _RETRANSMITS.search(row.rest), _LOST.search(row.rest)
        if retransmits:
            summary.settings["retransmits"] = retransmits["count"]
        if lost:
            counts = f"{lost['lost']} of {lost['all']} datagrams"
            summary.settings["lost"] = f"{lost['share']} % ({counts})"

    def result(self) -> Test:
        """The test as far as it went."""
        protocol = self.protocol or ("TCP" if self._hosts else "")
        roles = sorted({role for role, _ in self._intervals} | set(self._sums)) or [""]
        flows = tuple(sorted(map(self._flow, roles), key=lambda flow: flow.direction))
        hosts = self._hosts or ((self._peer,) if self._peer else ())
        heading = Heading(
            "iperf3", self._version, "iperf3", self._line.text.strip()[:200], self._line.number,
            transport="tcp" if protocol == "TCP" else "", settings=self.settings, hosts=hosts,
        )  # fmt: skip
        return Test(heading, protocol, UNIT_RULES[self._unit], flows, self.error, self._cut_off())

    def _cut_off(self) -> str:
        if self.error:
            return f"iperf3 stopped: {self.error}" if self._intervals else ""
        if self._sums:
            return ""
        return "no summary: the output ends among the intervals, or before them"

    def _flow(self, role: str) -> Flow:
        summary = self._sums.get(role, Summary())
        by_receiver = any(summary.received.values())
        rates = summary.received if by_receiver else summary.sent
        each = tuple(rate for stream, rate in rates.items() if stream != "SUM")
        together = rates.get("SUM", sum(each))
        return Flow(
            self._direction(role), summary.line or self._last, together or None,
            "receiver" if by_receiver else "sender" if together else "",
            max(1, len(each), self._seen(role)), each, self._of_all(role), summary.settings,
        )  # fmt: skip

    def _seen(self, role: str) -> int:
        return sum(key[0] == role and key[1] != "SUM" for key in self._intervals)

    def _of_all(self, role: str) -> tuple[Interval, ...]:
        """The row of all connections, or the only one's."""
        together = self._intervals.get((role, "SUM"))
        if together is None:
            single = [kept for key, kept in self._intervals.items() if key[0] == role]
            together = single[0] if len(single) == 1 else []
        return tuple(together)

    def _direction(self, role: str) -> Direction:
        """A server's log does not say that a test is reversed, but has only a sender then."""
        summary = self._sums.get("")
        sends = summary is not None and bool(summary.sent) and not summary.received
        if role:
            return "client to server" if role in ("TX-C", "RX-S") else "server to client"
        if self.reverse or (self._side == "server" and sends):
            return "server to client"
        return "client to server"
