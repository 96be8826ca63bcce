"""Ratios of two things that are measured in turn, and how far they spread.

A machine's speed drifts, so each ratio is made of two measurements that stand next to each
other, and the order changes from pair to pair.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

_A = TypeVar("_A")
_B = TypeVar("_B")


class Spread(msgspec.Struct, frozen=True):
    """Median, quartiles and extremes of ``count`` ratios."""

    count: int
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float

    def __str__(self) -> str:
        return f"{self.median:.3f}  ({self.lower:.3f} to {self.upper:.3f}, n = {self.count})"


def spread(values: Sequence[float]) -> Spread:
    """How the values lie; there must be at least one."""
    if len(values) == 1:
        return Spread(1, *([values[0]] * 5))
    least, middle, most = min(values), statistics.median(values), max(values)
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    # Interpolating between neighbouring floats may round past either.
    lower, upper = min(max(lower, least), middle), max(min(upper, most), middle)
    return Spread(len(values), least, lower, middle, upper, most)


def in_turn(
    first: Callable[[], _A], second: Callable[[], _B], pairs: int
) -> Iterator[tuple[_A, _B]]:
    """Measure both ``pairs`` times: first second, second first, first second, …"""
    for number in range(pairs):
        if number % 2 == 0:
            a = first()
            yield a, second()
        else:
            b = second()
            yield first(), b
