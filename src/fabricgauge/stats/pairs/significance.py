"""How sure: tail probabilities, false-discovery rates, scale of the noise."""

import math

import numpy as np
from numpy.typing import NDArray

from fabricgauge.stats.pairs.strips import F64

#: Half-width of a 95 % interval in standard errors.
INTERVAL = 1.96

#: Standard deviation of a normal distribution over its median absolute deviation.
MAD = 1.4826

#: From so many degrees of freedom on a normal distribution is meant.
_NORMAL = 60


def tail(z: F64, freedom: int) -> F64:
    """P(T > z) of Student's t with ``freedom`` degrees (odd ones rounded down, at least 2).

    For an even number of degrees it is a finite sum: Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.4.
    """
    if freedom >= _NORMAL:
        return 0.5 * np.asarray([math.erfc(one / math.sqrt(2.0)) for one in z.ravel()]).reshape(
            z.shape
        )
    even = max(2, freedom - freedom % 2)
    return _student(z, even)


def _student(z: F64, even: int) -> F64:
    """The sum's remainder as an integral's series where the sum would cancel."""
    square = even / (even + z * z)
    share = z / np.sqrt(even + z * z)
    term, total = np.ones_like(z), np.ones_like(z)
    for k in range(1, even // 2):
        term = term * square * (2 * k - 1) / (2 * k)
        total = total + term
    plain = 0.5 * (1.0 - share * total)
    return np.where(z > 4.0, _far(z, even), np.maximum(plain, 0.0))


def _far(z: F64, even: int) -> F64:
    """The upper tail: half of the incomplete beta function I_x(n/2, 1/2), x = n / (n + z²).

    By its power series in x, which has no cancellation: Abramowitz and Stegun 26.5.4.
    """
    half = even / 2.0
    x = even / (even + z * z)
    scale = math.exp(math.lgamma(half + 0.5) - math.lgamma(half) - math.lgamma(0.5))
    term, total = np.ones_like(z), np.ones_like(z)
    for k in range(200):
        term = term * x * (half + 0.5 + k) / (half + 1.0 + k)
        total = total + term
    return 0.5 * scale * x**half * np.sqrt(1.0 - x) / half * total


def false_discovery(p: F64, tests: int) -> F64:
    """Benjamini and Hochberg's q of each p, of the smallest ones of ``tests`` p-values.

    J. R. Stat. Soc. B 57 (1995) 289: the rate of false names among those with q below a level is
    at most that level.
    """
    q = np.empty_like(p)
    if p.size:
        order = np.argsort(p, kind="stable")
        scaled = p[order] * max(tests, p.size) / np.arange(1, p.size + 1)
        q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def scale(values: NDArray[np.floating]) -> float:
    """Robust standard deviation around the median; 0 for fewer than two values."""
    finite = values[np.isfinite(values)]
    if finite.size < 2:
        return 0.0
    return float(MAD * np.median(np.abs(finite - np.median(finite))))
