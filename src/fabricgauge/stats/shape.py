"""Shapes that a medium does not have by itself: falls, cache peaks, a slower direction."""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from fabricgauge.model.estimate import Estimate
from fabricgauge.stats.series import Point, Series


class Fall(msgspec.Struct, frozen=True):
    """Between two neighbouring sizes the curve went the wrong way by ``share`` (0 to 1)."""

    smaller_bytes: int
    larger_bytes: int
    share: float


class Peak(msgspec.Struct, frozen=True):
    """A maximum with a lower bandwidth at larger sizes; ``share`` is the deepest loss."""

    message_bytes: int
    lowest_bytes: int
    share: float


def bandwidth_falls(points: Sequence[Point], more_than: float, cap: float) -> tuple[Fall, ...]:
    """Sizes whose bandwidth is below the next smaller size's, intervals apart.

    Values above ``cap`` bytes/s count as ``cap``: what a token bucket let through
    early is no level to fall from.
    """
    return _falls(points, [one.bandwidth for one in points], more_than, cap)


def time_falls(points: Sequence[Point], more_than: float) -> tuple[Fall, ...]:
    """Sizes whose time is below the next smaller size's, intervals apart."""
    return _falls(points, [one.time for one in points], more_than, math.inf)


def _falls(
    points: Sequence[Point], figures: Sequence[Estimate], more_than: float, cap: float
) -> tuple[Fall, ...]:
    found = []
    for (a, before), (b, after) in pairwise(zip(points, figures, strict=True)):
        low, high = min(before.low, cap), min(after.high, cap)
        share = 1.0 - high / low if low > 0 else 0.0
        if share > more_than:
            found.append(Fall(a.message_bytes, b.message_bytes, share))
    return tuple(found)


def cache_peak(points: Sequence[Point], more_than: float, cap: float) -> Peak | None:
    """A peak like that of a cache; None where the curve saturates as a medium's does.

    The lower end of the peak's interval, at most ``cap`` bytes/s, must be above the
    upper end of a larger size's by more than ``more_than`` (0 to 1).
    """
    top = max(points, key=lambda point: point.bandwidth.value, default=None)
    if top is None or top.bandwidth.low <= 0:
        return None
    after = [point for point in points if point.message_bytes > top.message_bytes]
    lowest = min(after, key=lambda point: point.bandwidth.high, default=None)
    if lowest is None:
        return None
    share = 1.0 - lowest.bandwidth.high / min(top.bandwidth.low, cap)
    return Peak(top.message_bytes, lowest.message_bytes, share) if share > more_than else None


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
    others = {point.message_bytes: point.bandwidth for point in backward.points}
    pairs = [
        (one.bandwidth, others[one.message_bytes])
        for one in forward.at_least(from_bytes)
        if one.message_bytes in others
        if one.bandwidth.low > 0 and others[one.message_bytes].low > 0
    ]
    if not pairs:
        return None
    # Positive where backward is the slower one.
    differences = [_gap(one.value, one.value, other.value, other.value) for one, other in pairs]
    gaps = [_gap(one.low, one.high, other.low, other.high) for one, other in pairs]
    difference = float(np.median(differences))
    slower = backward if difference > 0 else forward
    return Asymmetry(
        slower.origin, slower.target, abs(difference), abs(float(np.median(gaps))), len(pairs)
    )


def _gap(low: float, high: float, other_low: float, other_high: float) -> float:
    if other_high < low:
        return 1.0 - other_high / low
    if high < other_low:
        return -(1.0 - high / other_low)
    return 0.0
