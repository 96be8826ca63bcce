"""The cases of one launch: patterns × message sizes × directions."""

from collections.abc import Iterator

from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.plan import Case
from fabricgauge.plan.profiles import KIB

#: Window of the OSU suite; bandwidth figures of the field assume it.
WINDOW = 64
#: A window never shrinks below this: one message alone would measure latency.
SMALLEST_WINDOW = 2
#: Six blocks are the fewest that give a 95 % interval of a median; the rest is warm-up.
SAMPLES_PER_CASE = 10
#: From here up both directions are measured one after the other.
REVERSE_FROM_BYTES = 64 * KIB


def cases(
    patterns: tuple[Pattern, ...],
    sizes: tuple[int, ...],
    budget_s: float,
    payload_bytes_per_s: float,
) -> tuple[Case, ...]:
    """All cases for a pair of ranks, smallest messages first within each pattern.

    ``payload_bytes_per_s`` is the ceiling; windows and budgets of large messages on slow
    networks follow from it, so that a case still gets enough samples for an interval.
    """
    return tuple(
        _case(pattern, size, origin, budget_s, payload_bytes_per_s)
        for pattern in patterns
        for origin, size in _directions(pattern, sizes)
    )


def _directions(pattern: Pattern, sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    latency = pattern in LATENCY_PATTERNS
    yield from ((0, size) for size in sizes if latency or size > 0)
    if pattern == "bandwidth":
        yield from ((1, size) for size in sizes if size >= REVERSE_FROM_BYTES)


def _case(
    pattern: Pattern, size: int, origin: int, budget_s: float, payload_bytes_per_s: float
) -> Case:
    # A half round trip is a sample, but a whole one has to be waited for.
    message_s = size / payload_bytes_per_s * (2 if pattern == "latency" else 1)
    window = 1 if pattern in LATENCY_PATTERNS else _window(message_s, budget_s)
    target = 1 - origin
    return Case(
        name=f"{pattern}/{size}/{origin}>{target}",
        pattern=pattern,
        message_bytes=size,
        window=window,
        origin=origin,
        target=target,
        budget_s=max(budget_s, SAMPLES_PER_CASE * window * message_s),
    )


def _window(message_s: float, budget_s: float) -> int:
    window = WINDOW
    while window > SMALLEST_WINDOW and window * message_s * SAMPLES_PER_CASE > budget_s:
        window //= 2
    return window
