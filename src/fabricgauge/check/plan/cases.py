"""Plan the cases of a pair: patterns × message sizes × directions, each with window and budget."""

from collections.abc import Sequence

from fabricgauge.check.plan.patterns import (
    ATOMICS,
    INTEGER_BYTES,
    PatternRequest,
    has_empty_messages,
    parse_pattern,
)
from fabricgauge.check.plan.profiles import MIB
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    LATENCY_PATTERNS,
    ROUND_TRIP_PATTERNS,
    SUSTAINED_BYTES,
    THREADED_PATTERNS,
)
from fabricgauge.model.plan import Case

#: Window of the OSU suite, which published bandwidth figures assume.
WINDOW = 64
#: Smallest window: a single message would measure latency.
MIN_WINDOW = 2
#: A 95 % interval of a median needs six blocks at least; the other samples are warm-up.
SAMPLES_PER_CASE = 10
#: Sizes of a reference pair, for patterns that measure a time and for those that stream.
SMALL_BYTES, LARGE_BYTES = 8, MIB


def plan_cases(
    patterns: tuple[str, ...],
    sizes: tuple[int, ...],
    budget_s: float,
    payload_bytes_per_s: float,
    partner: int = 1,
    back: tuple[int, ...] | None = None,
) -> tuple[Case, ...]:
    """Plan all cases for ranks 0 and ``partner``, in the order of ``sizes`` within each pattern.

    ``patterns`` are words of ``plan.patterns``. ``payload_bytes_per_s`` is the ceiling. Windows and
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
    """Plan the cases that ``words`` of ``plan.patterns`` name, while all other ranks sleep.

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
