"""State what the figures of each benchmark count: which bytes, in how many directions.

From the user guides of IMB 2017, 2018 and 2021.2 ("Benchmark Methodology", "Output") and the
sources of 4.0.0 and 2021.11: ``scale_time`` and ``scale_bw`` of IMB_parse_name_*.c, IMB_output.c,
IMB_bandwidth.c, IMB_rma_put.c, IMB_ones_unidir.c, P2P/imb_p2p_*.c and MT_benchmark.h.
"""

import re
from functools import lru_cache

import msgspec

from fabricgauge.model.pattern import Pattern

#: Largest message of a default run: MAXMSGLOG of IMB_settings.h, and of IMB_settings_io.h.
LAST_BYTES = 1 << 22
LAST_IO_BYTES = 1 << 24


class ImbBenchmark(msgspec.Struct, frozen=True):
    """One benchmark. ``time`` and ``bandwidth`` describe one figure of the column.

    ``counted`` is how many times the message size the bandwidth counts per time in the table (per
    t_max where there is one), 0 where the table's time is not that of the bandwidth. ``directions``
    is how many of them the bandwidth and the message rate sum up. ``latency`` is the pattern of the
    times, ``stream`` that of the bandwidths. If ``every_pair``, bandwidth and message rate sum over
    all pairs of ranks. ``of_two`` is the pattern of the bandwidths where only two ranks take part:
    a ring or a neighbourhood of two moves bytes both ways between them. If ``one_size``, a run has
    a single message size. ``rate`` describes the messages of the message rate, empty where they are
    those of the bandwidth.
    """

    time: str
    bandwidth: str
    counted: int = 1
    directions: int = 1
    latency: Pattern | None = None
    stream: Pattern | None = None
    of_two: Pattern | None = None
    every_pair: bool = False
    one_size: bool = False
    rate: str = ""


_PING_PONG = ImbBenchmark(
    "half round trip", "ping-pong bandwidth (size / half round trip)", latency="latency"
)
_PING_PING = ImbBenchmark(
    "one message while another comes the other way",
    "per direction, while both directions are busy (size / time)",
)
_SENDRECV = ImbBenchmark(
    "Sendrecv in a ring", "bytes that one rank sends and receives (2 × size / time)", 2, 2,
    of_two="bidirectional_bandwidth",
)  # fmt: skip
_EXCHANGE = ImbBenchmark(
    "exchange with both neighbours",
    "bytes that one rank sends to and receives from two neighbours (4 × size / time)", 4, 2,
    of_two="bidirectional_bandwidth",
)  # fmt: skip
_UNIBAND = ImbBenchmark(
    "one message of a one-way stream", "one-way stream", stream="bandwidth", every_pair=True
)
_BIBAND = ImbBenchmark(
    "one message of streams in both directions", "streams in both directions, their sum",
    directions=2, stream="bidirectional_bandwidth", every_pair=True,
)  # fmt: skip

_TWO_SIDED = {
    "pingpong": _PING_PONG, "pingpongspecificsource": _PING_PONG,
    "pingponganysource": _PING_PONG, "pingping": _PING_PING,
    "pingpingspecificsource": _PING_PING, "pingpinganysource": _PING_PING,
    "sendrecv": _SENDRECV, "exchange": _EXCHANGE, "uniband": _UNIBAND, "biband": _BIBAND,
}  # fmt: skip

#: IMB-P2P counts the messages of all ranks over the slowest rank's time; its times are
#: means over ranks. Its table has the message rate beside, which the bandwidth follows from.
_P2P = {
    "pingpong": msgspec.structs.replace(
        _PING_PONG, every_pair=True, rate="messages of a ping-pong, there and back"
    ),
    "pingping": ImbBenchmark(_PING_PING.time, "both directions, their sum", 2, 2, every_pair=True),
    "sendrecv_replace": ImbBenchmark(
        "Sendrecv_replace in a ring", "bytes that all ranks send", 0, 2, every_pair=True
    ),
}  # fmt: skip

_OF_ALL_RANKS = ImbBenchmark(
    "", "bytes of all ranks' messages", 0, every_pair=True, rate="messages of all ranks"
)

_ONE_SIZE = frozenset({"fetch_and_op", "compare_and_swap"})
#: A put to one rank at once, which is what our one-sided patterns do.
_PUT = frozenset({"unidir_put"})
_REDUCTION = re.compile("reduce|accumulate|fetch_and_op", re.IGNORECASE)


@lru_cache(maxsize=256)
def is_reduction(name: str) -> bool:
    """Check whether the benchmark moves the datatype that is set for reductions."""
    return _REDUCTION.search(name) is not None


@lru_cache(maxsize=256)
def meaning_of(name: str, part: str, mode: str) -> ImbBenchmark:
    """Return the meaning of the benchmark's figures.

    ``part`` is one of MPI-1, EXT, RMA, NBC, MT, P2P, IO or empty if not known; ``mode`` is the
    table's mode of one-sided calls: AGGREGATE, NON-AGGREGATE or empty.
    """
    key = name.lower()
    if part == "P2P":
        return _P2P.get(key) or msgspec.structs.replace(_OF_ALL_RANKS, time=name)
    if part == "MT" and key.endswith("mt"):
        benchmark = _TWO_SIDED.get(key[:-2])
        if benchmark is None:
            return _other(name[:-2])
        # Streams: bandwidth is over the longest time, but the table has the mean time.
        return msgspec.structs.replace(benchmark, counted=0) if benchmark.every_pair else benchmark
    if mode and part != "IO":
        return _one_sided(name, part, mode)
    return _TWO_SIDED.get(key) or _other(name)


def _other(name: str) -> ImbBenchmark:
    bandwidth = f"{name}: size / time, as the suite counts it"
    return ImbBenchmark(name, bandwidth, one_size=name.lower() in _ONE_SIZE)


def _one_sided(name: str, part: str, mode: str) -> ImbBenchmark:
    """Return the meaning of one-sided figures: one call, or all calls of a sample.

    Non-aggregate is a call with its completion; aggregate is all calls of a sample, then one
    completion. IMB-RMA completes with MPI_Win_flush, as ours does; IMB-EXT with MPI_Win_fence, in
    which the target takes part. Their names differ in one letter: Unidir_put and Unidir_Put.
    """
    key = name.lower()
    both_ways = " per direction, while both directions are busy" if key.startswith("bidir") else ""
    one_size = key in _ONE_SIZE
    if mode == "AGGREGATE":
        stream: Pattern | None = "put_bandwidth" if key in _PUT else None
        many = f"{name}, many under way{both_ways}"
        return ImbBenchmark(
            f"{name}, one of many under way", many, stream=stream, one_size=one_size
        )
    flushed = part == "RMA" or (not part and name == "Unidir_put")
    latency: Pattern | None = "put_latency" if key in _PUT and flushed else None
    completion = {"RMA": "flush", "EXT": "fence"}.get(part, "completion")
    alone = f"{name} with its {completion}"
    bandwidth = f"{alone}{both_ways} (size / time)"
    return ImbBenchmark(alone, bandwidth, latency=latency, one_size=one_size)
