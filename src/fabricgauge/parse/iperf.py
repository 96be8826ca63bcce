"""What an iperf test comes to: each direction's rate, together and per connection.

A row as iperf 2 and iperf 3 print it: ``[  5]   0.00-1.00   sec  1.65 GBytes  14.2 Gbits/sec``.

Both count bits in powers of 1000 and bytes in powers of 1024 (``unit_snprintf`` in
units.c of iperf 3.12, ``byte_snprintf`` in stdio.c of iperf 2.0.13), and print three digits.
"""

import math
import re
import statistics
from typing import Literal

import msgspec

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.suite import Besides, SuiteCurve
from fabricgauge.parse.interface import LogLine
from fabricgauge.parse.lines import figure_of
from fabricgauge.parse.table import SuiteColumn, SuiteHeading, SuiteTable

RateUnit = Literal["bits", "bytes"]

UNIT_RULES: dict[RateUnit, str] = {
    "bits": "Gbits/sec = 10^9 bit/s, printed with three digits (iperf)",
    "bytes": "MBytes/sec = 2^20 bytes/s, printed with three digits (iperf)",
}

_ROW = re.compile(
    r"\[ *(?:(?P<star>\*) *)?(?P<id>\d+|SUM(?:-(?P<count>\d+))?)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    r"(?P<start>\d+\.\d+) *- *(?P<end>\d+\.\d+) +sec +(?P<moved>[-+.\w]+) [KMGTP]?Bytes? +"
    r"(?P<rate>[-+.\w]+) (?P<prefix>[KMGTP]?)(?P<unit>bits|Bytes)/sec(?P<rest>.*)"
)
_PREFIXES = " KMGTP"


class IperfRow(msgspec.Struct, frozen=True):
    """One interval or one summary of a connection, or of all (``stream`` is ``SUM``).

    Times are in seconds since the test began, ``rate`` is in bytes/s and may be anything
    that a float can be. ``role`` is iperf 3's (``TX-C``), ``starred`` iperf 2's sign of the
    reverse direction, ``count`` the number of connections where the row itself tells it.
    """

    stream: str
    starred: bool
    count: int
    role: str
    start: float
    end: float
    rate: float
    unit: RateUnit
    rest: str


def row_of(text: str) -> IperfRow | None:
    """The row that the line holds, behind a time stamp if there is one."""
    match = _ROW.search(text) if "sec" in text else None
    if match is None:
        return None
    star, stream, count, role, start, end, _, rate, prefix, unit, rest = match.groups()
    return IperfRow(
        stream="SUM" if stream.startswith("SUM") else stream,
        starred=star is not None,
        count=int(count) if count and len(count) < 7 else 0,
        role=role or "",
        start=float(start),
        end=float(end),
        rate=_rate(rate, prefix, unit),
        unit="bits" if unit == "bits" else "bytes",
        rest=rest,
    )


def _rate(number: str, prefix: str, unit: str) -> float:
    value = figure_of(number)
    power = _PREFIXES.index(prefix or " ")
    return value * 1000.0**power / 8 if unit == "bits" else value * 1024.0**power


FlowDirection = Literal["client to server", "server to client"]
CountedBy = Literal["receiver", "sender", ""]

#: A run of a day with one interval a second has 86,400; what follows is not kept.
MOST_INTERVALS = 100_000
#: Those of all connections together.
MOST_OF_ALL = 1_000_000
#: The rest of a second that closes a test says nothing of the rate.
_SHORT = 0.5


class Interval(msgspec.Struct, frozen=True):
    """One report within a test: its length in seconds and its rate in bytes/s."""

    seconds: float
    rate: float


class Flow(msgspec.Struct, frozen=True):
    """One direction of a test, rates in bytes/s.

    ``rate`` is the whole test's, None if the log has none; ``connections`` are the single
    ones', as far as the log has them, ``count`` is how many there were.
    """

    direction: FlowDirection
    line: LogLine
    rate: float | None
    counted_by: CountedBy
    count: int = 1
    connections: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()
    settings: dict[str, str] = {}


class IperfTest(msgspec.Struct, frozen=True):
    """One test: ``flows`` has one entry per direction; ``error`` is the tool's own word."""

    heading: SuiteHeading
    protocol: str
    unit_rule: str
    flows: tuple[Flow, ...]
    error: str = ""
    cut_off: str = ""


def curves(test: IperfTest) -> tuple[SuiteCurve, ...]:
    """The aggregate of each direction and, of several connections, the mean of one.

    A test without any figure gives a curve without points that tells why.
    """
    found: list[SuiteCurve] = []
    for flow in test.flows:
        found += _of_flow(test, flow, two_way=len(test.flows) > 1)
    return tuple(found)


def mean_rate(intervals: tuple[Interval, ...]) -> float | None:
    """The rate over all intervals, each weighed by its length; None if there is none."""
    seconds = sum(one.seconds for one in intervals)
    return sum(one.seconds * one.rate for one in intervals) / seconds if seconds > 0 else None


def _of_flow(test: IperfTest, flow: Flow, two_way: bool) -> tuple[SuiteCurve, ...]:
    rate = flow.rate if flow.rate else mean_rate(flow.intervals)
    columns = [_column(test, flow, two_way)]
    values: list[float | None] = [rate]
    besides = [_spread([one.rate for one in _whole(_comparable(test, flow))])]
    if flow.count > 1:
        columns.append(_mean_column(test, flow, two_way))
        values.append(rate / flow.count if rate is not None else None)
        besides.append(_spread(flow.connections))
    table = SuiteTable(
        msgspec.structs.replace(test.heading, settings=_settings(test, flow)), columns
    )
    if rate is None:
        line = LogLine(flow.line.number, test.error or flow.line.text or test.cut_off)
        table.failed(line, None, "other" if test.error else "cut off")
    else:
        table.row(flow.line, None, values, besides, samples=len(flow.intervals))
    return table.curves(test.cut_off)


def _column(test: IperfTest, flow: Flow, two_way: bool) -> SuiteColumn:
    pattern: Pattern | None = "bandwidth" if test.protocol == "TCP" and not two_way else None
    return SuiteColumn(
        "bandwidth", _what(test, flow, two_way), "mean", test.unit_rule, 1.0, pattern=pattern,
        origin=_origin(flow), target=1 - _origin(flow),
    )  # fmt: skip


def _mean_column(test: IperfTest, flow: Flow, two_way: bool) -> SuiteColumn:
    what = f"{_what(test, flow, two_way)}, mean per connection"
    return SuiteColumn(
        "bandwidth", what, "mean", test.unit_rule, 1.0,
        origin=_origin(flow), target=1 - _origin(flow),
    )  # fmt: skip


def _origin(flow: Flow) -> int:
    """The client is end 0, its server end 1."""
    return 1 if flow.direction == "server to client" else 0


def _what(test: IperfTest, flow: Flow, two_way: bool) -> str:
    kind = "stream" if test.protocol in ("TCP", "") else f"{test.protocol} stream"
    return f"{kind} {flow.direction} while both send" if two_way else f"one-way {kind}"


def _settings(test: IperfTest, flow: Flow) -> dict[str, str]:
    own = {
        "protocol": test.protocol,
        "streams": str(flow.count) if flow.rate or flow.intervals else "",
        "direction": flow.direction,
        "counted by": flow.counted_by,
    }
    return {key: text for key, text in own.items() if text} | test.heading.settings | flow.settings


def _comparable(test: IperfTest, flow: Flow) -> tuple[Interval, ...]:
    """The intervals, unless a sender counted datagrams that never arrived."""
    side = test.heading.settings.get("log of", "")
    sent_here = side == flow.direction.partition(" ")[0]
    lossy = test.protocol != "TCP" and flow.counted_by == "receiver" and sent_here
    return () if lossy else flow.intervals


def _whole(intervals: tuple[Interval, ...]) -> list[Interval]:
    longest = max((one.seconds for one in intervals), default=0.0)
    return [one for one in intervals if one.seconds >= _SHORT * longest]


def _spread(rates: "list[float] | tuple[float, ...]") -> dict[Besides, float]:
    known = [rate for rate in rates if math.isfinite(rate)]
    if len(known) < 2:
        return {}
    return {
        "minimum": min(known),
        "maximum": max(known),
        "median": statistics.median(known),
        "deviation": statistics.stdev(known),
    }
