"""Two levels between which a series of figures changes: a link that comes and goes, or fell."""

from collections.abc import Sequence

import msgspec
import numpy as np

#: Fewer figures show no level.
FEWEST = 8
#: The lower level is below this share of the upper one: a step between link rates is larger.
APART = 0.8
#: At least this share of the figures is on either level, and at most ``BETWEEN`` on neither.
LEAST, BETWEEN = 0.1, 0.1
#: A figure is on a level within this share of it.
NEAR = 0.08


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


def find_levels(values: Sequence[float]) -> Levels | None:
    """Return the levels of ``values`` in time order; None where they are one, or spread out."""
    if len(values) < FEWEST:
        return None
    every = np.asarray(values)
    middle = (float(np.quantile(every, 0.05)) * float(np.quantile(every, 0.95))) ** 0.5
    is_low = every < middle
    share = float(is_low.mean())
    if not LEAST <= share <= 1.0 - LEAST:
        return None
    low, high = float(np.median(every[is_low])), float(np.median(every[~is_low]))
    if low > APART * high:
        return None
    near_high = np.abs(every - high) <= NEAR * high
    near_low = np.abs(every - low) <= NEAR * low
    if float((near_high | near_low).mean()) < 1.0 - BETWEEN:
        return None
    changes = int(np.count_nonzero(is_low[1:] != is_low[:-1]))
    return Levels(low, high, changes, share)
