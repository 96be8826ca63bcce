"""A large square matrix taken a few rows or columns at a time."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

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
