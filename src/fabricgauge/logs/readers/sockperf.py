"""Read sockperf 3: ping-pong, under-load and throughput (src/client.cpp of 3.7 to 3.10).

A ``MBps`` is 2^20 bytes, a ``GBps`` 1000 of them (``client_statistics``, ``stream_statistics``). A
latency is half a round trip, unless the line has ``Round trip``. The log does not show whether
messages waited for answers (ping-pong) or went on (under-load), so no pattern is known. It has no
message size, except for streams of other than 1472 bytes. Excerpts often begin below the start.
"""

from functools import partial

from fabricgauge.logs.readers.labelled import Labelled, NamedValue, Values
from fabricgauge.model.suite import Besides

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


_time = partial(
    NamedValue, quantity="time", rule="µs", test="sockperf", size="size", units={"": 1e-6},
    besides=_SPREAD, samples="received",
)  # fmt: skip
#: The log has the size only if it is not 1472 bytes, in front of the rate.
_stream = partial(NamedValue, what="one-way stream, as sent", size="size", else_bytes=1472)
_bytes = partial(
    _stream, "bw", "bandwidth", "MBps = 2^20 bytes/s (sockperf)",
    units={"MBps": 2.0**20, "GBps": 1e3 * 2.0**20},
)  # fmt: skip

DIALECT = Labelled(
    suite="sockperf",
    begins={
        "sockperf: ": _SAYS + r"(?:== version #\S+ ==|Warmup stage |Starting test|Test end"
        r"|\[Total Run\] |=+ Printing statistics|\[Valid Duration\] |====> avg-|# dropped messages"
        r"|Summary: (?:Latency|Round trip|Message Rate|BandWidth) is )",
    },
    opens=r"^sockperf: .{0,16}== version #(?P<version>\d[\w.]*)",
    values=(
        r"^\[ *\d+\] IP = (?P<remote>\S+) +PORT = +\d+ # (?P<protocol>\w+)",
        _SAYS + r"\[Valid Duration\] .*ReceivedMessages=(?P<received>\d+)",
        _SAYS + r"====> avg-\w+= *[\d.]+ \(std-dev= *(?P<deviation>[\d.]+)",
        _SAYS
        + r"# dropped messages = (?P<dropped>\d+)(?:; # duplicated messages = (?P<repeated>\d+))?",
        _SAYS + r"Summary: Latency is +(?P<latency>\S+) usec",
        _SAYS + r"Summary: Round trip is +(?P<round_trip>\S+) usec",
        _SAYS + r"---> <(?P<key>MAX|MIN)> observation = +(?P<value>[\d.]+)",
        *(
            rf"{_SAYS}---> percentile {name} = +(?P<p{name.replace('.', '_')}>[\d.]+)"
            for name in _PERCENTILES
        ),
        r"^(?:sockperf: .*?[^-]|using )?msg-size=(?P<size>\d+)\b",
        _SAYS + r"Summary: Message Rate is (?P<rate>\d+) \[msg/sec\]",
        _SAYS + r"Summary: BandWidth is (?P<bw>\d+\.\d{3}) (?P<bw_unit>[MG]Bps) \(",
    ),
    known=(
        r"^\s*$|^sockperf\[|^sockperf: (?:using|Warmup|Starting|Test end|Total|\[Total Run\]|===)"
        r"|^sockperf: .{0,16}?(?:Total of \d|Total \d|---> percentile|NOTE: |\[Valid Duration\])"
    ),
    figures=(
        _time("latency", what="half round trip"),
        _time("round_trip", what="whole round trip"),
        _bytes(test="sockperf throughput", pattern="bandwidth"),
        _bytes(test="sockperf throughput of datagrams"),
        _stream("rate", "message_rate", "messages/s", test="sockperf throughput.*"),
    ),
    single=frozenset({"received", "latency", "round_trip", "rate"}),
    whole=("latency", "round_trip", "bw"),
    sign="no line 'Summary' follows: the test did not end",
    settings={
        "protocol": "protocol",
        "dropped": "dropped messages",
        "repeated": "duplicated messages",
    },
    named=_test,
).dialect
