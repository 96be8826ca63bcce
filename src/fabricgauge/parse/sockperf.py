"""sockperf 3: ping-pong, under-load and throughput (src/client.cpp of 3.7 to 3.10).

A ``MBps`` is 2^20 bytes, a ``GBps`` 1000 of them (``client_statistics``, ``stream_statistics``).
A latency is half a round trip, unless it says ``Round trip``. The log does not say whether messages
waited for answers (ping-pong) or went on (under-load), so that no pattern is known; nor the
message size, but for streams of other than 1472 bytes.
"""

import re

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.suite import Besides, LogEvidence
from fabricgauge.parse.labelled import Figure, Labelled, Values, ends_of
from fabricgauge.parse.table import SuiteColumn

_PERCENTILES: dict[str, Besides] = {
    "99.990": "p99.99", "99.900": "p99.9", "99.000": "p99", "90.000": "p90", "75.000": "p75",
    "50.000": "p50",
}  # fmt: skip
_SPREAD: dict[Besides, str] = {
    "minimum": "MIN", "maximum": "MAX", "deviation": "deviation",
    **{besides: f"p{name.replace('.', '_')}" for name, besides in _PERCENTILES.items()},
}  # fmt: skip
_SAYS = "^sockperf: .{0,16}?"


def _test(values: Values) -> str:
    stream = "rate" in values or "bw" in values
    protocol = "" if values.get("protocol") == "TCP" else " of datagrams"
    return f"sockperf throughput{protocol}" if stream else "sockperf"


def _evidence(values: Values) -> LogEvidence:
    return LogEvidence(addresses=ends_of("", values.get("peer", "")))


def _time(key: str, what: str) -> Figure:
    column = SuiteColumn("time", what, "mean", "µs", 1e-6)
    return Figure(key, column, "sockperf", "size", besides=_SPREAD, samples="received")


_UNITS = {"MBps": 2.0**20, "GBps": 1e3 * 2.0**20}


def _stream(test: str, pattern: Pattern | None) -> Figure:
    """Only of other sizes than 1472 bytes the log says the size."""
    rule = "MBps = 2^20 bytes/s (sockperf)"
    column = SuiteColumn("bandwidth", "one-way stream, as sent", "mean", rule, 1.0, pattern)
    return Figure("bw", column, test, "size", 1472, _UNITS)


_RATE = SuiteColumn("message_rate", "one-way stream, as sent", "mean", "messages/s", 1.0)

SOCKPERF = Labelled(
    suite="sockperf",
    begins={"== version #": r"^sockperf: .{0,16}== version #\S+ =="},
    opens=re.compile(r"^sockperf: .{0,16}== version #(?P<version>\d[\w.]*)"),
    values=tuple(
        re.compile(expression)
        for expression in (
            r"^\[ *\d+\] IP = (?P<peer>\S+) +PORT = +\d+ # (?P<protocol>\w+)",
            _SAYS + r"\[Valid Duration\] .*ReceivedMessages=(?P<received>\d+)",
            _SAYS + r"====> avg-\w+= *[\d.]+ \(std-dev= *(?P<deviation>[\d.]+)",
            _SAYS + r"# dropped messages = (?P<dropped>\d+)",
            _SAYS + r"Summary: Latency is +(?P<latency>\S+) usec",
            _SAYS + r"Summary: Round trip is +(?P<round_trip>\S+) usec",
            _SAYS + r"---> <(?P<key>MAX|MIN)> observation = +(?P<value>[\d.]+)",
            *(
                rf"{_SAYS}---> percentile {name} = +(?P<p{name.replace('.', '_')}>[\d.]+)"
                for name in _PERCENTILES
            ),
            _SAYS + r"NOTE: .*using msg-size=(?P<size>\d+)",
            _SAYS + r"Summary: Message Rate is (?P<rate>\d+) \[msg/sec\]",
            _SAYS + r"Summary: BandWidth is (?P<bw>\d+\.\d{3}) (?P<bw_unit>[MG]Bps) \(",
        )
    ),
    known=re.compile(
        r"^\s*$|^sockperf\[|^sockperf: (?:using|Warmup|Starting|Test end|Total|\[Total Run\]|===)"
        r"|^sockperf: .{0,16}?(?:Total of \d|Total \d|---> percentile|NOTE: |\[Valid Duration\])"
    ),
    figures=(
        _time("latency", "half round trip"),
        _time("round_trip", "whole round trip"),
        _stream("sockperf throughput", "bandwidth"),
        _stream("sockperf throughput of datagrams", None),
        Figure("rate", _RATE, "sockperf throughput.*", "size", 1472),
    ),
    whole=("latency", "round_trip", "bw"),
    sign="no line 'Summary' follows: the test did not end",
    settings={"protocol": "protocol", "dropped": "dropped messages"},
    named=_test,
    evidence=_evidence,
)
DIALECT = SOCKPERF.dialect
