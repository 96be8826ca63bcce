"""The fields of iperf 3's JSON that count here; names are the tool's own.

Seen in outputs of 3.12; later versions add fields. Rates are in bit/s, times in seconds.
All may be missing: an output that an error ended has only some of them.
"""

import msgspec


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


class Start(msgspec.Struct, frozen=True):
    connected: tuple[Connection, ...] = ()
    version: str = ""
    tcp_mss: int | None = None
    tcp_mss_default: int | None = None
    accepted_connection: dict[str, object] | None = None
    test_start: TestStart | None = None


class Sum(msgspec.Struct, frozen=True):
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
    sum: Sum | None = None
    sum_bidir_reverse: Sum | None = None


class StreamEnd(msgspec.Struct, frozen=True):
    sender: Sum | None = None
    receiver: Sum | None = None


class End(msgspec.Struct, frozen=True):
    streams: tuple[StreamEnd, ...] = ()
    sum: Sum | None = None
    sum_sent: Sum | None = None
    sum_received: Sum | None = None
    sum_sent_bidir_reverse: Sum | None = None
    sum_received_bidir_reverse: Sum | None = None
    sender_tcp_congestion: str = ""


class Document(msgspec.Struct, frozen=True):
    start: Start = Start()
    intervals: tuple[IntervalRecord, ...] = ()
    end: End = End()
    error: str = ""
