"""Read ``iperf3 -J``: one JSON object per test, and the events of ``--json-stream`` (3.17 on).

The fields that count here bear the tool's own names, as seen in outputs of 3.12; later versions add
fields. Rates are in bit/s, times in seconds. All may be missing: an output that an error ended has
only some of them. Where the writer was ended in the middle, what stands there up to the last whole
object is read.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from fabricgauge.logs.readers.interface import JsonDialect, LogLine, Report
from fabricgauge.logs.readers.iperf import (
    MOST_INTERVALS,
    MOST_STREAMS,
    Flow,
    FlowDirection,
    IperfTest,
    curves,
)
from fabricgauge.logs.readers.json_text import converted
from fabricgauge.logs.readers.table import SuiteHeading
from fabricgauge.model.suite import LogLosses, SuiteCurve

_UNIT_RULE = "bits_per_second / 8 (iperf3 JSON)"


class Connection(msgspec.Struct, frozen=True):
    local_host: str = ""
    remote_host: str = ""


class TestStart(msgspec.Struct, frozen=True):
    protocol: str = ""
    num_streams: int = 1
    blksize: int | None = None
    omit: float | None = None
    duration: float | None = None
    reverse: int = 0
    bidir: int = 0
    target_bitrate: float | None = None


class Iperf3Start(msgspec.Struct, frozen=True):
    connected: tuple[Connection, ...] = ()
    version: str = ""
    tcp_mss: int | None = None
    tcp_mss_default: int | None = None
    accepted_connection: dict[str, object] | None = None
    test_start: TestStart = TestStart(num_streams=0)


class Iperf3Sum(msgspec.Struct, frozen=True):
    seconds: float | None = None
    bits_per_second: float | None = None
    retransmits: int | None = None
    lost_packets: int | None = None
    packets: int | None = None
    lost_percent: float | None = None
    omitted: bool = False
    sender: bool | None = None


class IntervalRecord(msgspec.Struct, frozen=True):
    sum: Iperf3Sum | None = None
    sum_bidir_reverse: Iperf3Sum | None = None


class StreamEnd(msgspec.Struct, frozen=True):
    sender: Iperf3Sum | None = None
    receiver: Iperf3Sum | None = None


class Iperf3End(msgspec.Struct, frozen=True):
    streams: tuple[StreamEnd, ...] = ()
    sum: Iperf3Sum | None = None
    sum_sent: Iperf3Sum | None = None
    sum_received: Iperf3Sum | None = None
    sum_sent_bidir_reverse: Iperf3Sum | None = None
    sum_received_bidir_reverse: Iperf3Sum | None = None
    sender_tcp_congestion: str = ""


class Iperf3Document(msgspec.Struct, frozen=True):
    start: Iperf3Start = Iperf3Start()
    intervals: tuple[IntervalRecord, ...] = ()
    end: Iperf3End = Iperf3End()
    error: str = ""


def _test_of(document: Iperf3Document, line: int, figure_line: int, broken: bool) -> IperfTest:
    """Return the test; its flows have the receiver's rate, or the sender's if it is alone."""
    start = document.start
    # Sums of TCP have no packets.
    sums = [total for total in (document.end.sum, document.end.sum_received) if total]
    shown = "UDP" if any(total.packets is not None for total in sums) else "TCP" if sums else ""
    protocol = start.test_start.protocol.upper() or shown
    hosts = [(connection.local_host, connection.remote_host) for connection in start.connected[:1]]
    heading = SuiteHeading(
        "iperf3", start.version.removeprefix("iperf").strip(), "iperf3",
        f"{start.version or 'iperf3'} {protocol} test", line,
        transport="tcp" if protocol == "TCP" else "",
        settings=_settings(document), hosts=hosts[0] if hosts else (),
    )  # fmt: skip
    flows = tuple(_flows(document, LogLine(figure_line, "")))
    ended = any(flow.rate for flow in flows)
    cut_off = "" if ended or document.error else "the document has no end result"
    if broken:
        cut_off = "the JSON text ends before its last bracket"
    elif document.error and (document.intervals or ended):
        cut_off = f"iperf3 stopped: {document.error}"
    return IperfTest(heading, protocol, _UNIT_RULE, flows, document.error, cut_off)


def _settings(document: Iperf3Document) -> dict[str, str]:
    start, test = document.start, document.start.test_start
    mss = start.tcp_mss or start.tcp_mss_default
    side = "client" if start.version else ""
    return {
        "block size": f"{test.blksize} bytes" if test.blksize else "",
        "duration": f"{test.duration:g} s" if test.duration else "",
        "omitted": f"first {test.omit:g} s" if test.omit else "",
        "target rate": f"{test.target_bitrate:g} bit/s" if test.target_bitrate else "",
        "mss": f"{mss} bytes" if mss else "",
        "congestion control": document.end.sender_tcp_congestion,
        "log of": side if start.accepted_connection is None else "server",
    }


def _flows(document: Iperf3Document, figure: LogLine) -> Iterator[Flow]:
    """Yield each direction with the receiver's rate.

    A side without the other's result writes 0.
    """
    end, test = document.end, document.start.test_start
    records = document.intervals[:MOST_INTERVALS]
    reverse = any(record.sum_bidir_reverse for record in records[:1])
    is_bidirectional = test.bidir or end.sum_received_bidir_reverse or reverse
    first: FlowDirection = (
        "server to client" if test.reverse and not is_bidirectional else "client to server"
    )
    ways = [(first, end.sum_sent or end.sum, end.sum_received, [record.sum for record in records])]
    if is_bidirectional:
        sent, received = end.sum_sent_bidir_reverse, end.sum_received_bidir_reverse
        sums = [record.sum_bidir_reverse for record in records]
        ways.append(("server to client", sent, received, sums))
    for direction, sent, received, sums in ways:
        by_receiver = bool(received and received.bits_per_second)
        counted = received if by_receiver else sent
        rate = counted.bits_per_second if counted else None
        connections = _connections(document, direction)
        intervals = tuple(
            (total.seconds, total.bits_per_second / 8)
            for total in sums
            if total and not total.omitted and total.seconds and total.bits_per_second is not None
        )
        yield Flow(
            direction, figure, rate / 8 if rate else None,
            "receiver" if by_receiver else "sender" if rate else "",
            test.num_streams if 1 <= test.num_streams <= MOST_STREAMS else max(1, len(connections)),
            connections, intervals, *_losses(sent, received),
        )  # fmt: skip


def _connections(document: Iperf3Document, direction: FlowDirection) -> tuple[float, ...]:
    """Return the receiver's rate of each connection in that direction; none if all are 0."""
    server = document.start.accepted_connection is not None
    is_bidirectional = document.end.sum_received_bidir_reverse is not None
    sends_here = (direction == "client to server") != server
    connection_rates: list[float] = []
    for stream in document.end.streams:
        if is_bidirectional and not (stream.receiver and stream.receiver.sender == sends_here):
            continue
        end_rates = (end.bits_per_second for end in (stream.receiver, stream.sender) if end)
        connection_rates.append(next(filter(None, end_rates), 0.0) / 8)
    return tuple(connection_rates) if any(connection_rates) else ()


def _losses(
    sent: Iperf3Sum | None, received: Iperf3Sum | None
) -> tuple[dict[str, str], LogLosses | None]:
    """Return the settings that state losses, and the losses."""
    settings: dict[str, str] = {}
    losses: LogLosses | None = None
    lost = received if received and received.lost_percent is not None else sent
    if lost and lost.packets and lost.lost_packets is not None:
        losses = LogLosses(lost.lost_packets, lost.packets)
    if sent and sent.retransmits is not None:
        settings["retransmits"] = str(sent.retransmits)
        if sent.seconds and sent.bits_per_second:
            losses = LogLosses(sent.retransmits, 0, sent.seconds * sent.bits_per_second / 8)
    if lost and lost.lost_percent is not None:
        counts = f" ({lost.lost_packets} of {lost.packets} datagrams)" if lost.packets else ""
        settings["lost"] = f"{lost.lost_percent:.3g} %{counts}"
    return settings, losses


#: Strings, and the brackets outside of them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}


def _decoded(part: str) -> tuple[Any, int | None]:
    """Return a document, or as much of it as is there, and the place where reading stopped.

    The place is None for a whole document. The value is None if not even one whole object is there,
    or if it is nested too deeply.
    """
    try:
        return json.loads(part), None
    except json.JSONDecodeError as error:
        stop = error.pos
    except (ValueError, RecursionError):
        return None, None
    length, closing = _last_whole(part[:stop])
    try:
        return json.loads(part[:length] + closing), stop
    except (ValueError, RecursionError):
        return None, None


def _last_whole(part: str) -> tuple[int, str]:
    """Return the end of the last closed bracket, and the text that closes the open ones."""
    stack: list[str] = []
    length, still_open = 0, ""
    for match in _TOKEN.finditer(part):
        token = match[0]
        if token in _CLOSES:
            stack.append(_CLOSES[token])
        elif token in ("}", "]") and stack:
            stack.pop()
            length, still_open = match.end(), "".join(reversed(stack))
    return length, still_open


#: A document's own bracket stands alone or at the begin of a line, nested ones are indented.
_OPENS = re.compile(r"^\{", re.MULTILINE)
_START = re.compile(r'"start"\s*:\s*\{\s*"connected"\s*:')
_EVENT = re.compile(r'\s*\{\s*"event"\s*:\s*"(?P<event>start|interval|end|error|server_\w+)"\s*,')
_SHOWN = 200
#: More broken documents in one object than this are read as one.
MOST_DOCUMENTS = 10_000


def recognised(text: str) -> bool:
    """Check whether iperf 3 wrote the object, whole or cut off."""
    return _START.search(text, 0, 2000) is not None or _EVENT.match(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterable[SuiteCurve]:
    """Yield the curves of one object, or of several that follow one that was cut off."""
    if event := _EVENT.match(text):
        yield from _event_curves(text, event["event"], first_line, report)
        return
    starts = [match.start() for match in islice(_OPENS.finditer(text), MOST_DOCUMENTS)] or [0]
    line = first_line + text.count("\n", 0, starts[0])
    for place, following in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[place:following]
        yield from _document_curves(part, line, report)
        line += part.count("\n")


def _document_curves(part: str, line: int, report: Report) -> Iterable[SuiteCurve]:
    value, stop = _decoded(part)
    document = converted(value, Iperf3Document)
    if document is None:
        nothing = "iperf3 -J output with at least one result"
        _report_lines(part, line, report, "fields as iperf 3 writes them" if value else nothing)
        return
    # The line of the figure, as near as the text shows it.
    places = (part.find(f'"{name}"') for name in ("sum_received", "intervals"))
    figure = part.count("\n", 0, next((place for place in places if place >= 0), 0))
    yield from curves(_test_of(document, line, line + figure, stop is not None))
    behind = -1 if stop is None else part.find("\n", stop)
    if behind >= 0:
        number = line + part.count("\n", 0, behind)
        _report_lines(part[behind:], number, report, "more of a broken iperf3 -J output")


def _report_lines(text: str, line: int, report: Report, why: str) -> None:
    for number, shown in enumerate(text.split("\n"), line):
        if shown.strip():
            report(LogLine(number, shown[:_SHOWN]), why)


def _event_curves(text: str, event: str, line: int, report: Report) -> Iterable[SuiteCurve]:
    """Yield the curves of an event. Each event is one line; the last one holds the result."""
    if event == "start":
        report(LogLine(line, text[:_SHOWN]), "of --json-stream output only the end event is read")
    if event not in ("end", "error"):
        return
    value, stop = _decoded(text)
    data = value.get("data") if isinstance(value, dict) else None
    end = converted(data, Iperf3End)
    if event == "error":
        document = Iperf3Document(error=str(data)[:_SHOWN])
    elif end is not None:
        document = Iperf3Document(end=end)
    else:
        report(LogLine(line, text[:_SHOWN]), "the end event of iperf3 --json-stream")
        return
    yield from curves(_test_of(document, line, line, value is None or stop is not None))


JSON_DIALECT = JsonDialect("iperf3", recognised, read)
