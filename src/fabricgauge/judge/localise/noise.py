"""How far healthy pairs scatter, how surely a level lies outside of that, and false discovery."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.slowness import F32, F64, Levels, Slowness, relative, sampled_rows
from fabricgauge.model.pairs import PairMatrix

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


def scale(values: NDArray[np.floating]) -> float:
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
    passes = relative(matrix.repeats[:, rows], slow.typical, slow.quantity)
    middle = relative(matrix.values[rows], slow.typical, slow.quantity)
    apart = np.abs(passes - middle)[:, np.isfinite(middle)]
    number = np.isfinite(apart).sum(axis=0)
    usual = int(np.median(number)) if number.size else 1
    several = apart[:, number >= 2]
    if usual < 2 or several.size == 0:
        return 0.0, 1, 0
    freedom = int(np.maximum(number - 1, 0).sum()) // (2 if slow.adds_up else 1)
    deviations = several[np.isfinite(several)]
    return float(MAD * np.median(deviations)) * _few_passes(usual), usual, freedom


def _few_passes(passes: int) -> float:
    """Return a correction: few passes seem too close to their median, which depends on each.

    By simulation of normal noise: 200,000 sets of each number of passes.
    """
    table = {2: 1.41, 3: 2.16, 4: 1.38, 5: 1.38, 6: 1.27, 7: 1.22, 8: 1.20, 9: 1.16}
    return table.get(passes, 1.12)


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


def may_reach(effect: F64, error: F64, limit: float) -> NDArray[np.bool_]:
    """Check whether an effect may be as large as ``limit``: errors may hide half of it."""
    with np.errstate(invalid="ignore"):
        far: NDArray[np.bool_] = (effect >= limits.LEAST * limit) & (
            effect + limits.REACH * error >= limit
        )
    return far


def standing(
    directions: Iterable[Levels],
    sigma: float,
    freedom: int,
    healthy: NDArray[np.bool_],
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


def centre(values: NDArray[np.floating]) -> float:
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
