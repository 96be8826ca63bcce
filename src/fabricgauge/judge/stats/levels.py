"""Find two levels between which a series of figures changes: a link that flaps or fell."""

from collections.abc import Sequence
from math import log

import msgspec
import numpy as np
from numpy.typing import NDArray

#: Fewest figures that can show levels.
FEWEST = 8
#: The lower level is below this share of the upper one: a step between link rates is larger.
APART = 0.8
#: A figure is on a level within this share of it.
NEAR = 0.08
#: Least share and number of figures on either level, and least share on both together. The others
#: are blocks in which the rate changed or a host disturbed.
LEAST, FEWEST_ON_LEVEL, ON_LEVELS = 0.1, 3, 0.6
#: Least share of the lower figures on the lower level: waiting hosts spread them.
TIGHT = 0.6
#: Largest density of figures between the levels, as a share of that on the level with fewer.
VALLEY = 0.5


class Levels(msgspec.Struct, frozen=True):
    """Hold the medians of both levels, the number of changes, and the lower level's share."""

    low: float
    high: float
    changes: int
    low_share: float

    @property
    def toggles(self) -> bool:
        """Check whether the series went back and forth; otherwise it changed for good."""
        return self.changes >= 3

    @property
    def middle(self) -> float:
        """Return the limit below which a figure belongs to the lower level."""
        return float((self.low * self.high) ** 0.5)


class _Peak(msgspec.Struct, frozen=True):
    """Hold the range of a level and the number of its figures."""

    low: float
    high: float
    count: int

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        return (values >= self.low) & (values <= self.high)


def find_levels(values: Sequence[float]) -> Levels | None:
    """Return the levels of positive ``values`` in time order; None for one level or a spread."""
    if len(values) < FEWEST:
        return None
    figures = np.asarray(values, dtype=float)
    first = _densest(figures)
    level = float(np.median(figures[first.holds(figures)]))
    apart = figures[((figures < APART * level) | (figures > level / APART)) & ~first.holds(figures)]
    if not apart.size:
        return None
    lower, upper = sorted((first, _densest(apart)), key=lambda peak: peak.low)
    fewer = min(lower.count, upper.count)
    on_low, on_high = lower.holds(figures), upper.holds(figures)
    levels = Levels(float(np.median(figures[on_low])), float(np.median(figures[on_high])), 0, 0.0)
    is_low = figures < levels.middle
    width = log((1.0 + NEAR) / (1.0 - NEAR))
    valley_count = int(((figures > lower.high) & (figures < upper.low)).sum())
    dense = valley_count * width / max(width, log(upper.low / lower.high))
    if (
        fewer < max(FEWEST_ON_LEVEL, LEAST * figures.size)
        or float((on_low | on_high).mean()) < ON_LEVELS
        or float(on_low[is_low].mean()) < TIGHT
        or levels.low > APART * levels.high
        or dense > VALLEY * fewer
    ):
        return None
    changes = int(np.count_nonzero(is_low[1:] != is_low[:-1]))
    return Levels(levels.low, levels.high, changes, float(is_low.mean()))


def _densest(values: NDArray[np.float64]) -> _Peak:
    """Return the window of two times ``NEAR`` that holds most values, the lowest of equal ones."""
    ordered = np.sort(values)
    ends = ordered * (1.0 + NEAR) / (1.0 - NEAR)
    counts = np.searchsorted(ordered, ends, side="right") - np.arange(ordered.size)
    place = int(counts.argmax())
    return _Peak(float(ordered[place]), float(ends[place]), int(counts[place]))
