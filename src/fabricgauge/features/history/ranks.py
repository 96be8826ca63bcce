"""Compare recent figures with a reference by their ranks, whatever the distribution of the noise.

Under the hypothesis that recent and reference figures come from the same distribution in any order,
each assignment of ranks is equally likely (Mann and Whitney, Ann. Math. Statist. 18 (1947)). The
probabilities are exact, so that a stated rate of false alarms holds without a model of the noise.
For noise that lasts from run to run, ``drift`` compares figures that are further apart.
"""

from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=4096)
def _counts_up_to(recent: int, reference: int) -> tuple[int, ...]:
    """Return how many of all orders have at most 0, 1, 2, … inversions.

    The number with u inversions is the coefficient of q^u of the Gaussian binomial coefficient.
    """
    most = recent * reference
    counts = [1] + [0] * most
    for step in range(1, recent + 1):
        grown = reference + step
        for place in range(most, grown - 1, -1):
            counts[place] -= counts[place - grown]
        for place in range(step, most + 1):
            counts[place] += counts[place - step]
    return tuple(accumulate(counts))


def chance_of_lower(recent: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """Return the chance that recent figures are as low as these against the reference, or lower.

    Ties count against a difference. It is 1 without figures.
    """
    if not len(recent) or not len(reference):
        return 1.0
    inversions = int((recent[:, None] >= reference[None, :]).sum())
    counts = _counts_up_to(len(recent), len(reference))
    return counts[min(inversions, len(counts) - 1)] / counts[-1]


def least_chance(recent: int, reference: int) -> float:
    """Return the smallest chance that so many figures can show."""
    return 1 / comb(recent + reference, recent)


def estimate_persistence(figures: NDArray[np.float64]) -> float:
    """Return the correlation of each figure's rank with the next one's, without its bias.

    Equal figures share the mean of their ranks; a constant series has correlation 0. Kendall,
    Biometrika 41 (1954): the estimate of a short series is too low.
    """
    count = len(figures)
    _, places, sizes = np.unique(figures, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return 0.0
    mean_ranks = np.cumsum(sizes) - (sizes + 1) / 2
    ranks = mean_ranks[places] - (count - 1) / 2
    share = float((ranks[1:] * ranks[:-1]).sum() / (ranks**2).sum())
    return share + (1 + 3 * share) / count


class Shift(NamedTuple):
    """Hold the change of the level as a share, with its interval at ``confidence``."""

    share: float
    low: float
    high: float
    confidence: float


def estimate_shift(
    recent: NDArray[np.float64], reference: NDArray[np.float64], confidence: float = 0.95
) -> Shift:
    """Return the median of all quotients less 1, with the interval that ranks support.

    Hodges and Lehmann, Ann. Math. Statist. 34 (1963). With few figures the interval is that of all
    quotients, at the confidence that these have.
    """
    quotients = np.sort((recent[:, None] / reference[None, :]).ravel())
    counts = _counts_up_to(len(recent), len(reference))
    tail = (1 - confidence) / 2
    below = int(np.searchsorted(np.array(counts, dtype=float) / counts[-1], tail, side="right"))
    place = max(0, below - 1)
    reached = 1 - 2 * counts[place] / counts[-1] if below else 1 - 2 / counts[-1]
    low, high = quotients[place], quotients[len(quotients) - 1 - place]
    return Shift(
        float(np.median(quotients)) - 1, float(low) - 1, float(high) - 1, max(0.0, reached)
    )
