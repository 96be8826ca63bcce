"""How much slower each pair is than its like: the matrix that everything else works on."""

import msgspec
import numpy as np

from fabricgauge.model.pairs import PairMatrix, Quantity
from fabricgauge.stats.pairs.strips import F32, F64, spans


class Slowness(msgspec.Struct, frozen=True, eq=False):
    """``values`` (N, N): positive is slower, NaN where nothing was measured.

    Of a bandwidth it is the natural logarithm of expected over measured: whatever is slowest on
    the way decides, so causes do not add up. Of a latency it is the excess over the expected
    as a share of ``typical``: delays on the way add up.
    """

    quantity: Quantity
    typical: float
    values: F32

    @property
    def adds_up(self) -> bool:
        return self.quantity == "latency"


def slowness(matrix: PairMatrix) -> Slowness:
    """Against the median over all pairs, which is ``typical``."""
    count = len(matrix.nodes)
    typical = _typical(matrix.values)
    values = np.empty((count, count), dtype=np.float32)
    for first, last in spans(count):
        values[first:last] = relative(matrix.values[first:last], typical, matrix.quantity)
    np.fill_diagonal(values, np.nan)
    return Slowness(matrix.quantity, typical, values)


def relative(values: F64, typical: float, quantity: Quantity) -> F32:
    """Slowness of ``values`` against ``typical``; what is not a positive number is NaN."""
    with np.errstate(all="ignore"):
        good = np.where(np.isfinite(values) & (values > 0), values, np.nan)
        found = good / typical - 1.0 if quantity == "latency" else np.log(typical / good)
    return found.astype(np.float32)


def effect(level: float, quantity: Quantity) -> float:
    """A slowness as findings tell it: -0.75 for a quarter of the bandwidth, 0.05 for 5 % late."""
    return float(level) if quantity == "latency" else float(np.expm1(-level))


def level(effect: float, quantity: Quantity) -> float:
    """The slowness of a relative loss of bandwidth, or of a relative excess of latency."""
    return float(effect) if quantity == "latency" else float(-np.log1p(-effect))


def _typical(values: F64) -> float:
    """The median over all pairs; NaN without any."""
    apart = np.isfinite(values) & (values > 0)
    np.fill_diagonal(apart, False)
    found = values[apart]
    return float(np.median(found, overwrite_input=True)) if found.size else float("nan")
