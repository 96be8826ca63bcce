"""iperf 2 (2.0.x and 2.1.x): its text and its CSV (``-y C``), on either side of a test.

What iperf 2 prints: headings, connections, rows (Locale.c of 2.0.13, runs of 2.1.8).
"""

import re
from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Dialect, LogLine, Report
from fabricgauge.parse.iperf import UNIT_RULES, IperfRow, curves, row_of
from fabricgauge.parse.iperf2_rows import (
    CSV_BEGINS,
    CSV_UNIT_RULE,
    CsvRow,
    Iperf2Test,
    csv_row,
)

BEGINS = {
    "Client connecting to ": r"^Client connecting to \S+, (?:TCP|UDP) port \d+",
    "Server listening on ": r"^Server listening on (?:TCP|UDP) port \d+",
    " connected with ": r"^\[ *\*?\d+\] local \S+ port \d+ connected with \S+ port \d+",
    ",": CSV_BEGINS,
}

_CLIENT = re.compile(
    r"^Client connecting to (?P<host>\S+), (?P<protocol>TCP|UDP) port (?P<port>\d+)"
)
_SERVER = re.compile(r"^Server listening on (?P<protocol>TCP|UDP) port (?P<port>\d+)")
_CONNECTED = re.compile(
    r"^\[ *(?:(?P<star>\*) *)?(?P<id>\d+)\] local (?P<local>\S+) port (?P<own>\d+) "
    r"connected with (?P<remote>\S+) port (?P<port>\d+)(?P<rest>.*)"
)
_WINDOW = re.compile(r"^TCP window size: +(?P<size>\d\S* \w+)")
_ERROR = re.compile(
    r"^(?:tcp )?(?P<text>(?:connect|bind|write|read|listener bind)\b.* failed:? .*)"
)
_LOST = re.compile(r"(?<!\d)(?P<lost>\d+) */ *(?P<all>\d+) \((?P<share>[-+.\w]+)%\)")
_KNOWN = re.compile(
    r"^[-\s]*$|^\[ ID\]|^\[SUM-cnt\]|window size|buffer size|datagrams|^\[ *\*?\d+\] Sent |MSS "
    r"|^TOS |^Binding to |^Connect(?:ed|ing)? |connect times|^WARNING|WARNING:|^Waiting for"
    r"|trip-time|^\[ CT\]|^Reading from|^Sending |^Receiving |Server Report:|epoch|IPG target"
)


class Iperf2Reader:
    """One test after the other; the figures of the last one are all that is kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._test: Iperf2Test | None = None
        self._side = ""
        self._protocol = ""
        self._ports: dict[str, str] = {}
        self._window = ""
        self._from_server = False
        self._connections = 0
        self._first: LogLine | None = None
        self._told = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        self._first = self._first or line
        client, server = _CLIENT.match(text), _SERVER.match(text)
        connected, row, error = _CONNECTED.match(text), row_of(text), _ERROR.search(text)
        of_csv = csv_row(text)
        if client or server:
            yield from self._heading(line, client, server)
        elif connected:
            yield from self._connected(line, connected)
        elif of_csv:
            yield from self._csv(line, of_csv)
        elif row:
            self._row(line, row)
        elif error:
            self._open(line).stopped(line, error["text"])
        else:
            self._remark(line)

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._finish()
        if self._first is not None and not self._told:
            self._report(self._first, "a test; this output of iperf 2 has none")

    def _finish(self) -> Iterable[SuiteCurve]:
        test, self._test = self._test, None
        if test is not None:
            self._told = True
            yield from curves(test.result())

    def _heading(
        self, line: LogLine, client: "re.Match[str] | None", server: "re.Match[str] | None"
    ) -> Iterable[SuiteCurve]:
        """A client that also listens (``-d``, ``-r``) names the server's port first."""
        if self._test is not None and self._test.measured:
            yield from self._finish()
        self._window = ""
        for name, heading in (("client", client), ("server", server)):
            if heading:
                self._protocol, self._ports[name] = heading["protocol"], heading["port"]
        if client and not (self._side == "server" and self._connections):
            self._side = "client"
            self._take_heading(line)
        elif server and self._side != "client":
            self._side = "server"

    def _take_heading(self, line: LogLine) -> None:
        """The connections may have been told of before (2.1.8)."""
        test = self._open(line)
        if line.number < test.first.number or not test.side:
            test.side, test.protocol = self._side, self._protocol
            test.settings["log of"] = self._side

    def _connected(self, line: LogLine, match: "re.Match[str]") -> Iterable[SuiteCurve]:
        """A connection after the last row of a test begins the next one."""
        if self._test is not None and self._test.ended:
            yield from self._finish()
        test = self._open(line)
        self._connections += 1
        local = match["local"].partition("%")[0]
        test.hosts = test.hosts or (local, match["remote"])
        listens_too = self._side == "client" and match["own"] == self._ports.get("server")
        if match["star"] or "(reverse)" in match["rest"] or listens_too:
            test.reversed.add(match["id"])

    def _open(self, line: LogLine) -> Iperf2Test:
        if self._test is None:
            self._test = Iperf2Test(line, self._side, self._protocol or "TCP", UNIT_RULES["bits"])
            if self._window:
                self._test.settings["TCP window"] = self._window
            self._from_server = False
        return self._test

    def _row(self, line: LogLine, row: IperfRow) -> None:
        test = self._open(line)
        test.unit_rule = UNIT_RULES[row.unit]
        lost = _LOST.search(row.rest)
        if lost:
            test.protocol = "UDP"
            test.received_lost = f"{lost['share']} % ({lost['lost']} of {lost['all']} datagrams)"
        if self._from_server:
            test.received, self._from_server = row, False
        else:
            test.row(line, row)

    def _csv(self, line: LogLine, found: CsvRow) -> Iterable[SuiteCurve]:
        """A new test begins at zero with an id that the last test had, or after its sum."""
        row, test = found.row, self._test
        if test and row.start == 0 and test.ended and self._starts_anew(test, row):
            yield from self._finish()
        self._protocol = found.protocol
        test = self._open(line)
        test.unit_rule = CSV_UNIT_RULE
        test.hosts = test.hosts or (found.hosts if all(found.hosts) else ())
        test.received_lost = found.lost or test.received_lost
        test.row(line, row)

    def _starts_anew(self, test: Iperf2Test, row: IperfRow) -> bool:
        ident = row.stream.partition(":")[0]
        return test.knows("SUM") or (
            not test.knows(row.stream) and test.knows_id(ident) and row.stream != "SUM"
        )

    def _remark(self, line: LogLine) -> None:
        window = _WINDOW.match(line.text)
        if window:
            self._window = window["size"]
            if self._test is not None and not self._test.measured:
                self._test.settings["TCP window"] = window["size"]
        elif "Server Report:" in line.text:
            self._from_server = True
        elif not _KNOWN.search(line.text):
            self._report(line, "a row, a heading or a remark of iperf 2")


DIALECT = Dialect("iperf2", BEGINS, Iperf2Reader)
