"""The names of the engine's patterns, and their families.

docs/development/engine-output.md defines the sample of each pattern.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

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

#: A sample is the time of one message or operation, not of a window of them.
LATENCY_PATTERNS: frozenset[str] = frozenset({
    "latency", "ping_ping", "put_latency", "get_latency", "accumulate_latency",
    "fetch_and_op_latency", "compare_and_swap_latency", "persistent_latency", "threads_latency",
    "multi_latency", "loaded_latency", "all_pairs_latency",
})  # fmt: skip

#: Only one rank is active, so that several kinds of completion are possible.
ONE_SIDED_PATTERNS: frozenset[str] = frozenset({
    "put_latency", "put_bandwidth", "get_latency", "get_bandwidth", "accumulate_latency",
    "fetch_and_op_latency", "compare_and_swap_latency",
})  # fmt: skip

#: The origin reads: the bytes come from the target.
GET_PATTERNS: frozenset[str] = frozenset({"get_latency", "get_bandwidth"})

#: Several threads of each rank take part. These patterns need MPI_THREAD_MULTIPLE.
THREADED_PATTERNS: frozenset[str] = frozenset({"threads_latency", "threads_bandwidth"})

_MESSAGES = frozenset({"latency", "bandwidth", "bidirectional_bandwidth", "ping_ping"})
_MEMORY = frozenset({
    "put_latency", "put_bandwidth", "get_latency", "get_bandwidth", "fetch_and_op_latency",
    "compare_and_swap_latency",
})  # fmt: skip
#: Patterns of each transport except MPI. These transports complete a one-sided operation as a flush
#: does.
TRANSPORT_PATTERNS: Mapping[str, frozenset[str]] = MappingProxyType({
    "sockets": _MESSAGES, "ofi": _MESSAGES | _MEMORY, "verbs": _MESSAGES | _MEMORY,
})  # fmt: skip

#: Patterns over MPI whose buffers may lie on a GPU: they move data and do not calculate.
DEVICE_PATTERNS: frozenset[str] = frozenset((*PAIR_PATTERNS, *COLLECTIVE_PATTERNS)) - {
    "accumulate_latency", "fetch_and_op_latency", "compare_and_swap_latency", "barrier", "ibarrier",
    "reduce", "ireduce", "allreduce", "iallreduce", "reduce_scatter", "ireduce_scatter",
}  # fmt: skip

#: A sample is half a round trip; each takes the time of a whole round trip to measure.
ROUND_TRIP_PATTERNS: frozenset[str] = frozenset({
    "latency", "persistent_latency", "threads_latency",
})  # fmt: skip

#: From this message size on the wire, not the software, limits a stream. The rate of smaller
#: messages may depend on latency, or on a token bucket's burst.
SUSTAINED_BYTES = 64 * 1024

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
