"""Every pair of ranks once, in rounds of disjoint pairs, as the engine makes them.

The circle method: of N ranks, N even, the last stays. Two others meet in the round that is the
sum of their numbers, modulo N - 1; an odd number gets an imaginary last rank. See de Werra,
Discrete Applied Mathematics 2 (1980). The engine's round_robin_rounds.hpp has the same formula.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.plan import rounds

#: Multiples of an irrational number, modulo 1, lie most evenly for the golden section, however
#: many of them are taken (Knuth, The Art of Computer Programming, vol. 3, section 6.4).
_GOLDEN_SECTION = 0.6180339887498949


def pairs(round_number: int, ranks: int) -> NDArray[np.int64]:
    """The pairs of a round, (N // 2, 2): the lower rank first, rows ascending by it."""
    last = ranks - 1 + ranks % 2
    moving = np.arange(last, dtype=np.int64)
    met = (round_number - moving) % last
    met[met == moving] = last
    lower = (moving < met) & (met < ranks)
    return np.column_stack((moving[lower], met[lower]))


def sampled(ranks: int, count: int, seed: int = 0, part: int = 0) -> tuple[int, ...]:
    """``count`` of the rounds, ascending, so that each rank's partners lie evenly apart.

    ``part`` p continues where part p - 1 ended: parts of one seed have no round in common until
    there is none left. Any two neighbours in their order join all ranks to one graph, so
    that two rounds are enough to compare every rank with every other.
    """
    there = rounds(ranks)
    stride = _stride(there)
    first = part * count + int(seed * _GOLDEN_SECTION % 1.0 * there)
    chosen = ((first + place) * stride % there for place in range(min(count, there)))
    return tuple(sorted(chosen))


def _stride(there: int) -> int:
    """What has no factor in common with the number of rounds, near their golden section."""
    stride = max(1, round(there * _GOLDEN_SECTION))
    while gcd(stride, there) != 1:
        stride += 1
    return stride
