"""A pair of curves in a few figures: typical change, extremes, counts, crossovers."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from fabricgauge.model.comparison import Basis, Crossover, Difference, Standing, Summary


def summary(differences: Sequence[Difference], corrected: int) -> Summary:
    """Over at least one difference; ``corrected`` as in ``Summary``."""
    changes = [one.change for one in differences]
    return Summary(
        sizes=len(differences),
        median_change=float(np.median(changes)),
        least_change=min(changes),
        largest_change=max(changes),
        mean_ratio=math.exp(float(np.mean([math.log(one.ratio) for one in differences]))),
        worse=_number(differences, "worse"),
        better=_number(differences, "better"),
        within=_number(differences, "within"),
        open=_number(differences, "open"),
        corrected=corrected,
    )


def _number(differences: Sequence[Difference], standing: Standing) -> int:
    return sum(one.standing == standing for one in differences)


def crossovers(
    differences: Sequence[Difference], basis: Basis, tolerance: float, less_is_better: bool
) -> tuple[Crossover, ...]:
    """Where the sign of the change turns, in ascending order of size.

    A significant one lies between the last size that is surely on one side and the first
    that is surely on the other, whatever the sizes between them say.
    """
    sized = [one for one in differences if one.message_bytes is not None and one.ratio != 1.0]
    sure = [one for one in sized if _sure(one, basis, tolerance)]
    found = list(_turns(sure, less_is_better, significant=True))
    for turn in _turns(sized, less_is_better, significant=False):
        if not any(_overlap(turn, other) for other in found if other.significant):
            found.append(turn)
    return tuple(sorted(found, key=lambda one: one.from_bytes))


def _sure(difference: Difference, basis: Basis, tolerance: float) -> bool:
    if basis == "means":
        return abs(difference.change) > tolerance
    return difference.low is not None and (difference.low > 1.0 or _high(difference) < 1.0)


def _high(difference: Difference) -> float:
    return difference.high if difference.high is not None else math.inf


def _turns(
    differences: Sequence[Difference], less_is_better: bool, significant: bool
) -> Iterator[Crossover]:
    for one, other in pairwise(differences):
        if (one.ratio > 1.0) != (other.ratio > 1.0):
            worse = (other.ratio > 1.0) == less_is_better
            yield Crossover(
                one.message_bytes or 0,
                other.message_bytes or 0,
                "worse" if worse else "better",
                significant,
            )


def _overlap(one: Crossover, other: Crossover) -> bool:
    return one.from_bytes < other.to_bytes and other.from_bytes < one.to_bytes
