"""Read the text of ``iperf3`` (without ``-J``), from the client or the server."""

import math
import re
from collections.abc import Iterable

import msgspec

from fabricgauge.logs.readers.interface import Dialect, LogLine, Report
from fabricgauge.logs.readers.iperf import (
    MOST_STREAMS,
    SAME_S,
    UNIT_RULES,
    Flow,
    FlowDirection,
    IperfLog,
    IperfRow,
    row_of,
)
from fabricgauge.model.suite import LogLosses, SuiteCurve

_RETRANSMITS = re.compile(r"^ +(?P<count>\d+) +sender")
_LOST = re.compile(r"(?<!\d)(?P<lost>\d+)/(?P<all>\d+) \((?P<share>[-+.\w]+)%\)")


class EndRows(msgspec.Struct):
    """The closing rows of one direction; rates in bytes/s, by connection."""

    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    line: LogLine | None = None
    settings: dict[str, str] = {}
    losses: LogLosses | None = None


class TextTest(IperfLog):
    """One test. The role in each row shows its direction, if there are two."""

    def __init__(self, line: LogLine, version: str, peer: str = "", side: str = "") -> None:
        super().__init__(line, side, version=version)
        self.reverse = False
        self.retries = False
        self._peer = peer
        self._headers = 0
        self._sums: dict[str, EndRows] = {}
        self._last: dict[tuple[str, str], IperfRow] = {}

    @property
    def is_bare(self) -> bool:
        """Check whether only rows are known: closing rows alone, without the ends' names."""
        return not (self.side or self.hosts)

    def precedes(self, row: IperfRow | None) -> bool:
        """Check whether a closing row or heading begins the next test: this one has such rows."""
        return self.is_bare and (row.stream in self._rates(row) if row else bool(self._sums))

    def header(self, text: str) -> None:
        self._headers += 1
        self.retries = self.retries or "Retr" in text
        if "Datagrams" in text:
            self.protocol = self.protocol or "UDP"

    def row(self, line: LogLine, row: IperfRow) -> None:
        """Add a row. Rows below the second heading, or with an end's name, are the summary."""
        self.unit_rule = UNIT_RULES[row.unit]
        self.last = line
        if row.rest.rstrip().endswith(("sender", "receiver")) or self._headers > 1:
            self._summary(line, row)
        elif "(omitted)" not in row.rest:
            self._keep(row.role, row)
            last = self._last.get((row.role, row.stream))
            # A server that is interrupted prints its last interval again.
            if last is not None and row.start < last.end - SAME_S and row != last:
                self.mixed = row.stream
            self._last[row.role, row.stream] = row

    def _rates(self, row: IperfRow) -> dict[str, float]:
        summary = self._sums.get(row.role, EndRows())
        return summary.sent if row.rest.rstrip().endswith("sender") else summary.received

    def _summary(self, line: LogLine, row: IperfRow) -> None:
        summary = self._sums.setdefault(row.role, EndRows())
        by_sender, rates = row.rest.rstrip().endswith("sender"), self._rates(row)
        if row.stream in rates:
            self.mixed = row.stream
        if len(rates) < MOST_STREAMS:
            rates[row.stream] = row.rate
        if summary.line is None or not by_sender:
            summary.line = line
        # The figure of a single connection; the row of all connections comes last.
        if retransmits := _RETRANSMITS.search(row.rest):
            summary.settings["retransmits"] = retransmits["count"]
            sent_bytes = row.rate * (row.end - row.start)
            if 0 < sent_bytes < math.inf:
                summary.losses = LogLosses(int(retransmits["count"][:15]), 0, sent_bytes)
        if lost := _LOST.search(row.rest):
            count, sent, share = lost.group("lost", "all", "share")
            summary.settings["lost"] = f"{share} % ({count} of {sent} datagrams)"
            summary.losses = LogLosses(int(count[:15]), int(sent[:15]))

    def result(self) -> tuple[SuiteCurve, ...]:
        self.protocol = self.protocol or ("TCP" if self.hosts or self.retries else "")
        self.hosts = self.hosts or ((self._peer,) if self._peer else ())
        cut_off = "no summary: the output ends among the intervals, or before them"
        if self.error:
            cut_off = f"iperf3 stopped: {self.error}" if self._intervals else ""
        elif self._sums:
            cut_off = ""
        roles = sorted({role for role, _ in self._intervals} | set(self._sums)) or [""]
        flows = sorted(map(self._flow, roles), key=lambda flow: flow.direction)
        return self._curves("iperf3", "iperf3", flows, cut_off)

    def _flow(self, role: str) -> Flow:
        summary = self._sums.get(role, EndRows())
        by_receiver = any(summary.received.values())
        rates = summary.received if by_receiver else summary.sent
        stream_count = sum(key[0] == role and key[1] != "SUM" for key in self._intervals)
        stream_rates = tuple(rate for stream, rate in rates.items() if stream != "SUM")
        together = rates.get("SUM", sum(stream_rates))
        # A server's log does not name a reversed test, but has only a sender then.
        only_sends = self.side == "server" and summary.sent and not summary.received
        back = role not in ("TX-C", "RX-S") if role else self.reverse or only_sends
        direction: FlowDirection = "server to client" if back else "client to server"
        return Flow(
            direction, summary.line or self.last, together or None,
            "receiver" if by_receiver else "sender" if together else "",
            max(1, len(stream_rates), stream_count), stream_rates, self._total_intervals(role),
            # Closing rows alone do not show which end is the client.
            summary.settings | ({"direction": "sender to receiver"} if self.is_bare else {}),
            summary.losses,
        )  # fmt: skip


BEGINS = {
    " port ": r"^(?:Connecting to host \S+,|Accepted connection from \S+,"
    r"|\[ *\d+\] local \S+ port \d+ connected to \S+) port \d+",
    "Server listening on ": r"^Server listening on \d+",
    "[ ID]": r"^\[ ID\](?:\[Role\])? Interval +Transfer +(?:Bitrate|Bandwidth +Retr)",
    " sec ": r"^\[ *(?:\d+|SUM)\](?:\[[TR]X-[CS]\])? +\d.* sec .*\b(?:send|receiv)er\s*$",
    "iperf 3.": r"^iperf 3\.\d",
    "iperf3: ": r"^iperf3: ",
}

_TEST = re.compile(r"(?:Connecting to host|Accepted connection from) (?P<host>\S+), port \d+")
_VERSION = re.compile(r"^iperf (?P<version>3[.\d]\S*)")
_ERROR = re.compile(r"iperf3: (?P<text>.*\S)")
_CONNECTED = re.compile(
    r"\[ *(?P<id>\d+)\] local (?P<local>\S+) port \d+ connected to (?P<remote>\S+) port"
)
_VERBOSE = re.compile(
    r"Starting Test: protocol: (?P<protocol>\w+), \d+ streams?, (?P<size>\d+) byte blocks"
)
_CONGESTION = re.compile(r"snd_tcp_congestion (?P<name>\S+)")
#: Rulers, a time stamp alone, and words without a figure; most of them appear with ``-V`` only
#: (iperf_locale.c, 3.12 to 3.19).
_KNOWN = re.compile(
    r"^[-\s]*$|- - - -\s*$|iperf Done\.\s*$|^[\w :,.-]*\d\d:\d\d:\d\d[\w :,.-]*$"
    r"|Test Complete|CPU Utilization:|rcv_tcp_congestion |Cookie: |TCP MSS: |Time: "
    r"|Control connection MSS|Finished omit period|statistics not available|Sent \d+ datagrams"
    r"|datagrams received out-of-order|TCP window size|Using TCP Autotuning|Target Bitrate"
    r"|^\w+ \S+ \d\S* .*#\d+ |Starting Test:|Reverse mode, remote|read lengths|bytes read"
)


class TextReader:
    """Read one test after the other; only the figures of the last one are kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._version = ""
        self._test: TextTest | None = None
        self._error: LogLine | None = None
        self._hidden = False
        self._first: LogLine | None = None
        self._has_result = False

    def line(self, line: LogLine) -> Iterable[SuiteCurve]:
        """Take a line; rows of intervals, most of a long test, complete no curve."""
        row = row_of(line.text) if self._test is not None and not self._hidden else None
        if row is not None and self._test is not None:
            over = self._before_next(line, row)
            self._test.row(line, row)
            return over
        return self._between_rows(line)

    def _before_next(self, line: LogLine, row: IperfRow | None) -> Iterable[SuiteCurve]:
        """Return the curves of closing rows alone, when the next closing rows begin."""
        if self._test is None or not self._test.precedes(row):
            return ()
        over = tuple(self._finish(is_over=False))
        self._test = TextTest(line, self._version)
        return over

    def _between_rows(self, line: LogLine) -> Iterable[SuiteCurve]:
        text = line.text
        self._first = self._first or line
        start = _TEST.search(text)
        if self._hidden and not text.startswith("iperf Done") and "Connecting to" not in text:
            return
        self._hidden = text.startswith("Server output:")
        if start:
            yield from self._finish(is_over=False)
            side = "server" if "Accepted" in text else "client"
            self._test = TextTest(line, self._version, start["host"], side)
        elif "Server listening on" in text or text.startswith(("iperf Done", "Server output:")):
            yield from self._finish(is_over=text.startswith("iperf Done"))
        elif text.startswith("iperf3: "):
            # Errors are not buffered and so may come before the test that they ended.
            yield from self._lonely_error()
            self._error = line
        else:
            if "[ ID] " in text:
                yield from self._before_next(line, None)
            self._within(line)

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._finish(is_over=False)
        yield from self._lonely_error()
        if self._first is not None and not self._has_result:
            self._report(self._first, "a test; this output of iperf3 has none")

    def _finish(self, is_over: bool) -> Iterable[SuiteCurve]:
        """Close the test. An error during the test belongs to it, unless the test ended well."""
        test, self._test = self._test, None
        if test is not None:
            if is_over:
                yield from self._lonely_error()
            yield from self._result_with_error(test)

    def _lonely_error(self) -> Iterable[SuiteCurve]:
        if self._error is None:
            return ()
        return self._result_with_error(TextTest(self._error, self._version))

    def _result_with_error(self, test: TextTest) -> Iterable[SuiteCurve]:
        if self._error is not None:
            match = _ERROR.search(self._error.text)
            test.error = match["text"].removeprefix("error - ") if match else self._error.text
        self._error, self._has_result = None, True
        return test.result()

    def _within(self, line: LogLine) -> None:
        text = line.text
        if version := _VERSION.match(text):
            self._version = version["version"]
            return
        row = row_of(text)
        if self._test is None and ("[ ID] " in text or _CONNECTED.search(text) or row):
            self._test = TextTest(line, self._version)
        if row is not None and self._test is not None:
            self._test.row(line, row)
        elif not ((self._test and _heading(self._test, text)) or _KNOWN.search(text)):
            self._report(line, "a row, a heading or a remark of iperf3")


def _heading(test: TextTest, text: str) -> bool:
    """Read a line beside the rows; return False if it is none of the test."""
    if "[ ID]" in text:
        test.header(text)
    elif "Reverse mode, remote" in text:
        test.reverse = True
    elif connected := _CONNECTED.search(text):
        test.hosts = test.hosts or (connected["local"], connected["remote"])
    elif verbose := _VERBOSE.search(text):
        test.protocol = verbose["protocol"]
        test.settings["block size"] = f"{verbose['size']} bytes"
    elif congestion := _CONGESTION.search(text):
        test.settings["congestion control"] = congestion["name"]
    else:
        return False
    return True


DIALECT = Dialect("iperf3", BEGINS, TextReader)
