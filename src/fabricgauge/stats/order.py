"""Non-parametric interval of a median from order statistics.

Method: the interval between two order statistics covers the median with a
probability that the binomial distribution with p = 1/2 gives exactly, whatever the
distribution of the observations (e.g. Hollander, Wolfe & Chicken, *Nonparametric
Statistical Methods*, 3rd ed., section 3.6; Hoefler & Belli, SC15, rule 5).
"""

import math
from collections.abc import Sequence

from fabricgauge.model.absence import Skipped


def median_ranks(count: int, confidence: float) -> tuple[int, int] | Skipped:
    """Zero-based ranks of the ordered observations that bound the median.

    They are the innermost symmetric pair whose coverage is at least ``confidence``
    (0 to 1). Skipped when ``count`` independent observations cannot give that.
    """
    tail = (1.0 - confidence) / 2.0
    cumulative, rank = 0.0, -1
    for k in range(count // 2 + count % 2):
        cumulative += _binomial_half(count, k)
        if cumulative > tail:
            break
        rank = k
    if rank < 0:
        return Skipped(f"{count} observations are too few for a {confidence:.0%} interval")
    return rank, count - 1 - rank


def coverage(count: int, low: int, high: int) -> float:
    """Probability that the median lies between the ``low``-th and ``high``-th of ``count``."""
    return sum(_binomial_half(count, k) for k in range(low + 1, high + 1))


def median_interval(
    observations: Sequence[float], confidence: float
) -> tuple[float, float] | Skipped:
    """The two observations that bound the median at ``confidence``, in their own unit."""
    ranks = median_ranks(len(observations), confidence)
    if isinstance(ranks, Skipped):
        return ranks
    ordered = sorted(observations)
    return ordered[ranks[0]], ordered[ranks[1]]


def _binomial_half(count: int, k: int) -> float:
    # Logarithms: 2**count leaves the range of a float at 1,024 observations.
    return math.exp(
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        - count * math.log(2)
    )
