"""Shapes of a series that a medium does not have by itself: falls and cache peaks."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from fabricgauge.stats.series import Point


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
    falls = (
        _fall(a, b, min(a.bandwidth.low, cap), min(b.bandwidth.high, cap))
        for a, b in pairwise(points)
    )
    return tuple(fall for fall in falls if fall.share > more_than)


def time_falls(points: Sequence[Point], more_than: float) -> tuple[Fall, ...]:
    """Sizes whose time is below the next smaller size's, intervals apart."""
    falls = (_fall(a, b, a.time.low, b.time.high) for a, b in pairwise(points))
    return tuple(fall for fall in falls if fall.share > more_than)


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


def _fall(a: Point, b: Point, before: float, after: float) -> Fall:
    share = 1.0 - after / before if before > 0 else 0.0
    return Fall(a.message_bytes, b.message_bytes, share)
