"""How much one direction is slower than the other."""

import msgspec
import numpy as np

from fabricgauge.stats.series import Point, Series


class Asymmetry(msgspec.Struct, frozen=True):
    """The slower direction's loss against the faster, as shares of the faster (0 to 1).

    ``value`` is the median over the common sizes of the medians' difference;
    ``beyond_intervals`` is the same of what lies between the intervals (0 if they touch).
    """

    slower_origin: str
    slower_target: str
    value: float
    beyond_intervals: float
    sizes: int


def asymmetry(forward: Series, backward: Series, from_bytes: float) -> Asymmetry | None:
    """Compare bandwidth at equal sizes of at least ``from_bytes``; None without any."""
    pairs = [
        (one.bandwidth, other.bandwidth)
        for one, other in _common_sizes(forward, backward)
        if one.message_bytes >= from_bytes and one.bandwidth.low > 0 and other.bandwidth.low > 0
    ]
    if not pairs:
        return None
    difference = float(np.median([_signed(one.value, other.value) for one, other in pairs]))
    gaps = [_gap(one.low, one.high, other.low, other.high) for one, other in pairs]
    slower = backward if difference > 0 else forward
    return Asymmetry(
        slower.origin, slower.target, abs(difference), abs(float(np.median(gaps))), len(pairs)
    )


def _signed(forward: float, backward: float) -> float:
    """Positive where backward is the slower one."""
    if forward >= backward:
        return 1.0 - backward / forward
    return -(1.0 - forward / backward)


def _gap(low: float, high: float, other_low: float, other_high: float) -> float:
    if other_high < low:
        return 1.0 - other_high / low
    if high < other_low:
        return -(1.0 - high / other_low)
    return 0.0


def _common_sizes(forward: Series, backward: Series) -> list[tuple[Point, Point]]:
    others = {point.message_bytes: point for point in backward.points}
    return [
        (point, others[point.message_bytes])
        for point in forward.points
        if point.message_bytes in others
    ]
