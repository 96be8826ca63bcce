"""Which of many levels stand out on the slow side, and how surely."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.stats.pairs.limits import LEAST, REACH
from fabricgauge.stats.pairs.noise import FLOOR, MEDIAN
from fabricgauge.stats.pairs.significance import tail
from fabricgauge.stats.pairs.strips import F64, Levels

#: The lower quartile's standard error is this by sigma / sqrt(n), the lowest's of three 0.75 sigma.
_QUARTILE = 1.36

#: So many levels have a scatter of their own; fewer are compared with the faster third.
MANY = 16

#: The faster third's own error adds to that of a level, and few partners have heavy tails.
_FEW = 1.5


class Standing(msgspec.Struct, frozen=True, eq=False):
    """How far each level lies above the healthy ones: ``excess``, its standard error, and p.

    NaN, and p = 1, for what cannot be judged.
    """

    excess: F64
    error: F64
    p: F64

    @property
    def tests(self) -> int:
        return int(np.isfinite(self.excess).sum())

    def reaches(self, limit: float) -> NDArray[np.bool_]:
        """Whether an effect of ``limit`` is likely enough."""
        with np.errstate(invalid="ignore"):
            far: NDArray[np.bool_] = (self.excess >= LEAST * limit) & (
                self.excess + REACH * self.error >= limit
            )
        return far


def standing(
    levels: Levels,
    sigma: float,
    freedom: int,
    healthy: NDArray[np.bool_],
    *,
    middle: bool,
    fewest: int = 3,
) -> Standing:
    """Each level against those of ``healthy``; ``middle`` says that they are medians.

    One with less than ``fewest`` partners is not judged: they do not tell which end is slow.
    """
    judged = np.isfinite(levels.values) & (levels.partners >= fewest)
    excess = np.where(judged, levels.values - _centre(levels.values[judged & healthy]), np.nan)
    sampling = (MEDIAN if middle else _QUARTILE) * sigma / np.sqrt(np.maximum(levels.partners, 1))
    if levels.values.size < MANY:
        sampling *= _FEW
    error = np.maximum(sampling, max(FLOOR, _scatter(excess[judged & healthy])))
    p = np.ones_like(excess)
    p[judged] = tail(excess[judged] / error[judged], freedom)
    return Standing(excess, error, p)


def _centre(values: F64) -> float:
    if values.size == 0:
        return 0.0
    ordered = np.sort(values)
    if values.size >= MANY:
        return float(np.median(ordered))
    return float(ordered[(values.size - 1) // 3])


def _scatter(excess: F64) -> float:
    """Standard deviation of healthy levels, by their faster half: slow ones do not widen it."""
    if excess.size < MANY:
        return 0.0
    low, middle = np.quantile(excess, (0.159, 0.5))
    return float(middle - low)
