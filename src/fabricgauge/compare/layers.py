"""What each layer of a stack adds to the one that was named before it, at each size of each curve.

Medians over blocks, with the interval that two of their order statistics make, whatever the
figures' distribution is (Conover, Practical Nonparametric Statistics, section 3.2).
"""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import Column, Design, Layer

#: Factors whose levels are layers: each carries the data of the one above it.
LAYERED = ("transport", "provider")
CONFIDENCE = 0.95

Floats = NDArray[np.float64]


def layers(design: Design, columns: Sequence[Column], logs: Floats) -> tuple[Layer, ...]:
    """Of a design with such a factor alone; ``logs`` are logarithms, (arms, blocks, columns)."""
    if len(design.factors) != 1 or design.factors[0].name not in LAYERED:
        return ()
    figures = np.exp(logs)
    return tuple(
        layer
        for place, column in enumerate(columns)
        for layer in _of_column(design, column, figures[..., place])
    )


def _of_column(design: Design, column: Column, figures: Floats) -> Iterator[Layer]:
    """From the lowest layer up; ``figures`` are (arms, blocks)."""
    for arm, level in enumerate(design.factors[0].levels):
        figure = median(figures[arm])
        added = median(figures[arm] - figures[arm - 1]) if arm else None
        if figure:
            yield Layer(column.title, column.quantity, column.message_bytes, level, figure, added)


def median(figures: Floats) -> Estimate | None:
    """Of those that are known; None where there are none."""
    known = np.sort(figures[np.isfinite(figures)])
    if not known.size:
        return None
    outside, confidence = _rank(known.size)
    ends = float(known[outside]), float(known[-1 - outside])
    return Estimate(float(np.median(known)), *ends, confidence, known.size, known.size)


def _rank(count: int) -> tuple[int, float]:
    """How many figures lie outside of the interval at each end, and how sure that is."""
    tails = np.cumsum([comb(count, k) / (1 << count) for k in range(count)])
    fine = np.flatnonzero(1.0 - 2.0 * tails >= CONFIDENCE)
    outside = int(fine[-1]) if fine.size else 0
    return outside, float(1.0 - 2.0 * tails[outside])
