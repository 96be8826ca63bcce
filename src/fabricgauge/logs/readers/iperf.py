"""Turn an iperf test into curves: each direction's rate, in total and per connection.

A row as iperf 2 and iperf 3 print it: ``[  5]   0.00-1.00   sec  1.65 GBytes  14.2 Gbits/sec``.

Both count bits in powers of 1000 and bytes in powers of 1024 (``unit_snprintf`` in units.c of iperf
3.12, ``byte_snprintf`` in stdio.c of iperf 2.0.13), and print three digits.
"""

import math
import re
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import figure_of
from fabricgauge.logs.readers.table import SuiteColumn, SuiteHeading, SuiteTable
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Besides, LogEvidence, LogLosses, SuiteCurve

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

    Times are in seconds since the test began, ``rate`` is in bytes/s and may be any float. ``role``
    is iperf 3's (``TX-C``), ``starred`` is iperf 2's sign of the reverse direction, ``count`` is
    the number of connections where the row has one.
    """

    stream: str
    start: float
    end: float
    rate: float
    rest: str = ""
    unit: RateUnit = "bits"
    starred: bool = False
    count: int = 0
    role: str = ""


def row_of(text: str) -> IperfRow | None:
    """Return the row in a line; a time stamp may stand in front."""
    match = _ROW.search(text) if "sec" in text else None
    if match is None:
        return None
    star, stream, count, role, start, end, _, printed, prefix, unit, remainder = match.groups()
    stream = "SUM" if stream.startswith("SUM") else stream
    power, rate = _PREFIXES.index(prefix or " "), figure_of(printed)
    of_unit: RateUnit = "bits" if unit == "bits" else "bytes"
    rate *= 1000.0**power / 8 if unit == "bits" else 1024.0**power
    number = int(count) if count and len(count) < 7 else 0
    times, rest = (float(start), float(end)), remainder.rstrip()
    return IperfRow(stream, *times, rate, rest, of_unit, star is not None, number, role or "")


#: Two processes that write one log number their connections alike.
MIXED = (
    "two connections at the same time are both numbered [{}]: their rows cannot be separated;"
    " write each iperf's output to a file of its own"
)
#: Rows print times with one to four digits.
SAME_S = 0.06

FlowDirection = Literal["client to server", "server to client"]
CountedBy = Literal["receiver", "sender", ""]

#: A run of a day with one interval a second has 86,400; what follows is not kept.
MOST_INTERVALS = 100_000
#: Intervals of all connections together.
MOST_OF_ALL = 1_000_000
#: iperf 3 itself refuses more than 128 connections.
MOST_STREAMS = 4096
#: The short last interval of a test does not show the rate.
_SHORT = 0.5


#: One report within a test: its length in seconds and its rate in bytes/s.
Interval = tuple[float, float]


class Flow(msgspec.Struct, frozen=True):
    """One direction of a test, rates in bytes/s.

    ``rate`` is the whole test's, None if the log has none; ``connections`` are the rates of single
    connections that the log has; ``count`` is their number.
    """

    direction: FlowDirection
    line: LogLine
    rate: float | None
    counted_by: CountedBy
    count: int = 1
    connections: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()
    settings: dict[str, str] = {}
    losses: LogLosses | None = None


class IperfTest(msgspec.Struct, frozen=True):
    """One test: ``flows`` has one entry per direction; ``error`` is the tool's own message."""

    heading: SuiteHeading
    protocol: str
    unit_rule: str
    flows: tuple[Flow, ...]
    error: str = ""
    cut_off: str = ""


class IperfLog:
    """A test that grows row by row; ``side`` is the log's side, empty where it is not known.

    Intervals are kept by direction and connection (``SUM`` is all). ``mixed`` is a number that two
    connections have at the same time, empty if there is none.
    """

    def __init__(self, line: LogLine, side: str, protocol: str = "", version: str = "") -> None:
        self.first = self.last = line
        self.side = side
        self.protocol = protocol
        self.unit_rule = UNIT_RULES["bits"]
        self.error = self.mixed = ""
        self.settings: dict[str, str] = {"log of": side} if side else {}
        self.hosts: tuple[str, ...] = ()
        self._version = version
        self._intervals: dict[tuple[str, str], list[Interval]] = {}
        self._kept = 0

    def _curves(
        self, suite: str, program: str, flows: Sequence[Flow], cut_off: str, pairs: int = 1
    ) -> tuple[SuiteCurve, ...]:
        """Return the curves of the test as far as it went; none where rows are mixed."""
        error, hosts = self.error, self.hosts
        if self.mixed:
            error, flows, cut_off = MIXED.format(self.mixed), (), ""
        heading = SuiteHeading(
            suite, self._version, program, self.first.text.strip()[:200], self.first.number, pairs,
            transport="tcp" if self.protocol == "TCP" else "", settings=self.settings, hosts=hosts,
            evidence=LogEvidence(addresses=hosts if len(hosts) == 2 else ()),
        )  # fmt: skip
        known_flows = tuple(flows) or (Flow("client to server", self.last, None, ""),)
        return curves(
            IperfTest(heading, self.protocol, self.unit_rule, known_flows, error, cut_off)
        )

    def _keep(self, direction: str, row: IperfRow) -> None:
        if (direction, row.stream) in self._intervals or len(self._intervals) < MOST_STREAMS:
            intervals = self._intervals.setdefault((direction, row.stream), [])
            is_kept = len(intervals) < MOST_INTERVALS and self._kept < MOST_OF_ALL
            if is_kept and math.isfinite(row.rate):
                self._kept += 1
                intervals.append((row.end - row.start, row.rate))

    def _total_intervals(self, direction: str, with_sum: bool = True) -> tuple[Interval, ...]:
        """Return the intervals of the row of all connections, or of a single connection."""
        by_stream = {key[1]: kept for key, kept in self._intervals.items() if key[0] == direction}
        together = by_stream.pop("SUM", None)
        if with_sum and together is not None:
            return tuple(together)
        single = next(iter(by_stream.values()), [])
        return tuple(single) if len(by_stream) == 1 else ()


def curves(test: IperfTest) -> tuple[SuiteCurve, ...]:
    """Return the total rate of each direction and, for several connections, their mean rate.

    A test without any figure gives a curve without points that has the reason.
    """
    two_way = len(test.flows) > 1
    return tuple(curve for flow in test.flows for curve in _flow_curves(test, flow, two_way))


def _flow_curves(test: IperfTest, flow: Flow, two_way: bool) -> tuple[SuiteCurve, ...]:
    seconds = sum(length for length, _ in flow.intervals)
    rate = flow.rate or None
    if rate is None and seconds > 0:
        rate = sum(length * interval_rate for length, interval_rate in flow.intervals) / seconds
    kind = "stream" if test.protocol in ("TCP", "") else f"{test.protocol} stream"
    meaning = f"{kind} {flow.direction} while both send" if two_way else f"one-way {kind}"
    pattern: Pattern | None = None
    if test.protocol == "TCP":
        pattern = "bidirectional_bandwidth" if two_way else "bandwidth"
    # The client is end 0, its server end 1.
    ends = (1, 0) if flow.direction == "server to client" else (0, 1)
    whats = ((meaning, pattern), (f"{meaning}, mean per connection", None))
    columns = [
        SuiteColumn("bandwidth", what, "mean", test.unit_rule, 1.0, of, 1, *ends)
        for what, of in whats[: min(2, flow.count)]
    ]
    settings = {
        "protocol": test.protocol,
        "streams": str(flow.count) if flow.rate or flow.intervals else "",
        "silent streams": str(flow.connections.count(0.0) or ""),
        "direction": flow.direction,
        "counted by": flow.counted_by,
    }
    settings = settings | test.heading.settings | flow.settings
    evidence = msgspec.structs.replace(
        test.heading.evidence, losses=flow.losses, intervals=flow.intervals if pattern else ()
    )
    heading = msgspec.structs.replace(test.heading, settings=settings, evidence=evidence)
    table = SuiteTable(heading, columns)
    if rate is None:
        line = LogLine(flow.line.number, test.error or flow.line.text or test.cut_off)
        table.failed(line, None, "other" if test.error else "cut off")
    else:
        # A sender that counted lost datagrams has no rates of intervals; the last may be short.
        sent_here = test.heading.settings.get("log of", "") == flow.direction.partition(" ")[0]
        of_sender = test.protocol != "TCP" and flow.counted_by == "receiver" and sent_here
        longest = max((length for length, _ in flow.intervals), default=0.0)
        rates = [
            interval_rate for length, interval_rate in flow.intervals if length >= _SHORT * longest
        ]
        besides = (_spread([] if of_sender else rates), _spread(flow.connections))
        values = (rate, rate / flow.count)[: len(columns)]
        table.row(flow.line, None, values, besides, samples=len(flow.intervals))
    return table.curves(test.cut_off)


def _spread(rates: Sequence[float]) -> dict[Besides, float]:
    finite_rates = [rate for rate in rates if math.isfinite(rate)]
    if len(finite_rates) < 2:
        return {}
    return {
        "minimum": min(finite_rates),
        "maximum": max(finite_rates),
        "median": statistics.median(finite_rates),
        "deviation": statistics.stdev(finite_rates),
    }
