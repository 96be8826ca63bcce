"""The catalogue of patterns: names, families, words, and the kind of each operation.

To add one: its name in a family, its row in ``pattern.tsv``, its row and operation in the engine
(``engine/include/fabricgauge/pattern.hpp``). docs/development/engine-output.md defines the sample
of each pattern.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import msgspec

from fabricgauge.model.tables import read_table

PairPattern = Literal[
    "latency", "bandwidth", "bidirectional_bandwidth", "ping_ping",
    "put_latency", "put_bandwidth", "get_latency", "get_bandwidth",
    "accumulate_latency", "fetch_and_op_latency", "compare_and_swap_latency",
    "persistent_latency", "persistent_bandwidth",
    "threads_latency", "threads_bandwidth",
]  # fmt: skip

#: Concurrent pairs, neighbours, and pairs that measure while other ranks make load.
CrowdPattern = Literal[
    "multi_latency", "multi_bandwidth", "sendrecv", "exchange", "loaded_latency", "bisection",
]  # fmt: skip

#: Every rank exchanges messages with its neighbours in a ring.
NEIGHBOUR_PATTERNS: tuple[CrowdPattern, ...] = ("sendrecv", "exchange")

CollectivePattern = Literal[
    "barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "allgather", "allgatherv",
    "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv",
    "ibarrier", "ibcast", "ireduce", "iallreduce", "ireduce_scatter", "iallgather", "iallgatherv",
    "igather", "igatherv", "iscatter", "iscatterv", "ialltoall", "ialltoallv",
]  # fmt: skip

#: Every pair of ranks, in the rounds of a round robin.
RoundRobinPattern = Literal["all_pairs_latency", "all_pairs_bandwidth"]

Pattern = PairPattern | CrowdPattern | CollectivePattern | RoundRobinPattern

PAIR_PATTERNS: tuple[PairPattern, ...] = get_args(PairPattern)
CROWD_PATTERNS: tuple[CrowdPattern, ...] = get_args(CrowdPattern)
COLLECTIVE_PATTERNS: tuple[CollectivePattern, ...] = get_args(CollectivePattern)
ROUND_ROBIN_PATTERNS: tuple[RoundRobinPattern, ...] = get_args(RoundRobinPattern)

#: Transports besides MPI.
ALL: tuple[str, ...] = ("sockets", "ofi", "verbs")


class PatternWords(msgspec.Struct, frozen=True):
    """One pattern: its words, and what kind of operation it is.

    ``name`` and ``detail`` make a heading, ``sentence`` stands within a verdict's, ``sample`` is
    what one sample's time covers. ``directions`` counts the directions in which bytes move at once.

    A sample of ``one_message`` is the time of one message or operation, not of a window of them;
    one of ``one_operation`` is an operation of all ranks. A ``round_trip`` takes twice its sample
    to measure. Of ``one_sided`` patterns only one rank is active, so several kinds of completion
    are possible; one that ``reads`` gets its bytes from the target. ``threaded`` patterns need
    MPI_THREAD_MULTIPLE. A pattern that ``calculates`` cannot use a GPU's memory. ``transports``
    are those besides MPI; they complete a one-sided operation as a flush does.
    """

    pattern: str
    name: str
    detail: str
    sentence: str
    sample: str
    directions: int = 1
    one_message: bool = False
    one_operation: bool = False
    round_trip: bool = False
    one_sided: bool = False
    reads: bool = False
    threaded: bool = False
    calculates: bool = False
    transports: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return ``latency, half round trip``."""
        return f"{self.name}, {self.detail}" if self.detail else self.name

    @property
    def quantity(self) -> Literal["time", "bandwidth"]:
        return "time" if self.one_message or self.one_operation else "bandwidth"

    @property
    def summed_directions(self) -> int:
        return 2 if self.summed else 1

    @property
    def summed(self) -> bool:
        """Check whether its bandwidth is the sum of both directions."""
        return self.quantity == "bandwidth" and self.directions == 2


def _read_catalogue() -> Iterator[PatternWords]:
    for row in read_table(Path(__file__).with_suffix(".tsv"), 8):
        pattern, name, detail, sentence, sample, directions, kinds, transports = row
        kind: dict[str, Any] = dict.fromkeys(kinds.split(), True)
        yield PatternWords(
            pattern, name, detail, sentence, sample, int(directions),
            transports=tuple(transports.split()), **kind,
        )  # fmt: skip


#: One row for each pattern; a collective has its words from its name (``words_of``).
CATALOGUE = tuple(_read_catalogue())

PATTERNS: dict[str, PatternWords] = {words.pattern: words for words in CATALOGUE}

#: Collectives that calculate: the same operation on a GPU's memory would be another measurement.
_CALCULATING = ("reduce", "allreduce", "reduce_scatter")
#: Collectives without a message size.
UNSIZED_PATTERNS: frozenset[str] = frozenset({"barrier", "ibarrier"})


def words_of(pattern: str) -> PatternWords:
    """Return a pattern's row; a collective is called by its MPI function."""
    if pattern in PATTERNS:
        return PATTERNS[pattern]
    function = f"MPI_{pattern.capitalize()}"
    return PatternWords(
        pattern, function, "", function, f"one {function}",
        one_message=pattern == "all_pairs_latency",
        one_operation=pattern in COLLECTIVE_PATTERNS,
        calculates=pattern.removeprefix("i") in _CALCULATING,
    )  # fmt: skip


def _names(patterns: Iterable[PatternWords]) -> frozenset[str]:
    return frozenset(words.pattern for words in patterns)


LATENCY_PATTERNS = _names(words for words in CATALOGUE if words.one_message) | {"all_pairs_latency"}
ONE_SIDED_PATTERNS = _names(words for words in CATALOGUE if words.one_sided)
GET_PATTERNS = _names(words for words in CATALOGUE if words.reads)
THREADED_PATTERNS = _names(words for words in CATALOGUE if words.threaded)
ROUND_TRIP_PATTERNS = _names(words for words in CATALOGUE if words.round_trip)
#: Patterns of each transport except MPI.
TRANSPORT_PATTERNS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        transport: _names(words for words in CATALOGUE if transport in words.transports)
        for transport in ALL
    }
)
#: Patterns over MPI whose buffers may lie on a GPU: they move data and do not calculate.
DEVICE_PATTERNS: frozenset[str] = frozenset(
    pattern
    for pattern in (*PAIR_PATTERNS, *COLLECTIVE_PATTERNS)
    if pattern not in UNSIZED_PATTERNS and not words_of(pattern).calculates
)

#: From this message size on the wire, not the software, limits a stream. The rate of smaller
#: messages may depend on latency, or on a token bucket's burst.
SUSTAINED_BYTES = 64 * 1024

#: The buffers of messages at each end. ``fewest``: as few as MPI allows; ``single`` and
#: ``multiple``: as osu_bw has them with ``-b`` (osu_bw.c of OSU 7.4): one to send from and one to
#: receive into, or one of each for every message of a window.
Buffers = Literal["fewest", "single", "multiple"]
BUFFERS: tuple[Buffers, ...] = get_args(Buffers)
#: Patterns whose buffers can be chosen: those of ordinary messages between two ranks.
BUFFERED_PATTERNS: frozenset[str] = frozenset(
    pattern
    for pattern in (*PAIR_PATTERNS, *CROWD_PATTERNS, *ROUND_ROBIN_PATTERNS)
    if pattern not in (*ONE_SIDED_PATTERNS, *NEIGHBOUR_PATTERNS)
)
BUFFER_WORDS: Mapping[str, str] = MappingProxyType({
    "fewest": "as few buffers as MPI allows",
    "single": "a single buffer to send from and one to receive into",
    "multiple": "multiple buffers, two for each message of a window",
})  # fmt: skip

#: The load that the other ranks make while the pairs of ``loaded_latency`` measure.
Load = Literal["none", "all_to_all", "incast", "permutation"]

#: The completion of one-sided operations: a flush in a lock epoch, a fence, or
#: post-start-complete-wait.
Epoch = Literal["flush", "fence", "pscw"]


def variant(pattern: str, epoch: Epoch, threads: int) -> str:
    """Return the variant of a case's pattern: ``fence``, ``4 threads``; usually empty."""
    if pattern in THREADED_PATTERNS:
        return f"{threads} thread{'' if threads == 1 else 's'}"
    return "" if epoch == "flush" else epoch
