"""The cases of one pair: patterns × message sizes × directions, each with window and budget."""

from collections.abc import Iterator, Sequence

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    LATENCY_PATTERNS,
    ONE_SIDED_PATTERNS,
    ROUND_TRIP_PATTERNS,
    SUSTAINED_BYTES,
    THREADED_PATTERNS,
)
from fabricgauge.model.plan import Case
from fabricgauge.plan.asked import Asked, asked
from fabricgauge.plan.profiles import MIB

#: Window of the OSU suite; bandwidth figures of the field assume it.
WINDOW = 64
#: A window never shrinks below this: one message alone would measure latency.
SMALLEST_WINDOW = 2
#: Six blocks are the fewest that give a 95 % interval of a median; the rest is warm-up.
SAMPLES_PER_CASE = 10
#: MPI's atomics work on one integer; the engine's are of this size.
INTEGER_BYTES = 8
#: Sizes of a reference pair, for patterns that measure a time and for those that stream.
SMALL_BYTES, LARGE_BYTES = 8, MIB
ATOMICS = ("fetch_and_op_latency", "compare_and_swap_latency")


def cases(
    patterns: tuple[str, ...],
    sizes: tuple[int, ...],
    budget_s: float,
    payload_bytes_per_s: float,
    partner: int = 1,
) -> tuple[Case, ...]:
    """All cases for ranks 0 and ``partner``, in the order of ``sizes`` within each pattern.

    ``patterns`` are words of ``plan.asked``. ``payload_bytes_per_s`` is the ceiling; windows and
    budgets of large messages on slow networks follow from it, so that a case still gets enough
    samples for an interval.

    Raises:
        UsageError: a word or none of the sizes suits.
    """
    return tuple(
        _case(one, size, ends, budget_s, payload_bytes_per_s)
        for one in dict.fromkeys(map(asked, patterns))
        for ends, size in _directions(one.pattern, sizes, partner)
    )


def reference_pair(
    words: tuple[str, ...], case_s: float, payload_bytes_per_s: float, ranks: Sequence[str]
) -> tuple[Case, ...]:
    """What ``words`` of ``plan.asked`` name, while all other ranks sleep.

    ``ranks`` is a node for each: the pair is rank 0 and the first one of another node.
    """
    partner = next((at for at, node in enumerate(ranks) if node != ranks[0]), 1)
    return tuple(
        case
        for word in words
        for case in cases((word,), (_size(word),), case_s, payload_bytes_per_s, partner)
    )


def stream(message_bytes: int, fit_bytes: float) -> tuple[int, int]:
    """The message size and window that send no more than ``fit_bytes`` at once.

    The window shrinks first, then the message; neither below its least.
    """
    while message_bytes > SUSTAINED_BYTES and message_bytes * SMALLEST_WINDOW > fit_bytes:
        message_bytes //= 2
    return message_bytes, _window(message_bytes, fit_bytes)


def _window(each: float, fit: float) -> int:
    """Messages of ``each`` byte or second that may be under way together, to fit."""
    window = WINDOW
    while window > SMALLEST_WINDOW and window * each > fit:
        window //= 2
    return window


def threaded(case: Case) -> bool:
    """Whether the case needs a launch in which MPI lets several threads call at once."""
    return case.pattern in THREADED_PATTERNS


def _directions(
    pattern: str, sizes: tuple[int, ...], partner: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """Origin and target, with the message size."""
    yield from (((0, partner), size) for size in _suitable(pattern, sizes))
    if pattern == "bandwidth":
        yield from (((partner, 0), size) for size in sizes if size >= SUSTAINED_BYTES)


def _suitable(pattern: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that a pattern can have; an atomic has its own, whatever was asked for.

    An empty message goes nowhere in one-sided patterns: MPI returns at once.
    """
    if pattern in ATOMICS:
        return (INTEGER_BYTES,)
    if pattern != "accumulate_latency":
        least = 0 if pattern in LATENCY_PATTERNS and pattern not in ONE_SIDED_PATTERNS else 1
        return tuple(size for size in sizes if size >= least)
    whole = tuple(size for size in sizes if size > 0 and size % INTEGER_BYTES == 0)
    if sizes and not whole:
        raise UsageError(
            f"accumulate_latency adds integers of {INTEGER_BYTES} B: none of the sizes"
            f" {', '.join(map(str, sizes))} B is a multiple of that"
        )
    return whole


def _case(
    one: Asked, size: int, ends: tuple[int, int], budget_s: float, payload_bytes_per_s: float
) -> Case:
    origin, target = ends
    # A half round trip is a sample, but a whole one has to be waited for; threads share the link.
    ways = (2 if one.pattern in ROUND_TRIP_PATTERNS else 1) * one.threads
    message_s = size / payload_bytes_per_s * ways
    window = (
        1 if one.pattern in LATENCY_PATTERNS else _window(SAMPLES_PER_CASE * message_s, budget_s)
    )
    return Case(
        name=f"{one.pattern}/{size}/{origin}>{target}{one.suffix}",
        pattern=one.pattern,
        message_bytes=size,
        window=window,
        origin=origin,
        target=target,
        budget_s=max(budget_s, SAMPLES_PER_CASE * window * message_s),
        epoch=one.epoch,
        threads=one.threads,
    )


def _size(word: str) -> int:
    return SMALL_BYTES if asked(word).pattern in LATENCY_PATTERNS else LARGE_BYTES
