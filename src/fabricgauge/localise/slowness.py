"""How much slower each pair is than its like: a large matrix, taken a few rows at a time."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairMatrix, Quantity

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

#: Elements of a strip: 16 MiB of float32, so that a few copies of it cost no memory to speak of.
_STRIP = 1 << 22

_SQUARE = 256

#: Rows first to last of something, whole.
Strip = Callable[[int, int], F32]


class Levels(msgspec.Struct, frozen=True, eq=False):
    """One quantile for each row: ``values`` (N,), NaN without partners; ``partners`` (N,)."""

    values: F64
    partners: NDArray[np.int64]


def spans(count: int, width: int = 0) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) row of each strip of a matrix with ``count`` rows."""
    step = max(1, _STRIP // max(1, width or count))
    for first in range(0, count, step):
        yield first, min(first + step, count)


def levels(strip: Strip, count: int, share: float) -> Levels:
    """A quantile over each row's measured elements: the one with ``share`` of the others below.

    The lowest of two or three is taken for a quarter: three partners tell a slow node from
    its slow partners only if the best of them counts.
    """
    values, partners = np.full(count, np.nan), np.zeros(count, dtype=np.int64)
    for first, last in spans(count):
        found, number = quantile(strip(first, last), share)
        values[first:last], partners[first:last] = found, number
    return Levels(values, partners)


def quantile(rows: F32, share: float) -> tuple[F32, NDArray[np.int64]]:
    """An order statistic of each row, and how many finite elements it has."""
    (found,), number = quantiles(rows, (share,))
    return found, number


def quantiles(rows: F32, shares: Sequence[float]) -> tuple[list[F32], NDArray[np.int64]]:
    """Several of them; NaN sorts last. A median of an even number is between the middle two."""
    number = np.count_nonzero(np.isfinite(rows), axis=1)
    ordered = np.sort(rows, axis=1)
    found = []
    for share in shares:
        place = np.floor(share * (number - 1) + 1e-9).astype(np.int64)
        low = np.take_along_axis(ordered, np.maximum(place, 0)[:, None], axis=1)[:, 0]
        if share == 0.5:
            other = np.clip(number // 2, 0, rows.shape[1] - 1)
            low = 0.5 * (low + np.take_along_axis(ordered, other[:, None], axis=1)[:, 0])
        found.append(np.where(number > 0, low, np.float32(np.nan)))
    return found, number


def turned(matrix: F32) -> F32:
    """The transpose, contiguous, copied in squares that fit into the caches."""
    count = len(matrix)
    whole = np.empty_like(matrix)
    for first in range(0, count, _SQUARE):
        for start in range(0, count, _SQUARE):
            rows, columns = slice(first, first + _SQUARE), slice(start, start + _SQUARE)
            whole[columns, rows] = matrix[rows, columns].T
    return whole


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
