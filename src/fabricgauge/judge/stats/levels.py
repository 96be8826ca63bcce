"""Find two levels between which a series of figures changes: a link that flaps or fell."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import exp, lgamma, log

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
#: Cases of several patterns share a level if their figures are within this share of it.
SHARED = 0.02
#: Fewest figures on a shared level, fewest cases with one, and fewest kinds of case that were both
#: fast and on it. A protocol keeps one rate; a machine that pauses disturbs one case.
FEWEST_SHARED, FEWEST_CASES, FEWEST_CHANGING = 5, 3, 2
#: So many sizes of samples have more than one figure on a shared level, or more sizes have one.
REPEATED_SIZES = 2
#: Largest expected number of such groups if all low figures lay anywhere from ``LOWEST`` times the
#: upper level on, and if those within a factor of ``AROUND`` of the group lay anywhere there.
BY_CHANCE, BY_CHANCE_AROUND, LOWEST, AROUND = 0.001, 0.01, 0.1, 1.3


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
    levels = _count_changes(figures, figures[on_low], figures[on_high])
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
    return levels


def _count_changes(
    figures: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> Levels:
    """Return the levels at which the figures ``low`` and ``high`` are, with all their changes."""
    levels = Levels(float(np.median(low)), float(np.median(high)), 0, 0.0)
    is_low = figures < levels.middle
    changes = int(np.count_nonzero(is_low[1:] != is_low[:-1]))
    return Levels(levels.low, levels.high, changes, float(is_low.mean()))


class RatedCase(msgspec.Struct, frozen=True):
    """Hold the rates of a case in time order; cases of equal ``kind`` reach equal rates."""

    kind: Hashable
    sample_bytes: int
    rates: tuple[float, ...]


def find_shared_level(cases: Sequence[RatedCase]) -> Levels | None:
    """Return the levels that cases of several patterns and sizes share; None if they share none.

    A timer (TCP's retransmission, a delayed acknowledgement) adds the same time to samples of any
    size, and a lower rate the same share: so sizes must differ. Most figures may lie between the
    levels, as where the rate changes within a block. The lower level counts if chance would not put
    so many low figures so near each other: for ``n`` figures, ``k`` of them within a share ``w`` of
    the range, ``C(n, k) k w^(k-1)`` bounds the expected number of such groups (Naus,
    "Approximations for distributions of scan statistics", 1982).
    """
    figures = np.asarray([rate for case in cases for rate in case.rates], dtype=float)
    if figures.size < FEWEST:
        return None
    high = float(np.quantile(figures, 0.95))
    low_figures = figures[figures < APART * high]
    if low_figures.size < FEWEST_SHARED:
        return None
    lower = _densest(low_figures, SHARED)
    middle = (lower.low * lower.high) ** 0.5
    bounds = (
        (max(LOWEST * high, float(low_figures.min())), APART * high, BY_CHANCE),
        (middle / AROUND, min(APART * high, middle * AROUND), BY_CHANCE_AROUND),
    )
    fast = (1.0 - NEAR) * high
    on_level = [case for case in cases if lower.holds(np.asarray(case.rates)).any()]
    changing = {case.kind for case in on_level} & {
        case.kind for case in cases if any(rate >= fast for rate in case.rates)
    }
    by_size = Counter[int]()
    for case in on_level:
        by_size[case.sample_bytes] += int(lower.holds(np.asarray(case.rates)).sum())
    repeated = sum(count > 1 for count in by_size.values())
    if (
        lower.count < FEWEST_SHARED
        or len(on_level) < FEWEST_CASES
        or len(changing) < FEWEST_CHANGING
        or (repeated < REPEATED_SIZES and len(by_size) <= REPEATED_SIZES)
        or any(_expect_groups(low_figures, lower, *ends) > limit for *ends, limit in bounds)
    ):
        return None
    return _count_changes(figures, figures[lower.holds(figures)], figures[figures >= fast])


def _expect_groups(figures: NDArray[np.float64], group: _Peak, low: float, high: float) -> float:
    """Return the expected number of such groups if the figures in a range lay anywhere in it.

    It is 1 at most. Binomials of a thousand figures are too large for a float.
    """
    count = int(((figures >= low) & (figures <= high)).sum())
    if count < group.count or high <= low:
        return 1.0
    share = min(1.0, log(group.high / group.low) / log(high / low))
    others = count - group.count
    log_choices = lgamma(count + 1) - lgamma(group.count + 1) - lgamma(others + 1)
    log_expected = log_choices + log(group.count) + (group.count - 1) * log(share)
    return exp(min(0.0, log_expected))


def _densest(values: NDArray[np.float64], near: float = NEAR) -> _Peak:
    """Return the window of two times ``near`` that holds most values, the lowest of equal ones."""
    ordered = np.sort(values)
    ends = ordered * (1.0 + near) / (1.0 - near)
    counts = np.searchsorted(ordered, ends, side="right") - np.arange(ordered.size)
    place = int(counts.argmax())
    return _Peak(float(ordered[place]), float(ends[place]), int(counts[place]))
