"""From the fields of an iperf 3 document to the test that it tells of.

The fields of iperf 3's JSON that count here; names are the tool's own.

Seen in outputs of 3.12; later versions add fields. Rates are in bit/s, times in seconds.
All may be missing: an output that an error ended has only some of them.
"""

import msgspec

from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.iperf import (
    MOST_INTERVALS,
    MOST_STREAMS,
    Flow,
    FlowDirection,
    Interval,
    IperfTest,
)
from fabricgauge.parse.table import SuiteHeading


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
    test_start: TestStart | None = None


class Iperf3Sum(msgspec.Struct, frozen=True):
    seconds: float | None = None
    bytes: float | None = None
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


_UNIT_RULE = "bits_per_second / 8 (iperf3 JSON)"
_CUT_OFF = "the JSON text ends before its last bracket"


def test_of(
    document: Iperf3Document, first_line: int, figure_line: int, cut_off: bool
) -> IperfTest:
    """The test; its flows carry the receiver's rate, or the sender's where that is all."""
    start = document.start
    protocol = _protocol(document)
    figure = LogLine(figure_line, "")
    heading = SuiteHeading(
        "iperf3", start.version.removeprefix("iperf").strip(), "iperf3",
        f"{start.version or 'iperf3'} {protocol} test", first_line,
        transport="tcp" if protocol == "TCP" else "",
        settings=_settings(document), hosts=_hosts(start),
    )  # fmt: skip
    flows = _flows(document, figure)
    ended = any(flow.rate for flow in flows)
    return IperfTest(
        heading, protocol, _UNIT_RULE, flows, document.error,
        _cut_off(document, cut_off, ended),
    )  # fmt: skip


def _cut_off(document: Iperf3Document, broken: bool, ended: bool) -> str:
    if broken:
        return _CUT_OFF
    if document.error and (document.intervals or ended):
        return f"iperf3 stopped: {document.error}"
    return "" if ended or document.error else "the document has no end result"


def _protocol(document: Iperf3Document) -> str:
    stated = document.start.test_start.protocol.upper() if document.start.test_start else ""
    if stated:
        return stated
    sums = [one for one in (document.end.sum, document.end.sum_received) if one]
    if not sums:
        return ""
    return "UDP" if any(one.packets is not None for one in sums) else "TCP"


def _hosts(start: Iperf3Start) -> tuple[str, ...]:
    first = start.connected[0] if start.connected else None
    return (first.local_host, first.remote_host) if first else ()


def _settings(document: Iperf3Document) -> dict[str, str]:
    start = document.start
    test = start.test_start or TestStart()
    mss = start.tcp_mss or start.tcp_mss_default
    stated = {
        "block size": f"{test.blksize} bytes" if test.blksize else "",
        "duration": f"{test.duration:g} s" if test.duration else "",
        "omitted": f"first {test.omit:g} s" if test.omit else "",
        "target rate": f"{test.target_bitrate:g} bit/s" if test.target_bitrate else "",
        "mss": f"{mss} bytes" if mss else "",
        "congestion control": document.end.sender_tcp_congestion,
        "log of": _side(start),
    }
    return {key: value for key, value in stated.items() if value}


def _side(start: Iperf3Start) -> str:
    if start.accepted_connection is not None:
        return "server"
    return "client" if start.version else ""


def _flows(document: Iperf3Document, figure: LogLine) -> tuple[Flow, ...]:
    end, test = document.end, document.start.test_start or TestStart()
    reverse = any(one.sum_bidir_reverse for one in document.intervals[:1])
    both = test.bidir or end.sum_received_bidir_reverse or reverse
    first: FlowDirection = "server to client" if test.reverse and not both else "client to server"
    flows = [_flow(document, figure, first, end.sum_sent or end.sum, end.sum_received, False)]
    if both:
        sent, received = end.sum_sent_bidir_reverse, end.sum_received_bidir_reverse
        flows.append(_flow(document, figure, "server to client", sent, received, True))
    return tuple(flows)


def _flow(
    document: Iperf3Document,
    figure: LogLine,
    direction: FlowDirection,
    sent: Iperf3Sum | None,
    received: Iperf3Sum | None,
    reverse: bool,
) -> Flow:
    """The receiver's rate counts; a side that learnt nothing of the other writes 0."""
    by_receiver = bool(received and received.bits_per_second)
    counted = received if by_receiver else sent
    rate = counted.bits_per_second if counted else None
    connections = _connections(document, direction)
    return Flow(
        direction, figure, rate / 8 if rate else None,
        "receiver" if by_receiver else "sender" if rate else "",
        _count(document, connections), connections,
        _intervals(document, reverse), _loss(sent, received),
    )  # fmt: skip


def _count(document: Iperf3Document, connections: tuple[float, ...]) -> int:
    """How many connections were asked for, if the log says a number that can be."""
    test = document.start.test_start
    asked = test.num_streams if test else len(connections)
    return asked if 1 <= asked <= MOST_STREAMS else max(1, len(connections))


def _connections(document: Iperf3Document, direction: FlowDirection) -> tuple[float, ...]:
    """The receiver's rate of each connection that moved bytes in that direction."""
    server = document.start.accepted_connection is not None
    both = document.end.sum_received_bidir_reverse is not None
    sends_here = (direction == "client to server") != server
    rates = [
        _rate_of(stream)
        for stream in document.end.streams
        if not both or (stream.receiver and stream.receiver.sender == sends_here)
    ]
    return tuple(rate / 8 for rate in rates if rate)


def _rate_of(stream: StreamEnd) -> float | None:
    of_receiver = stream.receiver.bits_per_second if stream.receiver else None
    return of_receiver or (stream.sender.bits_per_second if stream.sender else None)


def _intervals(document: Iperf3Document, reverse: bool) -> tuple[Interval, ...]:
    sums = [
        one.sum_bidir_reverse if reverse else one.sum for one in document.intervals[:MOST_INTERVALS]
    ]
    return tuple(
        Interval(one.seconds, one.bits_per_second / 8)
        for one in sums
        if one and not one.omitted and one.seconds and one.bits_per_second is not None
    )


def _loss(sent: Iperf3Sum | None, received: Iperf3Sum | None) -> dict[str, str]:
    told: dict[str, str] = {}
    if sent and sent.retransmits is not None:
        told["retransmits"] = str(sent.retransmits)
    lost = received if received and received.lost_percent is not None else sent
    if lost and lost.lost_percent is not None:
        share = f"{lost.lost_percent:.3g} %"
        counts = f" ({lost.lost_packets} of {lost.packets} datagrams)" if lost.packets else ""
        told["lost"] = share + counts
    return told
