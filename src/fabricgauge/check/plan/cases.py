"""Plan the cases of a pair: patterns × message sizes × directions, each with window and budget.

A pattern is asked for by a word such as ``put_latency:fence`` or ``threads_latency:4``; sizes that
a pattern lacks are refused by name.
"""

from collections.abc import Collection, Sequence
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
    ROUND_TRIP_PATTERNS,
    SUSTAINED_BYTES,
    THREADED_PATTERNS,
    Epoch,
    PairPattern,
    Pattern,
)
from fabricgauge.model.plan import Case
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
    pattern = next((known for known in PAIR_PATTERNS if known == name), None)
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
        most, part = size_words(MAX_BUFFER_BYTES), size_words(MAX_BUFFER_BYTES // ranks)
        return f"needs a buffer of {ranks:,} messages, {most} at most: {part} each"
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


#: Window of the OSU suite, which published bandwidth figures assume.
WINDOW = 64
#: Smallest window: a single message would measure latency.
MIN_WINDOW = 2
#: A 95 % interval of a median needs six blocks at least; the other samples are warm-up.
SAMPLES_PER_CASE = 10
#: Sizes of a reference pair, for patterns that measure a time and for those that stream.
SMALL_BYTES, LARGE_BYTES = 8, 1 << 20


def plan_cases(
    patterns: tuple[str, ...],
    sizes: tuple[int, ...],
    budget_s: float,
    payload_bytes_per_s: float,
    partner: int = 1,
    back: tuple[int, ...] | None = None,
) -> tuple[Case, ...]:
    """Plan all cases for ranks 0 and ``partner``, in the order of ``sizes`` within each pattern.

    ``patterns`` are words of ``plan.cases``. ``payload_bytes_per_s`` is the ceiling. Windows and
    budgets of large messages on slow networks follow from it, so that a case still gets enough
    samples for an interval. ``back`` are the sizes of streams to rank 0; None for all large ones.

    Raises:
        UsageError: an invalid word, or no suitable size.
    """
    if back is None:
        back = tuple(size for size in sizes if size >= SUSTAINED_BYTES)
    cases: list[Case] = []
    for asked_pattern in dict.fromkeys(map(parse_pattern, patterns)):
        name = asked_pattern.pattern
        ends = [((0, partner), size) for size in _suitable_sizes(name, sizes)]
        ends += [((partner, 0), size) for size in back if name == "bandwidth"]
        cases += [
            _plan_case(asked_pattern, size, pair, budget_s, payload_bytes_per_s)
            for pair, size in ends
        ]
    return tuple(cases)


def reference_cases(
    words: tuple[str, ...],
    case_s: float,
    payload_bytes_per_s: float,
    ranks: Sequence[str],
    sizes: tuple[int, ...] = (),
) -> tuple[Case, ...]:
    """Plan the cases that ``words`` of ``plan.cases`` name, while all other ranks sleep.

    ``ranks`` is the node of each rank. The pair is rank 0 and the first rank on another node.
    Without ``sizes`` each pattern has one.
    """
    partner = next((at for at, node in enumerate(ranks) if node != ranks[0]), 1)
    cases: list[Case] = []
    for word in words:
        is_timed = parse_pattern(word).pattern in LATENCY_PATTERNS
        word_sizes = sizes or (SMALL_BYTES if is_timed else LARGE_BYTES,)
        cases += plan_cases((word,), word_sizes, case_s, payload_bytes_per_s, partner)
    return tuple(cases)


def fit_stream(message_bytes: int, fit_bytes: float, *, exact: bool = False) -> tuple[int, int]:
    """Return the message size and window that send at most ``fit_bytes`` at once.

    The window shrinks first, then the message unless it is ``exact``; neither shrinks below its
    least.
    """
    most = SUSTAINED_BYTES if not exact else message_bytes
    while message_bytes > most and message_bytes * MIN_WINDOW > fit_bytes:
        message_bytes //= 2
    return message_bytes, _fit_window(message_bytes, fit_bytes)


def _fit_window(message_cost: float, budget: float) -> int:
    """Return how many messages of a size in bytes, or a time in s, fit into ``budget``."""
    window = WINDOW
    while window > MIN_WINDOW and window * message_cost > budget:
        window //= 2
    return window


def needs_threads(case: Case) -> bool:
    """Check if the case needs a launch in which several threads may call MPI at once."""
    return case.pattern in THREADED_PATTERNS


def _suitable_sizes(pattern: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that a pattern can have; an atomic has only its own.

    An empty message does nothing in one-sided patterns: MPI returns at once.
    """
    if pattern in ATOMICS:
        return (INTEGER_BYTES,)
    if pattern != "accumulate_latency":
        least = 0 if has_empty_messages(pattern) else 1
        return tuple(size for size in sizes if size >= least)
    multiples = tuple(size for size in sizes if size > 0 and size % INTEGER_BYTES == 0)
    if sizes and not multiples:
        raise UsageError(
            f"accumulate_latency adds integers of {INTEGER_BYTES} B, and none of the sizes"
            f" {', '.join(map(str, sizes))} B is a multiple of that"
        )
    return multiples


def _plan_case(
    pattern_request: PatternRequest,
    size: int,
    ends: tuple[int, int],
    budget_s: float,
    payload_bytes_per_s: float,
) -> Case:
    (origin, target), pattern = ends, pattern_request.pattern
    # A sample is half a round trip but takes a whole one; threads share the link.
    transfers = (2 if pattern in ROUND_TRIP_PATTERNS else 1) * pattern_request.threads
    message_s = size / payload_bytes_per_s * transfers
    is_timed = pattern in LATENCY_PATTERNS
    window = 1 if is_timed else _fit_window(SAMPLES_PER_CASE * message_s, budget_s)
    return Case(
        name=f"{pattern}/{size}/{origin}>{target}{pattern_request.suffix}",
        pattern=pattern,
        message_bytes=size,
        window=window,
        origin=origin,
        target=target,
        budget_s=max(budget_s, SAMPLES_PER_CASE * window * message_s),
        epoch=pattern_request.epoch,
        threads=pattern_request.threads,
    )
