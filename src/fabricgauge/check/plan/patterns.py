"""Parse the words that ask for patterns of a pair, and decide which sizes a pattern can have.

A word is ``put_latency:fence`` or ``threads_latency:4``; sizes that a pattern lacks are refused by
name.
"""

from collections.abc import Collection
from typing import get_args

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    LATENCY_PATTERNS,
    NEIGHBOUR_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    ROUND_ROBIN_PATTERNS,
    THREADED_PATTERNS,
    Epoch,
    PairPattern,
    Pattern,
)
from fabricgauge.model.words.figures import size as size_words

#: Threads of a pattern without a number: the fewest that compete with each other.
DEFAULT_THREADS = 2
#: The engine's bound (engine/src/case_list.cpp).
MAX_THREADS = 1024
ALL_PATTERNS: tuple[Pattern, ...] = (
    *ROUND_ROBIN_PATTERNS, *PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS,
)  # fmt: skip
EPOCHS: tuple[Epoch, ...] = get_args(Epoch)


class PatternRequest(msgspec.Struct, frozen=True):
    """A pattern; for some patterns also how it is completed, or the number of threads."""

    pattern: PairPattern
    epoch: Epoch = "flush"
    threads: int = 1

    @property
    def suffix(self) -> str:
        """Return the end of its cases' names; empty for the plain pattern."""
        epoch = "" if self.epoch == "flush" else f"/{self.epoch}"
        return f"{epoch}/{self.threads}threads" if self.pattern in THREADED_PATTERNS else epoch


def check_word(text: str) -> str:
    """Return a word of ``--patterns`` without blanks around it.

    Raises:
        UsageError: the word is unknown; the message lists the patterns.
    """
    word = text.strip()
    name = word.partition(":")[0]
    if name not in ALL_PATTERNS:
        raise UsageError(f"unknown pattern {name!r}; available: {', '.join(ALL_PATTERNS)}")
    if name in PAIR_PATTERNS or name != word:
        parse_pattern(word)
    return word


def parse_pattern(word: str) -> PatternRequest:
    """Parse a word of ``--patterns``.

    Raises:
        UsageError: no such pattern, epoch or number of threads; the message lists the valid ones.
    """
    name, colon, detail = word.strip().partition(":")
    pattern = next(
        (known_pattern for known_pattern in PAIR_PATTERNS if known_pattern == name), None
    )
    if pattern is None:
        raise UsageError(f"unknown pattern {name!r}; available: {', '.join(PAIR_PATTERNS)}")
    if pattern in THREADED_PATTERNS:
        return PatternRequest(pattern, threads=_threads(word, detail) if colon else DEFAULT_THREADS)
    if not colon:
        return PatternRequest(pattern)
    if pattern not in ONE_SIDED_PATTERNS:
        raise UsageError(
            f"{word!r}: only one-sided patterns take an epoch after a colon, {name} does not"
        )
    epoch = next((known_epoch for known_epoch in EPOCHS if known_epoch == detail), None)
    if epoch is None:
        raise UsageError(f"{word!r}: unknown epoch {detail!r}; available: {', '.join(EPOCHS)}")
    return PatternRequest(pattern, epoch)


def _threads(word: str, digits: str) -> int:
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 0
    if not 1 <= number <= MAX_THREADS:
        raise UsageError(f"{word!r}: expected a number of threads from 1 to {MAX_THREADS}")
    return number


#: Largest buffer of a rank in a collective whose buffers grow with the ranks.
MAX_BUFFER_BYTES = 256 << 20
#: Ranks of a simulated collective in which each rank has a message for every other, on the sparsest
#: grid: SimGrid's allgather has all of them under way at once.
SIMULATED_GROWING_RANKS = 64
#: Two ranks that measure, and two that make load.
MIN_RANKS_UNDER_LOAD = 4
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
