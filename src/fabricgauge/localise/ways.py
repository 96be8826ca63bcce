"""Slow pairs of which neither end is slow elsewhere: named, suspected, or a pattern."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.ends import Both, Left
from fabricgauge.localise.limits import (
    CONSPICUOUS,
    FEW_PAIRS,
    FEW_PASSES,
    FLOOR,
    LEAST,
    LOOSE_RATE,
    MOST_DOUBTFUL,
    MOST_LOOKED_UP,
    MOST_UNSURE,
    NODES_PER_PAIR,
    OWN_EXCESS_NODES,
    REACH,
    TAILS,
    Limits,
)
from fabricgauge.localise.noise import Noise, false_discovery, scale, tail
from fabricgauge.localise.slowness import (
    F32,
    F64,
    partners_met,
    relative,
    sampled_rows,
    spans,
)
from fabricgauge.model.pairs import PairMatrix


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

    @property
    def pairs(self) -> NDArray[np.int64]:
        """A number for each one's two nodes, whichever is which."""
        return (np.minimum(self.rows, self.columns) << 32) | np.maximum(self.rows, self.columns)

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
        strip = self.left.pairs(slice(first, last))
        strip -= self.sending[first:last, None] + np.float32(self.centre)
        strip -= self.receiving[None, :]
        return strip


def residual(left: Left, both: Both, noise: Noise) -> Residual:
    """The rest after what is named, and after each node's own small excess."""
    nodes = left.slow.nodes
    sending, receiving = _own(left, both, nodes)
    start = Residual(left, sending, receiving, 0.0, 1.0)
    rows = np.arange(nodes)[sampled_rows(nodes)]
    sample = np.concatenate([start.rows(i, i + 1) for i in rows])
    finite = sample[np.isfinite(sample)]
    centre = float(np.median(finite)) if finite.size else 0.0
    sigma = max(FLOOR, scale(finite)) if nodes >= OWN_EXCESS_NODES else noise.pair
    return Residual(left, sending, receiving, centre, sigma)


def _own(left: Left, both: Both, nodes: int) -> tuple[F32, F32]:
    """Small excesses: those of named ones are known already."""
    if nodes < OWN_EXCESS_NODES:
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
    noise = Noise(rest.sigma, noise.single, noise.passes, noise.freedom)
    rows, columns, values, tests = _conspicuous(rest, limit)
    passes = matrix.repeats[:, rows, columns]
    number = np.isfinite(passes).sum(axis=0)
    error = noise.of_pair(number.astype(float))
    p = np.ones(values.size)
    for each in np.unique(number):
        alike = number == each
        freedom = min(TAILS * ((int(each) + 1) // 2), max(2, noise.freedom))
        p[alike] = tail(values[alike] / error[alike], freedom)
    # In how many passes a pair was slow by half of what it is slow in all.
    usual = relative(matrix.values[rows, columns], slow.typical, slow.quantity) - values
    with np.errstate(invalid="ignore"):
        here = relative(passes, slow.typical, slow.quantity) - usual >= 0.5 * values
    slow_in: NDArray[np.int64] = here.sum(axis=0)
    found = Singles(rows, columns, values, error, p, false_discovery(p, tests), number, slow_in)
    return found.only(np.lexsort((columns, rows, -values, p)))


def sure(singles: Singles, limit: float, rate: float) -> NDArray[np.bool_]:
    """Those that are named: significant, large enough, and slow whenever they were measured.

    One of many passes may disagree, none of a few.
    """
    needed = np.where(singles.passes <= FEW_PASSES, singles.passes, 2 * singles.passes / 3)
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
    least = max(CONSPICUOUS * rest.sigma, LEAST * limit)
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


_NOBODY_ELSE = "an end of it was measured with nobody else, so it may be that end"


class Remaining(msgspec.Struct, frozen=True, eq=False):
    """Slow pairs by what is made of them; ``sigma`` is the noise of a pair.

    ``together`` are the first direction and whether the other one is slow too; ``scattered`` are
    too many to be single links; ``doubtful`` are too little conspicuous to be told.
    """

    singles: Singles
    sigma: float
    together: tuple[tuple[int, bool], ...]
    scattered: Singles
    scattered_pairs: int
    unsure: tuple[tuple[int, str], ...]
    doubtful: tuple[int, ...]


def remaining(
    singles: Singles, rest: Residual, doubtful: Sequence[int], limits: Limits
) -> Remaining:
    """Sort the conspicuous pairs out; those of ``doubtful`` nodes are not told one by one."""
    left = rest.left
    limit = limits.slowness(left.slow.quantity)
    large = singles.level >= 0.9 * limit
    clear = (singles.q <= limits.rate) & large
    elsewhere = np.isin(singles.rows, doubtful) | np.isin(singles.columns, doubtful)
    named = sure(singles, limit, limits.rate) & ~elsewhere
    named &= _otherwise_known(singles, left)
    scattered = clear & ~elsewhere
    count = np.unique(singles.pairs[scattered]).size
    if count <= max(FEW_PAIRS, left.slow.nodes // NODES_PER_PAIR):
        count, scattered = 0, np.zeros_like(scattered)
    together = _directions(singles, named & ~scattered, singles.p <= 1e-3)
    loose = (singles.q <= LOOSE_RATE) & large & ~scattered & ~elsewhere
    loose &= _not_of(singles, together)
    unsure = tuple(_unsure(singles, loose, left, limits))
    little = large_enough(singles, limit) & ~scattered & ~elsewhere
    little &= _not_of(singles, (*together, *unsure))
    return Remaining(
        singles, rest.sigma, together, singles.only(scattered), count, unsure,
        _surest(singles, little, MOST_DOUBTFUL),
    )  # fmt: skip


def _unsure(
    singles: Singles, loose: NDArray[np.bool_], left: Left, limits: Limits
) -> list[tuple[int, str]]:
    """Each pair once, by its surer direction, with the reason why it is not named."""
    known = _otherwise_known(singles, left)
    return [
        (at, _why(singles, at, limits) if known[at] else _NOBODY_ELSE)
        for at in _surest(singles, loose, MOST_UNSURE)
    ]


def _surest(
    singles: Singles, chosen: NDArray[np.bool_], most: int | None = None
) -> tuple[int, ...]:
    """Each pair once, by its surer direction; the surest of them."""
    places = np.flatnonzero(chosen)
    _, first = np.unique(singles.pairs[places], return_index=True)
    return tuple(map(int, places[np.sort(first)][:most]))


def _otherwise_known(singles: Singles, left: Left) -> NDArray[np.bool_]:
    """Whether both ends of a pair were measured with somebody else as well."""
    measured = partners_met(left.slow.values)
    partners = [
        measured[nodes]
        for nodes in (singles.rows[:MOST_LOOKED_UP], singles.columns[:MOST_LOOKED_UP])
    ]
    known = np.zeros(singles.rows.size, dtype=bool)
    known[:MOST_LOOKED_UP] = np.minimum(*partners) >= 2
    return known


def _directions(
    singles: Singles, named: NDArray[np.bool_], also: NDArray[np.bool_]
) -> tuple[tuple[int, bool], ...]:
    """One entry for each pair: its surer direction, and whether the other one is slow as well."""
    found = []
    for i in _surest(singles, named):
        back = (also | named) & (singles.pairs == singles.pairs[i])
        back &= singles.rows == singles.columns[i]
        found.append((i, bool((singles.level[back] >= 0.5 * singles.level[i]).any())))
    return tuple(found)


def _not_of(singles: Singles, told: Sequence[tuple[int, object]]) -> NDArray[np.bool_]:
    """All but both directions of the pairs that are told of already."""
    places = np.array([at for at, _ in told], dtype=np.int64)
    others: NDArray[np.bool_] = ~np.isin(singles.pairs, singles.pairs[places])
    return others


def _why(singles: Singles, at: int, limits: Limits) -> str:
    passes, slow = int(singles.passes[at]), int(singles.slow_in[at])
    if passes < 2:
        return "measured in one pass only"
    if slow < passes:
        return f"slow in {slow} of {passes} passes"
    if singles.q[at] > limits.rate:
        return "noise alone could make one pair of so many look like this"
    return "its effect may be below what counts as a fault"
