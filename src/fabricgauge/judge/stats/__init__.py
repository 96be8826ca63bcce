"""Estimates and curves of samples."""

from collections.abc import Iterable
from statistics import median


def median_or_zero(values: Iterable[float]) -> float:
    """Return the median of some values; 0 without any."""
    known = list(values)
    return median(known) if known else 0.0
