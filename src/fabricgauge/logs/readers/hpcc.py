"""Read HPCC's b_eff and ping-pong part: the summary of hpccoutf.txt (HPCC 1.4 and 1.5).

Latencies are of 8 bytes, half a round trip; bandwidths of 2,000,000 bytes; a GByte is 10^9 bytes.
Ping-pongs run between many pairs of ranks, one after the other. Some pairs share a node, so only
those of two ranks are judged. A ring's bandwidth is one rank's, to both of its neighbours.
"""

from fabricgauge.logs.readers.labelled import Labelled, NamedValue
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Besides

_TWO = "b_eff of two ranks"
_RULE = "GBytes = 10^9 bytes (HPCC)"


def _figure(key: str, meaning: str, test: str = ".*", pattern: Pattern | None = None) -> NamedValue:
    of, besides = key.removeprefix("Avg"), dict[Besides, str]()
    if of != key:
        besides = {"minimum": f"Min{of}", "maximum": f"Max{of}"}
    if key.endswith("_usec"):
        return NamedValue(key, "time", "µs", meaning, test, pattern, 8, None, {"": 1e-6}, besides)
    return NamedValue(
        key, "bandwidth", _RULE, meaning, test, pattern, 2_000_000, None, {"": 1e9}, besides
    )


DIALECT = Labelled(
    suite="hpcc",
    begins={
        " HPC Challenge Benchmark ": r"^This is the DARPA/DOE HPC Challenge Benchmark version ",
        "Begin of Summary section.": r"^Begin of Summary section\.\s*$",
        "PingPongLatency_usec=": r"^MaxPingPongLatency_usec=",
    },
    opens=r"^This is the DARPA/DOE HPC Challenge Benchmark version (?P<version>\S+)",
    values=(
        r"^CommWorldProcs=(?P<ranks>\d+)\s*$",
        r"^(?P<key>\w+(?:PingPong|Ring)(?:Latency|Bandwidth)_\w+)=(?P<value>\S+)\s*$",
    ),
    # The other tests' sections: HPL, STREAM and so on.
    known="",
    figures=(
        _figure("AvgPingPongLatency_usec", "half round trip", _TWO, "latency"),
        _figure("AvgPingPongLatency_usec", "half round trip, mean over pairs of ranks", "b_eff"),
        _figure("AvgPingPongBandwidth_GBytes", "ping-pong bandwidth (size / half round trip)"),
        _figure("NaturallyOrderedRingLatency_usec", "one step of a ring in the ranks' order"),
        _figure("RandomlyOrderedRingLatency_usec", "one step of a ring in random order"),
        _figure("NaturallyOrderedRingBandwidth_GBytes", "ring in the ranks' order, per rank"),
        _figure("RandomlyOrderedRingBandwidth_GBytes", "ring in random order, per rank"),
    ),
    whole=("NaturallyOrderedRingLatency_usec",),
    sign="no summary section with all results of the ping-pong: the run ended before it",
    named=lambda values: _TWO if values.get("ranks") == "2" else "b_eff",
).dialect
