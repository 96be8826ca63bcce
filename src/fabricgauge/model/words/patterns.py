"""Say in words what patterns do, and what their figures mean as throughput."""

from fabricgauge.model.pattern import CATALOGUE, PAIR_PATTERNS, words_of

#: Load of the ranks that do not measure, by the engine's name.
LOADS: dict[str, str] = {
    "none": "idle",
    "all_to_all": "all to all",
    "incast": "incast",
    "permutation": "permutation",
}


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


def sentence(pattern: str) -> str:
    """Return what the pattern does, within a sentence: ``half round trip``."""
    return words_of(pattern).sentence


def is_of_a_pair(pattern: str) -> bool:
    """Check whether exactly two ranks take part."""
    return pattern in PAIR_PATTERNS


#: Times between two nodes, and bandwidths of one direction, in the catalogue's order.
PAIR_LATENCIES = tuple(
    words.pattern for words in CATALOGUE if is_of_a_pair(words.pattern) and words.quantity == "time"
)
ONE_WAY_BANDWIDTHS = tuple(
    words.pattern
    for words in CATALOGUE
    if is_of_a_pair(words.pattern) and words.quantity == "bandwidth" and words.directions == 1
)
