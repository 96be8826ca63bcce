"""List the engine's patterns: the name of each and the meaning of its figures.

Their samples are defined in docs/development/engine-output.md.
"""

import msgspec

from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, LATENCY_PATTERNS, PAIR_PATTERNS
from fabricgauge.model.suite import Quantity

#: Load of the ranks that do not measure, by the engine's name.
LOADS: dict[str, str] = {
    "none": "idle",
    "all_to_all": "all to all",
    "incast": "incast",
    "permutation": "permutation",
}


class PatternWords(msgspec.Struct, frozen=True):
    """Name one pattern in the field's words.

    ``name`` and ``detail`` make a heading, ``sentence`` stands within a verdict's, ``sample`` is
    what one sample's time covers. ``directions`` counts the directions in which bytes move at once.
    """

    pattern: str
    name: str
    detail: str
    sentence: str
    sample: str
    directions: int = 1

    @property
    def title(self) -> str:
        """Return ``latency, half round trip``."""
        return f"{self.name}, {self.detail}" if self.detail else self.name

    @property
    def quantity(self) -> Quantity:
        return "time" if self.pattern in (*LATENCY_PATTERNS, *_TIMES) else "bandwidth"

    @property
    def summed_directions(self) -> int:
        return 2 if self.summed else 1

    @property
    def summed(self) -> bool:
        """Check whether its bandwidth is the sum of both directions."""
        return self.quantity == "bandwidth" and self.directions == 2


#: Patterns of many ranks whose figure is the time of an operation.
_TIMES = ("sendrecv", "exchange", *COLLECTIVE_PATTERNS)

_CATALOGUE = (
    PatternWords(
        "latency", "latency", "half round trip", "half round trip", "half a round trip"
    ),
    PatternWords(
        "bandwidth", "bandwidth", "one direction",
        "one-way stream", "one window with its acknowledgement",
    ),
    PatternWords(
        "bidirectional_bandwidth", "bandwidth", "sum of both directions",
        "stream in both directions at once",
        "one window in both directions with its acknowledgement", directions=2,
    ),
    PatternWords(
        "put_latency", "put latency", "MPI_Put and its completion",
        "MPI_Put with its flush", "one MPI_Put with its flush",
    ),
    PatternWords(
        "put_bandwidth", "put bandwidth", "one direction",
        "MPI_Put stream", "one window of MPI_Put with its flush",
    ),
    PatternWords(
        "ping_ping", "ping-ping", "both send at once",
        "both ends send at once", "one message in each direction at once", directions=2,
    ),
    PatternWords(
        "get_latency", "get latency", "MPI_Get and its completion",
        "MPI_Get with its completion", "one MPI_Get with its completion",
    ),
    PatternWords(
        "get_bandwidth", "get bandwidth", "one direction",
        "MPI_Get stream, towards the origin", "one window of MPI_Get with its completion",
    ),
    PatternWords(
        "accumulate_latency", "accumulate latency", "MPI_Accumulate and its completion",
        "MPI_Accumulate with its completion", "one MPI_Accumulate with its completion",
    ),
    PatternWords(
        "fetch_and_op_latency", "fetch-and-op latency", "",
        "MPI_Fetch_and_op with its completion", "one MPI_Fetch_and_op with its completion",
    ),
    PatternWords(
        "compare_and_swap_latency", "compare-and-swap latency", "",
        "MPI_Compare_and_swap with its completion",
        "one MPI_Compare_and_swap with its completion",
    ),
    PatternWords(
        "persistent_latency", "latency of persistent requests", "half round trip",
        "half round trip of persistent requests", "half a round trip",
    ),
    PatternWords(
        "persistent_bandwidth", "bandwidth of persistent requests", "one direction",
        "one-way stream of persistent requests", "one window with its acknowledgement",
    ),
    PatternWords(
        "threads_latency", "latency of several threads", "half round trip",
        "half round trip of one of several threads", "half a round trip of each thread",
    ),
    PatternWords(
        "threads_bandwidth", "bandwidth of several threads", "one direction",
        "one-way stream of several threads",
        "one window of all threads with its acknowledgement",
    ),
    PatternWords(
        "multi_latency", "Latency of many pairs at once", "",
        "half round trip of many pairs at once", "half a round trip of each pair",
    ),
    PatternWords(
        "multi_bandwidth", "Bandwidth of many pairs at once", "",
        "one-way stream of each of many pairs", "one window of each pair",
    ),
    PatternWords(
        "sendrecv", "Sendrecv along a chain", "",
        "Sendrecv along a chain", "one MPI_Sendrecv of each rank",
    ),
    PatternWords(
        "exchange", "Exchange with both neighbours", "",
        "exchange with both neighbours", "one exchange of each rank",
    ),
    PatternWords(
        "loaded_latency", "Latency under load", "",
        "half round trip under load", "half a round trip",
    ),
    PatternWords(
        "bisection", "Bisection", "",
        "streams across the middle, each pair's", "one window of each pair",
    ),
)  # fmt: skip

PATTERNS: dict[str, PatternWords] = {words.pattern: words for words in _CATALOGUE}


#: Patterns that move no message of their own: they have no throughput.
_WITHOUT_MESSAGES = frozenset({
    "barrier", "ibarrier", "fetch_and_op_latency", "compare_and_swap_latency",
})  # fmt: skip
#: Messages that one rank sends and receives in a sample, as IMB counts them (Intel MPI Benchmarks
#: User Guide, "Sendrecv", "Exchange").
_MESSAGES_OF_A_RANK = {"sendrecv": 2, "exchange": 4}


def throughput(pattern: str, message_bytes: int, time_s: float, window: int = 1) -> float | None:
    """Return the payload rate of one rank or pair in bytes/s that a sample's time means.

    It counts what the suites count: one message per half round trip, per message of a ping-ping,
    and per operation of a collective (size / time); sent and received messages of a chain. None
    without payload.
    """
    if not message_bytes or time_s <= 0 or pattern in _WITHOUT_MESSAGES:
        return None
    count = _MESSAGES_OF_A_RANK.get(pattern, window * words_of(pattern).summed_directions)
    return count * message_bytes / time_s


def words_of(pattern: str) -> PatternWords:
    """Return a pattern's words; a collective is called by its MPI function."""
    function = f"MPI_{pattern.capitalize()}"
    return PATTERNS.get(pattern) or PatternWords(pattern, function, "", function, f"one {function}")


def sentence(pattern: str) -> str:
    """Return what the pattern does, within a sentence: ``half round trip``."""
    return words_of(pattern).sentence


def is_of_a_pair(pattern: str) -> bool:
    """Check whether exactly two ranks take part."""
    return pattern in PAIR_PATTERNS


#: Times between two nodes, and bandwidths of one direction, in the catalogue's order.
PAIR_LATENCIES = tuple(
    words.pattern
    for words in _CATALOGUE
    if is_of_a_pair(words.pattern) and words.quantity == "time"
)
ONE_WAY_BANDWIDTHS = tuple(
    words.pattern
    for words in _CATALOGUE
    if is_of_a_pair(words.pattern) and words.quantity == "bandwidth" and words.directions == 1
)
