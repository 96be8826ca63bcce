"""Slow pairs of which neither end is slow elsewhere."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairMatrix
from fabricgauge.stats.pairs.ends import Both
from fabricgauge.stats.pairs.explained import Left
from fabricgauge.stats.pairs.limits import LEAST, REACH
from fabricgauge.stats.pairs.noise import FLOOR, Noise, sampled_rows
from fabricgauge.stats.pairs.significance import false_discovery, scale, tail
from fabricgauge.stats.pairs.slowness import Slowness, relative
from fabricgauge.stats.pairs.strips import F32, F64, spans

#: Pairs this many standard errors slow are looked at more closely.
_CONSPICUOUS = 3.0

#: The values of one pass have tails like Student's t with so many degrees of freedom; the median
#: of 2 k - 1 passes has k times as many.
_TAILS = 4

#: So few passes must agree that a pair is slow; of more, two thirds.
_FEW_PASSES = 5

#: From so many nodes on, each one's own small excess is taken off its pairs.
_MANY = 8


class Singles(msgspec.Struct, frozen=True, eq=False):
    """Conspicuous directed pairs by parallel arrays, the surest first.

    ``passes`` is how often each was measured, ``slow_in`` in how many passes it was slow.
    ``q`` is the false-discovery rate over all pairs. Of a latency each pair stands once.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    level: F64
    error: F64
    p: F64
    q: F64
    passes: NDArray[np.int64]
    slow_in: NDArray[np.int64]

    def only(self, chosen: NDArray[np.generic]) -> "Singles":
        fields = (getattr(self, name)[chosen] for name in self.__struct_fields__)
        return Singles(*fields)


class Residual(msgspec.Struct, frozen=True, eq=False):
    """What nobody explains of each pair's slowness; ``sigma`` is its standard deviation."""

    left: Left
    sending: F32
    receiving: F32
    centre: float
    sigma: float

    def rows(self, first: int, last: int) -> F32:
        strip = self.left.pairs(first, last)
        strip -= self.sending[first:last, None] + np.float32(self.centre)
        strip -= self.receiving[None, :]
        return strip


def residual(left: Left, both: Both, noise: Noise) -> Residual:
    """The rest after what is named, and after each node's own small excess."""
    nodes = left.known.sending.size
    sending, receiving = _own(left, both, nodes)
    start = Residual(left, sending, receiving, 0.0, 1.0)
    rows = np.arange(nodes)[sampled_rows(nodes)]
    sample = np.concatenate([start.rows(i, i + 1) for i in rows])
    finite = sample[np.isfinite(sample)]
    centre = float(np.median(finite)) if finite.size else 0.0
    sigma = max(FLOOR, scale(finite)) if nodes >= _MANY else noise.pair
    return Residual(left, sending, receiving, centre, sigma)


def _own(left: Left, both: Both, nodes: int) -> tuple[F32, F32]:
    """Small excesses: those of named ones are known already."""
    if nodes < _MANY:
        return np.zeros(nodes, dtype=np.float32), np.zeros(nodes, dtype=np.float32)
    parts = (
        (both.sending.excess, left.known.sending),
        (both.receiving.excess, left.known.receiving),
    )
    sending, receiving = (
        np.where(known > 0, 0.0, np.nan_to_num(excess)).astype(np.float32)
        for excess, known in parts
    )
    return sending, receiving


def find_singles(matrix: PairMatrix, rest: Residual, noise: Noise, limit: float) -> Singles:
    """All conspicuous pairs."""
    slow = rest.left.slow
    usual = Noise(rest.sigma, noise.single, noise.passes, noise.freedom)
    rows, columns, values, tests = _conspicuous(rest, limit)
    passes = _passes(matrix, rows, columns)
    number = np.isfinite(passes).sum(axis=0)
    error = usual.of_pair(number.astype(float))
    p = np.ones(values.size)
    for each in np.unique(number):
        here = number == each
        freedom = min(_TAILS * ((int(each) + 1) // 2), max(2, noise.freedom))
        p[here] = tail(values[here] / error[here], freedom)
    slow_in = _slow_in(passes, matrix, slow, rest, rows, columns, values)
    found = Singles(rows, columns, values, error, p, false_discovery(p, tests), number, slow_in)
    return found.only(np.lexsort((columns, rows, -values, p)))


def sure(singles: Singles, limit: float, rate: float) -> NDArray[np.bool_]:
    """Those that are named: significant, large enough, and slow whenever they were measured.

    One of many passes may disagree, none of a few.
    """
    needed = np.where(singles.passes <= _FEW_PASSES, singles.passes, 2 * singles.passes / 3)
    agreed = (singles.slow_in >= 2) & (singles.slow_in >= needed)
    named: NDArray[np.bool_] = (singles.q <= rate) & agreed & large_enough(singles, limit)
    return named


def large_enough(singles: Singles, limit: float) -> NDArray[np.bool_]:
    """Those whose effect may be that of a fault."""
    reaching = singles.level + REACH * singles.error >= limit
    large: NDArray[np.bool_] = reaching & (singles.level >= LEAST * limit)
    return large


def _conspicuous(
    rest: Residual, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], F64, int]:
    """Pairs that stand out of the noise and could be a fault; how many were looked at."""
    count, tests = rest.sending.size, 0
    least = max(_CONSPICUOUS * rest.sigma, LEAST * limit)
    rows, columns, values = [], [], []
    for first, last in spans(count):
        strip = rest.rows(first, last)
        if rest.left.slow.adds_up:
            strip[np.arange(first, last)[:, None] >= np.arange(count)[None, :]] = np.nan
        tests += int(np.isfinite(strip).sum())
        with np.errstate(invalid="ignore"):
            i, j = np.nonzero(strip > least)
        rows.append(i + first)
        columns.append(j)
        values.append(strip[i, j].astype(float))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values), tests


def _passes(matrix: PairMatrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> F64:
    if len(matrix.repeats) == 1:
        return matrix.values[rows, columns][None, :]
    return matrix.repeats[:, rows, columns]


def _slow_in(
    passes: F64,
    matrix: PairMatrix,
    slow: Slowness,
    rest: Residual,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: F64,
) -> NDArray[np.int64]:
    """In how many passes a pair was slow by half of what it is slow in all."""
    here = relative(passes, slow.typical, slow.quantity)
    usual = relative(matrix.values[rows, columns], slow.typical, slow.quantity) - values
    with np.errstate(invalid="ignore"):
        found: NDArray[np.int64] = (here - usual >= 0.5 * values).sum(axis=0)
    return found
