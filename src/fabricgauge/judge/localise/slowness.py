"""Compare each pair with the usual one, and test how surely a level lies outside of the noise.

A large matrix is taken a few rows at a time.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise import limits
from fabricgauge.model.pairs import PairMatrix, Quantity

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Floats = NDArray[np.floating]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Elements of a row block: 4 MiB of float32, so that a few copies of it stay in the caches.
_STRIP = 1 << 20

#: Rows or columns of a matrix, and all of them.
Places = slice | I64
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

    values: Floats
    partners: I64


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


def quantiles(rows: F32, shares: Sequence[float]) -> tuple[list[F32], I64]:
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
    index: I64
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
        share = limits.FAULT[self.quantity]
        return share if self.adds_up else float(-np.log1p(-share))

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
        slowness = self.relative(values)
        if self.expected.any():
            slowness -= np.take(self.expected[self.index[rows]], self.index[columns], axis=1)
        return slowness

    def received(self, rows: Places, columns: Places = ALL) -> F32:
        """Return the slowness of the pairs in which these rows receive."""
        return np.ascontiguousarray(self.block(columns, rows).T)

    def relative(self, values: F64) -> F32:
        """Return the slowness of ``values`` against ``typical``; NaN if one is not positive."""
        with np.errstate(all="ignore"):
            ratio: F32 = np.divide(values, self.typical).astype(np.float32)
            ratio[~((ratio > 0) & (ratio < np.inf))] = np.nan
            return ratio - np.float32(1.0) if self.adds_up else -np.log(ratio)

    def effect(self, level: float) -> float:
        """Convert a slowness: -0.75 for a quarter of the bandwidth, 0.05 for 5 % late."""
        return float(level) if self.adds_up else float(np.expm1(-level))


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


def partners_met(values: F64) -> I64:
    """Count the partners with which each row has a figure, (N,)."""
    return np.array([np.count_nonzero(np.isfinite(row)) for row in values], dtype=np.int64)


#: Half-width of a 95 % interval in standard errors.
INTERVAL = 1.96

#: Standard deviation of a normal distribution over its median absolute deviation.
MAD = 1.4826

#: With at least this many degrees of freedom, the normal distribution is used.
_NORMAL = 60


def tail(z: F64, freedom: int) -> F64:
    """Return P(T > z) of Student's t with ``freedom`` degrees (odd ones rounded down, at least 2).

    For an even number of degrees it is a finite sum: Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.4.
    """
    if freedom >= _NORMAL:
        upper = np.array([math.erfc(value / math.sqrt(2.0)) for value in z.ravel()])
        return 0.5 * upper.reshape(z.shape)
    even = max(2, freedom - freedom % 2)
    square = even / (even + z * z)
    share = z / np.sqrt(even + z * z)
    term, total = np.ones_like(z), np.ones_like(z)
    for k in range(1, even // 2):
        term = term * square * (2 * k - 1) / (2 * k)
        total = total + term
    # Far out the sum cancels.
    return np.where(z > 4.0, _far(z, even), np.maximum(0.5 * (1.0 - share * total), 0.0))


def _far(z: F64, even: int) -> F64:
    """Return the upper tail: half of the incomplete beta function I_x(n/2, 1/2), x = n / (n + z²).

    By its power series in x, which has no cancellation: Abramowitz and Stegun 26.5.4.
    """
    half = even / 2.0
    x = even / (even + z * z)
    scale = math.exp(math.lgamma(half + 0.5) - math.lgamma(half) - math.lgamma(0.5))
    term, total = np.ones_like(z), np.ones_like(z)
    for k in range(200):
        term = term * x * (half + 0.5 + k) / (half + 1.0 + k)
        total = total + term
    return 0.5 * scale * x**half * np.sqrt(1.0 - x) / half * total


def false_discovery(p: F64, tests: int) -> F64:
    """Return Benjamini and Hochberg's q of each ``p``, the smallest of ``tests`` p-values.

    J. R. Stat. Soc. B 57 (1995) 289: the rate of false names among those with q below a level is
    at most that level.
    """
    q = np.empty_like(p)
    if p.size:
        order = np.argsort(p, kind="stable")
        scaled = p[order] * max(tests, p.size) / np.arange(1, p.size + 1)
        q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def scale(values: Floats) -> float:
    """Return the robust standard deviation around the median; 0 for fewer than two values."""
    finite = values[np.isfinite(values)]
    if finite.size < 2:
        return 0.0
    return float(MAD * np.median(np.abs(finite - np.median(finite))))


#: The standard error of a median of n normal values is this times sigma / sqrt(n).
MEDIAN = 1.2533

#: The shortest interval with half of a normal distribution is 1.349 standard deviations long.
_HALF = 1.349


class Excess(msgspec.Struct, frozen=True):
    """A slowness beyond the expected one, and its standard error."""

    level: float
    error: float


class Noise(msgspec.Struct, frozen=True):
    """``pair`` is the relative standard deviation of a value of the matrix, ``single`` that of
    one pass, ``passes`` how many passes a pair has as a rule. ``freedom`` are the degrees of
    freedom of ``pair``.
    """

    pair: float
    single: float
    passes: int
    freedom: int

    def find_pair_noise(self, passes: F64) -> F64:
        """Return standard errors of pairs measured ``passes`` times, with the part that lasts."""
        lasting = max(0.0, self.pair**2 - MEDIAN**2 * self.single**2 / max(1, self.passes))
        single = self.single**2 * np.where(passes > 2, MEDIAN**2, 1.0)
        return np.maximum(limits.FLOOR, np.sqrt(lasting + single / np.maximum(passes, 1)))


def noise(matrix: PairMatrix, slow: Slowness, sampled: F32 | None = None) -> Noise:
    """Estimate noise from the shortest interval that holds half of the pairs, and the passes.

    ``sampled`` are the values of ``sampled_rows`` if they are not simply those of ``slow``.

    Only a third of the pairs' degrees of freedom count, and half of the passes': the shortest
    interval is a selection, and tails are heavy. In simulations, healthy nodes are then named in
    less than 1 % of the analyses of 3 to 16 nodes.

    If one node in four is slow, half of the pairs have a slow end. The shortest half is the only
    usual robust scale that bears this (Rousseeuw and Leroy, 1988).
    """
    rows = sampled_rows(len(matrix.nodes))
    values = slow.block(rows) if sampled is None else sampled
    finite = values[np.isfinite(values)]
    single, passes, more = _between_passes(matrix, slow, rows)
    pairs = finite.size // 2 if slow.adds_up else finite.size
    pair = max(limits.FLOOR, _shortest_half(finite), MEDIAN * single / np.sqrt(max(1, passes)))
    if not more:
        single = pair
    return Noise(pair, single, passes, max(2, pairs // 6 + more // 2))


def _shortest_half(values: F32) -> float:
    if values.size < 4:
        return 0.0
    ordered = np.sort(values)
    half = values.size // 2
    lengths = ordered[half - 1 :] - ordered[: values.size - half + 1]
    return float(lengths.min()) / _HALF


def _between_passes(matrix: PairMatrix, slow: Slowness, rows: slice) -> tuple[float, int, int]:
    """Return the deviation of one pass, passes of a pair, degrees of freedom of the former."""
    layers = len(matrix.repeats)
    if layers < 2:
        return 0.0, 1, 0
    passes, middle = slow.relative(matrix.repeats[:, rows]), slow.relative(matrix.values[rows])
    apart = np.abs(passes - middle)[:, np.isfinite(middle)]
    number = np.isfinite(apart).sum(axis=0)
    usual = int(np.median(number)) if number.size else 1
    several = apart[:, number >= 2]
    if usual < 2 or several.size == 0:
        return 0.0, 1, 0
    freedom = int(np.maximum(number - 1, 0).sum()) // (2 if slow.adds_up else 1)
    deviations = several[np.isfinite(several)]
    return float(MAD * np.median(deviations)) * _FEW_PASSES.get(usual, 1.12), usual, freedom


#: The deviation from a median of few passes is too small by this factor, since the median depends
#: on each pass. By simulation of normal noise: 200,000 sets of each number of passes.
_FEW_PASSES = {2: 1.41, 3: 2.16, 4: 1.38, 5: 1.38, 6: 1.27, 7: 1.22, 8: 1.20, 9: 1.16}


#: The lower quartile's standard error is this times sigma / sqrt(n); 0.75 sigma for three values.
_QUARTILE = 1.36


class LevelTests(msgspec.Struct, frozen=True, eq=False):
    """How far levels lie above the healthy ones: ``excess``, its standard error, and p; all (D, N).

    D directions: sending and receiving, or one for both if delays add up. NaN, and p = 1, for
    ends that cannot be judged.
    """

    excess: F64
    error: F64
    p: F64

    @property
    def q(self) -> F64:
        """The false-discovery rates over all levels."""
        tests = int(np.isfinite(self.excess).sum())
        return false_discovery(self.p.ravel(), tests).reshape(self.p.shape)


def may_reach(effect: F64, error: F64, limit: float) -> Flags:
    """Check whether an effect may be as large as ``limit``: errors may hide half of it."""
    with np.errstate(invalid="ignore"):
        far: Flags = (effect >= limits.LEAST * limit) & (effect + limits.REACH * error >= limit)
    return far


def standing(
    directions: Iterable[Levels],
    sigma: float,
    freedom: int,
    healthy: Flags,
    *,
    middle: bool = False,
    fewest: int = 3,
) -> LevelTests:
    """Test each direction's levels against the ``healthy``; ``middle`` if they are medians.

    A level over fewer than ``fewest`` partners is not judged: it may be the partners' slowness.
    """
    tests = []
    for values, partners in directions:
        judged = np.isfinite(values) & (partners >= fewest)
        excess = np.where(judged, values - centre(values[judged & healthy]), np.nan)
        sampling = (MEDIAN if middle else _QUARTILE) * sigma / np.sqrt(np.maximum(partners, 1))
        error = np.maximum(sampling, max(limits.FLOOR, _scatter(excess[judged & healthy])))
        p = np.ones_like(excess)
        p[judged] = tail(excess[judged] / error[judged], freedom)
        tests.append((excess, error, p))
    return LevelTests(*map(np.stack, zip(*tests, strict=True)))


def centre(values: Floats) -> float:
    """Return the usual healthy level: the median, or the lower third of few levels.

    One slow level would move the median of few.
    """
    if values.size == 0:
        return 0.0
    ordered = np.sort(values)
    if values.size >= limits.MANY:
        return float(np.median(ordered))
    return float(ordered[(values.size - 1) // 3])


def _scatter(excess: F64) -> float:
    """Return the deviation of healthy levels, by their faster half: slow ones do not widen it."""
    if excess.size < limits.MANY:
        return 0.0
    low, middle = np.quantile(excess, (0.159, 0.5))
    return float(middle - low)
