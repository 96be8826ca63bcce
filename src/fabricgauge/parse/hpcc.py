"""HPCC's b_eff and ping-pong part: the summary of hpccoutf.txt (after outputs of 1.4 and 1.5).

Latencies are of 8 bytes, half a round trip; bandwidths of 2,000,000 bytes; a GByte is 10^9 bytes.
Ping-pongs are made between many pairs of ranks, one after the other: also of one node, so that
only those of two ranks are judged. A ring's bandwidth is a rank's, to both of its neighbours.
"""

import re

from fabricgauge.model.measurement import Pattern
from fabricgauge.model.suite import Besides
from fabricgauge.parse.labelled import Figure, Labelled, Values
from fabricgauge.parse.table import SuiteColumn

_SHORT, _LONG = 8, 2_000_000
_RULE = "GBytes = 10^9 bytes (HPCC)"
_TWO = "b_eff of two ranks"


def _test(values: Values) -> str:
    return _TWO if values.get("ranks") == "2" else "b_eff"


def _time(key: str, what: str, test: str = ".*", pattern: Pattern | None = None) -> Figure:
    besides: dict[Besides, str] = {
        "minimum": key.replace("Avg", "Min"), "maximum": key.replace("Avg", "Max"),
    }  # fmt: skip
    column = SuiteColumn("time", what, "mean", "µs", 1e-6, pattern)
    return Figure(key, column, test, _SHORT, besides=besides if "Avg" in key else {})


def _rate(key: str, what: str) -> Figure:
    besides: dict[Besides, str] = {
        "minimum": key.replace("Avg", "Min"), "maximum": key.replace("Avg", "Max"),
    }  # fmt: skip
    column = SuiteColumn("bandwidth", what, "mean", _RULE, 1e9)
    return Figure(key, column, ".*", _LONG, besides=besides if "Avg" in key else {})


HPCC = Labelled(
    suite="hpcc",
    begins={
        " HPC Challenge Benchmark ": r"^This is the DARPA/DOE HPC Challenge Benchmark version ",
        "Begin of Summary section.": r"^Begin of Summary section\.\s*$",
        "PingPongLatency_usec=": r"^MaxPingPongLatency_usec=",
    },
    opens=re.compile(r"^This is the DARPA/DOE HPC Challenge Benchmark version (?P<version>\S+)"),
    values=(
        re.compile(r"^CommWorldProcs=(?P<ranks>\d+)\s*$"),
        re.compile(r"^(?P<key>\w+(?:PingPong|Ring)(?:Latency|Bandwidth)_\w+)=(?P<value>\S+)\s*$"),
    ),
    # The other tests' sections: HPL, STREAM and so on.
    known=re.compile(r""),
    figures=(
        _time("AvgPingPongLatency_usec", "half round trip", _TWO, "latency"),
        _time("AvgPingPongLatency_usec", "half round trip, mean over pairs of ranks", "b_eff"),
        _rate("AvgPingPongBandwidth_GBytes", "ping-pong bandwidth (size / half round trip)"),
        _time("NaturallyOrderedRingLatency_usec", "one step of a ring in the ranks' order"),
        _time("RandomlyOrderedRingLatency_usec", "one step of a ring in random order"),
        _rate("NaturallyOrderedRingBandwidth_GBytes", "ring in the ranks' order, per rank"),
        _rate("RandomlyOrderedRingBandwidth_GBytes", "ring in random order, per rank"),
    ),
    whole=("NaturallyOrderedRingLatency_usec",),
    sign="no summary section with all results of the ping-pong: the run ended before it",
    named=_test,
)
DIALECT = HPCC.dialect
