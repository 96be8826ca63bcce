"""Read iperf 2 (2.0.x and 2.1.x): its text and its CSV (``-y C``), from client and server.

Headings, connections and rows are those of Locale.c of 2.0.13 and of runs of 2.1.8. The CSV has no
heading and exact numbers: ``time,local,port,remote,port,id,from-to,bytes,bit/s`` and for datagrams
five more: jitter, lost, all, share, out of order (``CSV_stats`` in ReportCSV.c, iperf 2.0.13). The
row of all connections has the id -1. iperf 2.1.8 may print a time of 1970.
"""

import math
import re
from collections.abc import Iterable

import msgspec

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.iperf import (
    SAME_S,
    UNIT_RULES,
    CountedBy,
    Flow,
    FlowDirection,
    IperfLog,
    IperfRow,
    row_of,
)
from fabricgauge.model.suite import LogLosses, SuiteCurve

BEGINS = {
    "Client connecting to ": r"^Client connecting to \S+, (?:TCP|UDP) port \d+",
    "Server listening on ": r"^Server listening on (?:TCP|UDP) port \d+",
    " connected with ": r"^\[ *\*?\d+\] local \S+ port \d+ connected with \S+ port \d+",
    ",": r"^\d{14}(?:\.\d{3})?,[\da-fA-F.:%\w]*,\d*,[\da-fA-F.:%\w]*,\d*,-?\d+,"
    r"\d+\.\d+-\d+\.\d+,\d+,",
}

_HEADING = re.compile(
    r"^(?P<side>Client connecting to \S+,|Server listening on) (?P<protocol>TCP|UDP)"
    r" port (?P<port>\d+)"
)
_CONNECTED = re.compile(
    r"^\[ *(?:(?P<star>\*) *)?(?P<id>\d+)\] local (?P<local>\S+) port (?P<own>\d+) "
    r"connected with (?P<remote>\S+) port (?P<port>\d+)(?P<rest>.*)"
)
_WINDOW = re.compile(r"^TCP window size: +(?P<size>\d\S* \w+)")
_ERROR = re.compile(
    r"^(?:tcp )?(?P<text>(?:connect|bind|write|read|listener bind)\b.* failed:? .*)"
)
_LOST = re.compile(r"(?<!\d)(?P<lost>\d+) */ *(?P<all>\d+) \((?P<share>[-+.\w]+)%\)")
#: ``Write/Err  Rtry`` of a client's row with ``-e``; beside it stands no ``Rtry`` over UDP.
_WRITES = re.compile(r"\s*\d{1,15}/\d{1,15} +(?P<retransmits>\d{1,15})(?=\s|$)(?! +pps)")
_KNOWN = re.compile(
    r"^[-\s]*$|^\[ ID\]|^\[SUM-cnt\]|window size|buffer size|datagrams|^\[ *\*?\d+\] Sent |MSS "
    r"|^TOS |^Binding to |^Connect(?:ed|ing)? |connect times|^WARNING|WARNING:|^Waiting for"
    r"|trip-time|^\[ CT\]|^Reading from|^Sending |^Receiving |Server Report:|epoch|IPG target"
)


_CSV = re.compile(
    r"^\d{14}(?:\.\d{3})?,(?P<local>[^,]*),(?P<port>\d*),(?P<remote>[^,]*),(?P<to>\d*),(?P<id>-?\d+),"
    r"(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+),(?P<bytes>\d{1,25}),(?P<rate>-?\d{1,25})(?P<more>,.*)?$"
)
_CSV_UNIT_RULE = "bits per second / 8 (iperf 2 CSV)"


class WholeRow(msgspec.Struct):
    """The last row of a connection, or of all, that begins at zero."""

    row: IperfRow | None = None
    line: LogLine | None = None
    last_end: float = 0.0

    @property
    def ended(self) -> bool:
        """Check whether the row covers the whole test: no other row ends later."""
        return self.row is not None and self.row.end >= self.last_end - SAME_S

    @property
    def rate(self) -> float:
        """Return the row's rate; 0 where the row does not cover the whole test."""
        return self.row.rate if self.row and self.ended else 0.0


class Iperf2Test(IperfLog):
    """One test. Earlier rows from zero were its first interval; CSV has an id and a port."""

    def __init__(self, line: LogLine, side: str, protocol: str) -> None:
        super().__init__(line, side, protocol)
        self.reversed: set[str] = set()
        self.received: IperfRow | None = None
        self.lost: dict[str, str] = {}
        self.losses: LogLosses | None = None
        self._remotes: dict[str, str] = {}
        self._wholes: dict[tuple[FlowDirection, str], WholeRow] = {}
        self._count = 0

    @property
    def measured(self) -> bool:
        return bool(self._wholes)

    @property
    def ended(self) -> bool:
        """Check whether every connection that began has its last row."""
        return self.measured and all(total.ended for total in self._wholes.values())

    def precedes(self, row: IperfRow) -> bool:
        """Check whether a CSV row begins another test: from zero, of a used id or after the sum."""
        if row.start != 0 or not self.ended:
            return False
        streams = {stream for _, stream in self._wholes}
        ids = {stream.partition(":")[0] for stream in streams}
        is_new = row.stream not in streams and row.stream.partition(":")[0] in ids
        return "SUM" in streams or is_new

    def connects(self, number: str, local: str, remote: str) -> None:
        """Add a connection. Two processes that share a log number theirs alike."""
        if number in self._remotes:
            self.mixed = number
        self._remotes[number] = remote
        self.hosts = (local, *dict.fromkeys(self._remotes.values()))

    def continues(self, row: IperfRow) -> bool:
        """Check whether an interval begins where the last one of its connection ended."""
        totals = [total for (_, stream), total in self._wholes.items() if stream == row.stream]
        return any(abs(row.start - total.last_end) <= SAME_S for total in totals)

    def lose(self, share: str, lost: str, sent: str) -> None:
        self.lost = {"lost": f"{share} % ({lost} of {sent} datagrams)"}
        self.losses = LogLosses(int(lost[:15]), int(sent[:15])) if lost.isdecimal() else None

    def row(self, line: LogLine, row: IperfRow) -> None:
        self.last = line
        self._count = max(self._count, row.count)
        back = row.starred or row.stream in self.reversed
        direction: FlowDirection = "server to client" if back else "client to server"
        self._keep(direction, row)
        if (direction, row.stream) in self._intervals:
            total = self._wholes.setdefault((direction, row.stream), WholeRow())
            if row.start == 0:
                total.row, total.line = row, line
            total.last_end = max(total.last_end, row.end)

    def result(self) -> tuple[SuiteCurve, ...]:
        """Return the test. Connections of several hosts sum up; hosts of mixed ones are unknown."""
        self.hosts = () if self.mixed else self.hosts
        directions: list[FlowDirection] = sorted({direction for direction, _ in self._wholes})
        flows = [self._flow(direction, len(directions) > 1) for direction in directions]
        cut_off = "no row of the whole test: the output ends among the intervals, or before them"
        if self.ended or self.error:
            cut_off = f"iperf stopped: {self.error}" if self.error and self.measured else ""
        return self._curves("iperf2", "iperf", flows, cut_off, max(1, len(self.hosts) - 1))

    def _flow(self, direction: FlowDirection, two_way: bool) -> Flow:
        """Return one direction, without the row of all connections if it sums both directions."""
        totals = {key[1]: total for key, total in self._wholes.items() if key[0] == direction}
        together = totals.pop("SUM", None)
        connection_rates = [total.rate for total in totals.values() if total.rate]
        row_of_all = WholeRow() if two_way else together or WholeRow()
        single = next(iter(totals.values())) if len(totals) == 1 else WholeRow()
        all_ended = totals and all(total.ended for total in totals.values())
        rate = row_of_all.rate or (sum(connection_rates) if all_ended else None)
        by_server = self.received if direction == "client to server" else None
        if by_server:
            rate = by_server.rate
        sent_here = direction.startswith(self.side) and not by_server
        counted_by: CountedBy = "sender" if sent_here else "receiver"
        counted_by = counted_by if rate is not None and self.side else ""
        settings, losses = self.lost, self.losses
        counted = [row_of_all] if row_of_all.rate else totals.values()
        if losses is None and (sent := _retransmits(counted)):
            settings, losses = {"retransmits": str(sent.count)}, sent
        intervals = self._total_intervals(direction, not two_way)
        if len(intervals) != 1 and (single if two_way or not together else row_of_all).ended:
            intervals = intervals[:-1]
        chosen = row_of_all if row_of_all.rate else single
        return Flow(
            direction, chosen.line or self.last, rate, counted_by,
            max(1, len(totals), self._count), tuple(connection_rates), intervals, settings, losses,
        )  # fmt: skip


def _retransmits(rows: Iterable[WholeRow]) -> LogLosses | None:
    """Return the segments that TCP sent again in these rows; None if a row lacks the number."""
    count, sent_bytes = 0, 0.0
    for total in rows:
        writes = _WRITES.match(total.row.rest) if total.row and total.ended else None
        if total.row is None or writes is None:
            return None
        count += int(writes["retransmits"])
        sent_bytes += total.rate * (total.row.end - total.row.start)
    return LogLosses(count, 0, sent_bytes) if 0 < sent_bytes < math.inf else None


class Iperf2Reader:
    """Read one test after the other; only the figures of the last two are kept.

    A test that seems over waits for the end of the next one: where two processes write one log, its
    rows may go on.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._test: Iperf2Test | None = None
        self._before: Iperf2Test | None = None
        self._side = ""
        self._protocol = ""
        self._server_port = ""
        self._window = ""
        self._from_server = False
        self._connections = 0
        self._first: LogLine | None = None
        self._has_result = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        self._first = self._first or line
        if heading := _HEADING.match(text):
            yield from self._heading(line, heading)
        elif connected := _CONNECTED.match(text):
            yield from self._connected(line, connected)
        elif of_csv := _CSV.match(text):
            yield from self._csv(line, of_csv)
        elif row := row_of(text):
            self._row(line, row)
        elif error := _ERROR.search(text):
            # The tool's own error message; the first one counts.
            test = self._open(line)
            test.error = test.error or error["text"]
            test.last = test.last if test.measured else line
        elif window := _WINDOW.match(text):
            self._window = window["size"]
            if self._test is not None and not self._test.measured:
                self._test.settings["TCP window"] = window["size"]
        elif "Server Report:" in text:
            self._from_server = True
        elif not _KNOWN.search(text):
            self._report(line, "a row, a heading or a remark of iperf 2")

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._finish()
        yield from self._finish()
        if self._first is not None and not self._has_result:
            self._report(self._first, "a test; this output of iperf 2 has none")

    def _finish(self) -> Iterable[SuiteCurve]:
        """Close the open test, and complete the test before it."""
        over, self._before, self._test = self._before, self._test, None
        if over is not None:
            self._has_result = True
            yield from over.result()

    def _heading(self, line: LogLine, heading: "re.Match[str]") -> Iterable[SuiteCurve]:
        """Read a heading. A client that also listens (``-d``, ``-r``) names the server first."""
        if self._test is not None and self._test.measured:
            yield from self._finish()
        self._window = ""
        self._protocol = heading["protocol"]
        if heading["side"].startswith("Server"):
            self._server_port = heading["port"]
            self._side = self._side or "server"
        elif not (self._side == "server" and self._connections):
            self._side = "client"
            test = self._open(line)
            # Version 2.1.8 may print the connections first.
            if not test.side:
                test.side, test.protocol = self._side, self._protocol
                test.settings["log of"] = self._side

    def _connected(self, line: LogLine, match: "re.Match[str]") -> Iterable[SuiteCurve]:
        """Add a connection; after the last row of a test it begins the next test."""
        if self._test is not None and self._test.ended:
            yield from self._finish()
        test = self._open(line)
        self._connections += 1
        local = match["local"].partition("%")[0]
        test.connects(f"{match['star'] or ''}{match['id']}", local, match["remote"])
        listens_too = self._side == "client" and match["own"] == self._server_port
        if match["star"] or "(reverse)" in match["rest"] or listens_too:
            test.reversed.add(match["id"])

    def _open(self, line: LogLine) -> Iperf2Test:
        if self._test is None:
            self._test = Iperf2Test(line, self._side, self._protocol or "TCP")
            if self._window:
                self._test.settings["TCP window"] = self._window
            self._from_server = False
        return self._test

    def _row(self, line: LogLine, row: IperfRow) -> None:
        test = self._open(line)
        test.unit_rule = UNIT_RULES[row.unit]
        if lost := _LOST.search(row.rest):
            test.protocol = "UDP"
            test.lose(lost["share"], lost["lost"], lost["all"])
        before = self._before
        if row.start and before and before.continues(row) and not test.continues(row):
            before.mixed = test.mixed = row.stream
        if self._from_server:
            test.received, self._from_server = row, False
        else:
            test.row(line, row)

    def _csv(self, line: LogLine, match: "re.Match[str]") -> Iterable[SuiteCurve]:
        more = (match["more"] or "").split(",")
        stream = "SUM" if match["id"] == "-1" else f"{match['id']}:{match['port']}"
        rate = int(match["rate"]) / 8
        row = IperfRow(stream, float(match["start"]), float(match["end"]), rate)
        if self._test is not None and self._test.precedes(row):
            yield from self._finish()
        self._protocol = "UDP" if len(more) > 1 else "TCP"
        test = self._open(line)
        test.unit_rule = _CSV_UNIT_RULE
        if match["local"] and match["remote"]:
            test.hosts = test.hosts or (match["local"], match["remote"])
        if len(more) > 4 and more[3].isdigit():
            test.lose(more[4], more[2], more[3])
        test.row(line, row)


DIALECT = Dialect("iperf2", BEGINS, Iperf2Reader)
