"""qperf 0.4: a test's name, then ``name  =  value unit`` lines (show_info in src/qperf.c 0.4.11).

Units count in powers of 1000. A latency is the time of all messages of both sides by their
number: half a round trip, of reads and atomics a whole one. The message size stands there only with
``-vu``, or ``-v`` where it was set; a figure without it is not judged.
"""

import re

from fabricgauge.model.measurement import Pattern
from fabricgauge.parse.labelled import Figure, Labelled
from fabricgauge.parse.table import SuiteColumn

_TESTS = r"(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc|ver_rc)_[a-z_]{1,30}|conf|quit"
_BYTES = {f"{prefix}B/sec": 1000.0**power for power, prefix in enumerate(("", *"KMGT"))}
_BITS = {f"{prefix}b/sec": 1000.0**power / 8 for power, prefix in enumerate(("", *"KMGT"))}
_BANDWIDTHS = _BYTES | _BITS | {"bytes/sec": 1.0, "bits/sec": 0.125}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}
_RATES = {f"{prefix}/sec": 1000.0**power for power, prefix in enumerate(("", *"KMGT"))}
_RULE = "MB = 10^6 bytes, Mb = 10^6 bits (qperf)"


def _stream(
    tests: str, what: str, pattern: Pattern | None = None, directions: int = 1, origin: int = 0
) -> Figure:
    column = SuiteColumn(
        "bandwidth", what, "mean", _RULE, 1.0, pattern, directions, origin, 1 - origin
    )
    return Figure("bw", column, tests, "msg_size", units=_BANDWIDTHS)


def _time(tests: str, what: str, pattern: Pattern | None = None) -> Figure:
    column = SuiteColumn("time", what, "mean", "µs", 1.0, pattern)
    return Figure("latency", column, tests, "msg_size", units=_TIMES)


_RECEIVED = SuiteColumn("bandwidth", "one-way stream of datagrams, as received", "mean", _RULE, 1.0)
_MESSAGES = SuiteColumn("message_rate", "messages", "mean", "per second", 1.0)

QPERF = Labelled(
    suite="qperf",
    begins={
        "_": rf"^(?:{_TESTS}):\s*$",
        "conf:": r"^conf:\s*$",
    },
    opens=re.compile(rf"^(?P<test>{_TESTS}):\s*$"),
    values=(
        re.compile(r"^\s+(?P<key>msg_size)\s+=\s+.*\((?P<value>[\d,]+)\)\s*$"),
        re.compile(r"^\s+(?P<key>msg_size)\s+=\s+(?P<value>[\d,]+) bytes\s*$"),
        re.compile(r"^\s+(?P<key>[a-z_]{1,40})\s+=\s+(?P<value>\S+)(?:\s+(?P<unit>\S+))?.*$"),
    ),
    known=re.compile(r"^\s*$"),
    figures=(
        _stream("tcp_bw", "one-way stream", pattern="bandwidth"),
        _stream("(?:rc|uc)_bw", "one-way stream of sends", pattern="bandwidth"),
        _stream("(?:rc|uc)_rdma_write_bw", "one-way stream of writes", pattern="put_bandwidth"),
        _stream("rc_rdma_read_bw", "stream of reads", origin=1),
        _stream(".*_bi_bw", "streams of sends in both directions, summed", directions=2),
        _stream("(?:sctp|sdp|rds|xrc|ud)_bw", "one-way stream"),
        Figure("recv_bw", _RECEIVED, ".*_bw", "msg_size", units=_BANDWIDTHS),
        _time("(?:tcp|rc|uc)_lat", "half round trip", pattern="latency"),
        _time("(?:udp|sctp|sdp|rds|ud|xrc)_lat", "half round trip"),
        _time(".*_rdma_write(?:_poll)?_lat", "half round trip of writes"),
        _time("rc_rdma_read_lat", "one read"),
        Figure("msg_rate", _MESSAGES, ".*_(?:bw|lat|mr|swap|add)", "msg_size", units=_RATES),
    ),
    whole=("bw", "latency", "recv_bw", "msg_rate"),
    sign="no figure follows the test's name",
    settings={
        "msg_size": "message size",
        "time": "seconds",
        "mtu_size": "MTU",
        "use_cm": "rdma_cm",
    },
    transports={"tcp": "tcp_.*", "rdma": "(?:rc|uc|ud|xrc|ver_rc)_.*"},
)
DIALECT = QPERF.dialect
