"""Arrange every pair of ranks once, in rounds of disjoint pairs, as the engine makes them.

The circle method: of N ranks, N even, the last stays. Two others meet in the round that is the sum
of their numbers, modulo N - 1; an odd number gets an imaginary last rank. See de Werra, Discrete
Applied Mathematics 2 (1980). The engine's round_robin_rounds.hpp has the same formula.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.plan import rounds

#: Multiples of the golden section, modulo 1, are spread most evenly, whatever their number
#: (Knuth, The Art of Computer Programming, vol. 3, section 6.4).
_GOLDEN_SECTION = 0.6180339887498949


def pairs_of_round(round_number: int, ranks: int) -> NDArray[np.int64]:
    """Return the pairs of a round, (N // 2, 2): the lower rank first, rows ascending by it."""
    last = ranks - 1 + ranks % 2
    moving = np.arange(last, dtype=np.int64)
    met = (round_number - moving) % last
    met[met == moving] = last
    lower = (moving < met) & (met < ranks)
    return np.column_stack((moving[lower], met[lower]))


def sample_rounds(ranks: int, count: int, seed: int = 0, part: int = 0) -> tuple[int, ...]:
    """Return ``count`` of the rounds, ascending, so that each rank's partners are evenly spread.

    ``part`` p continues after part p - 1: parts of one seed share no round until all are used. Any
    two neighbours in their order join all ranks to one graph, so that two rounds are enough to
    compare every rank with every other.
    """
    round_count = rounds(ranks)
    stride = _stride(round_count)
    first = part * count + int(seed * _GOLDEN_SECTION % 1.0 * round_count)
    chosen = ((first + place) * stride % round_count for place in range(min(count, round_count)))
    return tuple(sorted(chosen))


def _stride(round_count: int) -> int:
    """Return a number near the rounds' golden section that has no factor in common with their
    number.
    """
    stride = max(1, round(round_count * _GOLDEN_SECTION))
    while gcd(stride, round_count) != 1:
        stride += 1
    return stride
