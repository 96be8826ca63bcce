"""Two levels between which a series of figures changes: a link that comes and goes, or fell."""

from collections.abc import Sequence
from math import log

import msgspec
import numpy as np
from numpy.typing import NDArray

#: Fewer figures show no level.
FEWEST = 8
#: The lower level is below this share of the upper one: a step between link rates is larger.
APART = 0.8
#: A figure is on a level within this share of it.
NEAR = 0.08
#: At least this share of the figures, and so many, are on either level; and this share on one of
#: both. The rest are blocks in which the rate changed, and what hosts disturbed.
LEAST, FEWEST_ON_LEVEL, ON_LEVELS = 0.1, 3, 0.6
#: At least this share of the lower figures is on the lower level: waiting hosts spread them.
TIGHT = 0.6
#: Between the levels figures are at most this share as dense as on the level with fewer.
VALLEY = 0.5


class Levels(msgspec.Struct, frozen=True):
    """The medians of both levels, how often the series changed, and the lower one's share."""

    low: float
    high: float
    changes: int
    low_share: float

    @property
    def toggles(self) -> bool:
        """Whether it went back and forth; else it changed for good."""
        return self.changes >= 3

    @property
    def middle(self) -> float:
        """What is below it belongs to the lower level."""
        return float((self.low * self.high) ** 0.5)


class _Peak(msgspec.Struct, frozen=True):
    """The figures from ``low`` to ``high``, ``count`` of them."""

    low: float
    high: float
    count: int

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return (values >= self.low) & (values <= self.high)


def find_levels(values: Sequence[float]) -> Levels | None:
    """Return the levels of positive ``values`` in time order; None if they are one, or spread."""
    if len(values) < FEWEST:
        return None
    every = np.asarray(values, dtype=float)
    first = _densest(every)
    level = float(np.median(every[first.holds(every)]))
    apart = every[((every < APART * level) | (every > level / APART)) & ~first.holds(every)]
    if not apart.size:
        return None
    lower, upper = sorted((first, _densest(apart)), key=lambda peak: peak.low)
    fewer = min(lower.count, upper.count)
    on_low, on_high = lower.holds(every), upper.holds(every)
    levels = Levels(float(np.median(every[on_low])), float(np.median(every[on_high])), 0, 0.0)
    is_low = every < levels.middle
    width = log((1.0 + NEAR) / (1.0 - NEAR))
    between = int(((every > lower.high) & (every < upper.low)).sum())
    dense = between * width / max(width, log(upper.low / lower.high))
    if (
        fewer < max(FEWEST_ON_LEVEL, LEAST * every.size)
        or float((on_low | on_high).mean()) < ON_LEVELS
        or float(on_low[is_low].mean()) < TIGHT
        or levels.low > APART * levels.high
        or dense > VALLEY * fewer
    ):
        return None
    changes = int(np.count_nonzero(is_low[1:] != is_low[:-1]))
    return Levels(levels.low, levels.high, changes, float(is_low.mean()))


def _densest(values: NDArray[np.float64]) -> _Peak:
    """Return the window of two times ``NEAR`` that holds most values; of several the lowest."""
    ordered = np.sort(values)
    ends = ordered * (1.0 + NEAR) / (1.0 - NEAR)
    counts = np.searchsorted(ordered, ends, side="right") - np.arange(ordered.size)
    place = int(counts.argmax())
    return _Peak(float(ordered[place]), float(ends[place]), int(counts[place]))
