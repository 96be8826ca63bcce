"""Read qperf 0.4: a test's name, then ``name  =  value unit`` lines (show_info in 0.4.11).

Units count in powers of 1000. A latency is the time of all messages of both sides by their number:
half a round trip, of reads and atomics a whole one. The message size stands there only with
``-vu``, or ``-v`` where it was set. A latency without it is of 1 byte, the default in socket.c,
unless the test is repeated: ``-oo`` sweeps sizes.
"""

from functools import partial

from fabricgauge.logs.readers.labelled import Labelled, NamedValue

_MEASURING = r"(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc|ver_rc)_[a-z_]{1,30}"
_TESTS = rf"{_MEASURING}|conf|quit"
_POWERS = {prefix: 1000.0**power for power, prefix in enumerate(("", *"KMGT"))}
_BYTES = {f"{prefix}B/sec": power for prefix, power in _POWERS.items()}
_BITS = {f"{prefix}b/sec": power / 8 for prefix, power in _POWERS.items()}
_BANDWIDTHS = _BYTES | _BITS | {"bytes/sec": 1.0, "bits/sec": 0.125}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}
_RATES = {f"{prefix}/sec": power for prefix, power in _POWERS.items()}
_RULE = "MB = 10^6 bytes, Mb = 10^6 bits (qperf)"


_stream = partial(NamedValue, "bw", "bandwidth", _RULE, size="msg_size", units=_BANDWIDTHS)
_received = partial(NamedValue, "recv_bw", "bandwidth", _RULE, size="msg_size", units=_BANDWIDTHS)
_time = partial(
    NamedValue, "latency", "time", "µs", size="msg_size", else_bytes=1, units=_TIMES
)  # fmt: skip
_rate = partial(NamedValue, "msg_rate", "message_rate", "per second", size="msg_size", units=_RATES)

DIALECT = Labelled(
    suite="qperf",
    begins={"_": rf"^(?:{_MEASURING}):\s*$", "conf:": r"^conf:\s*$"},
    opens=rf"^(?P<test>{_TESTS}):\s*$",
    values=(
        r"^\s*(?P<key>msg_size)\s+=\s+.*\((?P<value>[\d,]+)\)\s*$",
        r"^\s*(?P<key>msg_size)\s+=\s+(?P<value>[\d,]+) bytes\s*$",
        r"^\s*(?P<key>[a-z_]{1,40})\s+=\s+(?P<value>\S+)(?:\s+(?P<unit>\S+))?.*$",
    ),
    known=r"^\s*$",
    figures=(
        _stream("one-way stream", "tcp_bw", "bandwidth"),
        _stream("one-way stream of sends", "(?:rc|uc)_bw", "bandwidth"),
        _stream("one-way stream of writes", "(?:rc|uc)_rdma_write_bw", "put_bandwidth"),
        _stream("stream of reads", "rc_rdma_read_bw", origin=1),
        _stream("streams of sends in both directions, summed", ".*_bi_bw", directions=2),
        _stream("one-way stream", "(?:sctp|sdp|rds|xrc|ud)_bw"),
        _received("one-way stream of datagrams, as received", ".*_bw"),
        _time("half round trip", "(?:tcp|rc|uc)_lat", "latency"),
        _time("half round trip", "(?:udp|sctp|sdp|rds|ud|xrc)_lat"),
        _time("half round trip of writes", ".*_rdma_write(?:_poll)?_lat"),
        _time("one read", "rc_rdma_read_lat"),
        _rate("messages", ".*_(?:bw|lat|mr|swap|add)"),
    ),
    whole=("bw", "latency", "recv_bw", "msg_rate"),
    sign="no figure follows the test's name",
    sweeps=True,
    settings={
        "msg_size": "message size",
        "time": "seconds",
        "mtu_size": "MTU",
        "use_cm": "rdma_cm",
    },
    transports={"tcp": "tcp_.*", "rdma": "(?:rc|uc|ud|xrc|ver_rc)_.*"},
).dialect
