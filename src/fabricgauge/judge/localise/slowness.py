"""Compare each pair with the usual one: a large matrix, taken a few rows at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise import limits
from fabricgauge.model.pairs import PairMatrix, Quantity

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

#: Elements of a row block: 4 MiB of float32, so that a few copies of it stay in the caches.
_STRIP = 1 << 20

#: Rows or columns of a matrix, and all of them.
Places = slice | NDArray[np.int64]
ALL = slice(None)

#: Elements of a matrix, by rows and columns.
BlockOf = Callable[[Places, Places], F32]

#: Rows that stand for all of a large matrix: five million pairs at 10,240 nodes.
_ROWS = 512

#: Partners that stand for all of a node's. The quartile's error over as many is 4 % of the noise of
#: a pair: below ``FLOOR`` up to 5 % noise.
_PARTNERS = 1024

#: The name of a slow end of a pair: in both directions, or in one.
Ending = Literal["node", "sender", "receiver"]


class Levels(NamedTuple):
    """A quantile of each row, (N,), NaN without partners, and how many elements it has, (N,)."""

    values: NDArray[np.floating]
    partners: NDArray[np.int64]


def spans(count: int, width: int = 0) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) row of each row block of a matrix with ``count`` rows."""
    step = max(1, _STRIP // max(1, width or count))
    for first in range(0, count, step):
        yield first, min(first + step, count)


def levels(block: BlockOf, count: int, share: float, sample: slice = ALL) -> Levels:
    """Return a quantile over each row's measured elements in ``sample`` columns."""
    values, partners = np.full(count, np.nan), np.zeros(count, dtype=np.int64)
    for first, last in spans(count, len(range(count)[sample])):
        values[first:last], partners[first:last] = quantile(
            block(slice(first, last), sample), share
        )
    return Levels(values, partners)


def quantile(rows: F32, share: float) -> Levels:
    """Return the order statistic of each row with ``share`` of the elements below.

    A quarter of two or three is the lowest: three partners show a slow node, and not a slow
    partner, only if the best of them counts.
    """
    (values,), number = quantiles(rows, (share,))
    return Levels(values, number)


def quantiles(rows: F32, shares: Sequence[float]) -> tuple[list[F32], NDArray[np.int64]]:
    """Return several quantiles; NaN sorts last. A median may lie between the middle two."""
    number = np.count_nonzero(np.isfinite(rows), axis=1)
    ordered = np.sort(rows, axis=1)
    values = []
    for share in shares:
        place = np.floor(share * (number - 1) + 1e-9).astype(np.int64)
        low = np.take_along_axis(ordered, np.maximum(place, 0)[:, None], axis=1)[:, 0]
        if share == 0.5:
            above = np.clip(number // 2, 0, rows.shape[1] - 1)
            low = 0.5 * (low + np.take_along_axis(ordered, above[:, None], axis=1)[:, 0])
        values.append(np.where(number > 0, low, np.float32(np.nan)))
    return values, number


class Slowness(msgspec.Struct, frozen=True, eq=False):
    """How much slower a pair is than expected: positive is slower, NaN if nothing was measured.

    For a bandwidth it is the natural logarithm of expected over measured: the slowest part of
    the path decides, so causes do not add up. For a latency it is the excess over the expected
    as a share of ``typical``: delays on the path add up.

    ``values`` (N, N) are in the quantity's unit. ``expected`` is that of healthy pairs from group
    to group, as slowness against ``typical``, by ``index`` (N,), each node's group.
    ``partners`` are the columns that stand for all.
    """

    quantity: Quantity
    typical: float
    values: F64
    expected: F32
    index: NDArray[np.int64]
    partners: slice

    @property
    def adds_up(self) -> bool:
        return self.quantity == "latency"

    @property
    def endings(self) -> tuple[Ending, ...]:
        """The names of a node's slow ends: a latency is the same in both directions."""
        return ("node",) if self.adds_up else ("sender", "receiver")

    @property
    def limit(self) -> float:
        """The least slowness of a fault."""
        return level(limits.FAULT[self.quantity], self.quantity)

    @property
    def sides(self) -> tuple[BlockOf, ...]:
        """For each ending, the slowness of rows' pairs: sending, and receiving."""
        return (self.block, self.received)[: len(self.endings)]

    @property
    def nodes(self) -> int:
        return len(self.values)

    def block(self, rows: Places, columns: Places = ALL) -> F32:
        """Return the slowness of these pairs, computed at each call: no second matrix is kept."""
        if isinstance(rows, slice) or isinstance(columns, slice):
            values = self.values[rows, columns]
        else:
            values = self.values[np.ix_(rows, columns)]
        slowness = relative(values, self.typical, self.quantity)
        if self.expected.any():
            slowness -= np.take(self.expected[self.index[rows]], self.index[columns], axis=1)
        return slowness

    def received(self, rows: Places, columns: Places = ALL) -> F32:
        """Return the slowness of the pairs in which these rows receive."""
        return np.ascontiguousarray(self.block(columns, rows).T)


def slowness(matrix: PairMatrix) -> Slowness:
    """Return the slowness against the median over all pairs, which is ``typical``."""
    sample = matrix.values[sampled_rows(len(matrix.nodes))]
    good = sample[np.isfinite(sample) & (sample > 0)]
    typical = float(np.median(good)) if good.size else float("nan")
    step = max(1, good.size // max(1, len(sample)) // _PARTNERS)
    nowhere = np.zeros(len(matrix.nodes), dtype=np.int64)
    expected = np.zeros((1, 1), dtype=np.float32)
    return Slowness(
        matrix.quantity, typical, matrix.values, expected, nowhere, slice(None, None, step)
    )


def sampled_rows(count: int) -> slice:
    """Return all rows, or every n-th row of a large matrix."""
    return slice(None, None, max(1, count // _ROWS))


def partners_met(values: F64) -> NDArray[np.int64]:
    """Count the partners with which each row has a figure, (N,)."""
    return np.array([np.count_nonzero(np.isfinite(row)) for row in values], dtype=np.int64)


def relative(values: F64, typical: float, quantity: Quantity) -> F32:
    """Return the slowness of ``values`` against ``typical``; NaN if one is not positive."""
    with np.errstate(all="ignore"):
        ratio: F32 = np.divide(values, typical).astype(np.float32)
        ratio[~((ratio > 0) & (ratio < np.inf))] = np.nan
        return ratio - np.float32(1.0) if quantity == "latency" else -np.log(ratio)


def effect(level: float, quantity: Quantity) -> float:
    """Convert a slowness to an effect: -0.75 for a quarter of the bandwidth, 0.05 for 5 % late."""
    return float(level) if quantity == "latency" else float(np.expm1(-level))


def level(effect: float, quantity: Quantity) -> float:
    """Convert a relative loss of bandwidth, or excess of latency, to a slowness."""
    return float(effect) if quantity == "latency" else float(-np.log1p(-effect))
