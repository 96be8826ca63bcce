"""What ``iperf3`` prints without ``-J``, on the client's or the server's side."""

import re
from collections.abc import Iterable

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.iperf3.one_test import TextTest
from fabricgauge.parse.iperf_flow import curves
from fabricgauge.parse.iperf_rows import row_of

#: What ``--timestamps`` puts in front by itself (``%c``), or one word with a time of day.
_STAMP = r"^(?:\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4} |\S{0,40}\d\d:\d\d\S{0,40} )?"

BEGINS = "|".join(
    (
        _STAMP + r"(?:Connecting to host \S+,|Accepted connection from \S+,"
        r"|\[ *\d+\] local \S+ port \d+ connected to \S+) port \d+",
        _STAMP + r"Server listening on \d+",
        r"^iperf 3\.\d",
        r"^iperf3: ",
    )
)

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
#: Words without a figure; most of them appear with ``-V`` only (iperf_locale.c, 3.12 to 3.19).
_KNOWN = re.compile(
    r"^[-\s]*$|Test Complete|CPU Utilization:|rcv_tcp_congestion |Cookie: |TCP MSS: |Time: "
    r"|Control connection MSS|Finished omit period|statistics not available|Sent \d+ datagrams"
    r"|datagrams received out-of-order|TCP window size|Using TCP Autotuning|Target Bitrate"
    r"|^\w+ \S+ \d\S* .*#\d+ |Starting Test:|Reverse mode, remote|read lengths|bytes read"
)


class TextReader:
    """One test after the other; the figures of the last one are all that is kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._version = ""
        self._test: TextTest | None = None
        self._error: Line | None = None
        self._hidden = False
        self._first: Line | None = None
        self._told = False

    def line(self, line: Line) -> Iterable[SuiteCurve]:
        """Rows of intervals, most of a long test, complete nothing."""
        row = row_of(line.text) if self._test is not None and not self._hidden else None
        if row is not None and self._test is not None:
            self._test.row(line, row)
            return ()
        return self._between_rows(line)

    def _between_rows(self, line: Line) -> Iterable[SuiteCurve]:
        text = line.text
        self._first = self._first or line
        begun = _TEST.search(text)
        if self._hidden and not text.startswith("iperf Done") and "Connecting to" not in text:
            return
        self._hidden = text.startswith("Server output:")
        if begun:
            yield from self._begin(line, begun["host"])
        elif "Server listening on" in text or text.startswith(("iperf Done", "Server output:")):
            yield from self._finish(done=text.startswith("iperf Done"))
        elif text.startswith("iperf3: "):
            yield from self._failed(line)
        else:
            self._within(line)

    def end(self) -> Iterable[SuiteCurve]:
        yield from self._finish(done=False)
        yield from self._lonely_error()
        if self._first is not None and not self._told:
            self._report(self._first, "a test; this output of iperf3 has none")

    def _begin(self, line: Line, host: str) -> Iterable[SuiteCurve]:
        yield from self._finish(done=False)
        side = "server" if "Accepted" in line.text else "client"
        self._test = TextTest(line, self._version, host, side)

    def _finish(self, done: bool) -> Iterable[SuiteCurve]:
        """An error told while a test ran belongs to it, unless it came to its proper end."""
        test, self._test = self._test, None
        if test is None:
            return
        if done or self._error is None:
            yield from self._lonely_error()
        else:
            test.error = str(_word(self._error))
            self._error = None
        self._told = True
        yield from curves(test.result())

    def _failed(self, line: Line) -> Iterable[SuiteCurve]:
        """Errors are not buffered and so may come before the test that they ended."""
        yield from self._lonely_error()
        self._error = line

    def _lonely_error(self) -> Iterable[SuiteCurve]:
        error, self._error = self._error, None
        if error is not None:
            test = TextTest(error, self._version, "", "")
            test.error, self._told = _word(error), True
            yield from curves(test.result())

    def _within(self, line: Line) -> None:
        text = line.text
        version = _VERSION.match(text)
        if version:
            self._version = version["version"]
            return
        if self._test is None and _CONNECTED.search(text):
            self._test = TextTest(line, self._version, "", "")
        if not (self._test is not None and _heading(self._test, text)) and not _known(text):
            self._report(line, "a row, a heading or a remark of iperf3")


def _heading(test: TextTest, text: str) -> bool:
    """Take what stands around the rows; false if nothing of it is in the line."""
    connected = _CONNECTED.search(text)
    verbose = _VERBOSE.search(text)
    congestion = _CONGESTION.search(text)
    if "[ ID]" in text:
        test.header(text)
    elif "Reverse mode, remote" in text:
        test.reverse = True
    elif connected:
        test.connected(connected["local"], connected["remote"])
    elif verbose:
        test.protocol = verbose["protocol"]
        test.settings["block size"] = f"{verbose['size']} bytes"
    elif congestion:
        test.settings["congestion control"] = congestion["name"]
    else:
        return False
    return True


def _known(text: str) -> bool:
    """Remarks, rulers, and a time stamp alone."""
    return (
        bool(_KNOWN.search(text))
        or text.rstrip().endswith(("- - - -", "iperf Done."))
        or (re.fullmatch(r"[\w :,.-]*\d\d:\d\d:\d\d[\w :,.-]*", text) is not None)
    )


def _word(line: Line) -> str:
    match = _ERROR.search(line.text)
    return match["text"].removeprefix("error - ") if match else line.text
