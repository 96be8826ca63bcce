"""Decide which message sizes a pattern can have; refuse the others by name."""

from collections.abc import Collection

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    LATENCY_PATTERNS,
    NEIGHBOUR_PATTERNS,
    ONE_SIDED_PATTERNS,
)
from fabricgauge.model.words.figures import size as size_words

KIB = 1024
MIB = 1024 * KIB

#: Largest buffer of a rank in a collective whose buffers grow with the ranks.
MAX_BUFFER_BYTES = 256 * MIB
#: MPI's atomics and accumulations work on integers of this size in the engine.
INTEGER_BYTES = 8
ATOMICS = ("fetch_and_op_latency", "compare_and_swap_latency")
#: The only size of a pattern without a choice.
FIXED_BYTES = {"barrier": 0, "ibarrier": 0, **dict.fromkeys(ATOMICS, INTEGER_BYTES)}

#: Collectives in which a rank has ``message_bytes`` for, or from, every other rank.
_GROWING = ("allgather", "gather", "scatter", "alltoall", "reduce_scatter")


def base_pattern(pattern: str) -> str:
    """Return a collective's name without the marks of its non-blocking and variable forms."""
    return pattern.removeprefix("i").removesuffix("v")


def is_growing(pattern: str) -> bool:
    """Check whether a rank has a message for, or from, every other rank."""
    return base_pattern(pattern) in _GROWING


def has_empty_messages(pattern: str) -> bool:
    """Check whether the pattern is defined for messages of 0 B."""
    timed = (LATENCY_PATTERNS - ONE_SIDED_PATTERNS) | {*NEIGHBOUR_PATTERNS, *COLLECTIVE_PATTERNS}
    return pattern in timed


def size_problem(pattern: str, message_bytes: int, ranks: int) -> str:
    """Return why the pattern cannot have the size on ``ranks`` ranks; empty if it can."""
    fixed = FIXED_BYTES.get(pattern)
    if fixed is not None:
        return "" if message_bytes == fixed else f"has no size but {fixed} B"
    if message_bytes == 0:
        return "" if has_empty_messages(pattern) else "has no figure for an empty message"
    if pattern == "accumulate_latency" and message_bytes % INTEGER_BYTES:
        return f"adds integers of {INTEGER_BYTES} B"
    if is_growing(pattern) and ranks * message_bytes > MAX_BUFFER_BYTES:
        most = size_words(MAX_BUFFER_BYTES // ranks)
        return (
            f"needs a buffer of {ranks:,} messages, {size_words(MAX_BUFFER_BYTES)} at most:"
            f" {most} each"
        )
    return ""


def require_sizes(patterns: Collection[str], sizes: Collection[int], ranks: int) -> None:
    """Check that every named pattern is measured at every requested size.

    A pattern without a choice, and an empty message, may stand beside patterns that have the size.

    Raises:
        UsageError: a pattern cannot have a size; the message names both.
    """
    for pattern in patterns:
        for message_bytes in sizes:
            problem = size_problem(pattern, message_bytes, ranks)
            excused = (message_bytes == 0 or pattern in FIXED_BYTES) and any(
                not size_problem(other, message_bytes, ranks) for other in patterns
            )
            if problem and not excused:
                raise UsageError(
                    f"--sizes {message_bytes}: {pattern} {problem}; leave this size or the pattern"
                    " out"
                )
