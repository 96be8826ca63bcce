"""Slow pairs whose ends are both fast elsewhere: named, suspected, or a pattern."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise import limits
from fabricgauge.localise.ends import SlowEnds, Unexplained
from fabricgauge.localise.naming import AGAIN_MANY, AGAIN_PAIR, MANY, Naming
from fabricgauge.localise.noise import Excess, Noise, false_discovery, may_reach, scale, tail
from fabricgauge.localise.slowness import F32, F64, partners_met, relative, sampled_rows, spans
from fabricgauge.model.pairs import PairFinding, PairMatrix, Part, Suspect


class Residual(msgspec.Struct, frozen=True, eq=False):
    """The part of each pair's slowness that nothing named explains.

    ``sigma`` is its standard deviation.

    ``own`` (2, N) is each node's own small excess, sending and receiving.
    """

    left: Unexplained
    own: F32
    centre: float
    sigma: float

    def rows(self, first: int, last: int) -> F32:
        strip = self.left.pairs(slice(first, last))
        strip -= self.own[0, first:last, None] + np.float32(self.centre)
        strip -= self.own[1, None, :]
        return strip


def residual(ends: SlowEnds, noise: Noise) -> Residual:
    """The rest after what is named, and after each node's own small excess."""
    nodes = ends.left.slow.nodes
    start = Residual(ends.left, _own(ends), 0.0, 1.0)
    rows = np.arange(nodes)[sampled_rows(nodes)]
    sample = np.concatenate([start.rows(i, i + 1) for i in rows])
    finite = sample[np.isfinite(sample)]
    centre = float(np.median(finite)) if finite.size else 0.0
    sigma = max(limits.FLOOR, scale(finite)) if nodes >= limits.OWN_EXCESS_NODES else noise.pair
    return Residual(ends.left, start.own, centre, sigma)


def _own(ends: SlowEnds) -> F32:
    """Small excesses: those of named ones are known already."""
    known = ends.left.ends
    if known.shape[1] < limits.OWN_EXCESS_NODES:
        return np.zeros_like(known)
    return np.where(known > 0, 0.0, np.nan_to_num(ends.both.excess)).astype(np.float32)


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

    @property
    def agreed(self) -> NDArray[np.bool_]:
        """Slow whenever they were measured: one of many passes may disagree, none of a few."""
        needed = np.where(self.passes <= limits.FEW_PASSES, self.passes, 2 * self.passes / 3)
        agreed: NDArray[np.bool_] = (self.slow_in >= 2) & (self.slow_in >= needed)
        return agreed

    def only(self, chosen: NDArray[np.generic]) -> "Singles":
        fields = (getattr(self, name)[chosen] for name in self.__struct_fields__)
        return Singles(*fields)

    def surest(self, chosen: NDArray[np.bool_], most: int | None = None) -> list[int]:
        """Places of those ``chosen``, each pair once, by its surer direction."""
        places = np.flatnonzero(chosen)
        _, first = np.unique(self.pairs[places], return_index=True)
        return [int(one) for one in places[np.sort(first)][:most]]

    def others(self, told: Sequence[int]) -> NDArray[np.bool_]:
        """All but both directions of the pairs at these places."""
        others: NDArray[np.bool_] = ~np.isin(self.pairs, self.pairs[np.array(told, dtype=int)])
        return others


def find_singles(matrix: PairMatrix, rest: Residual, noise: Noise) -> Singles:
    """All pairs that stand out of the noise and could be a fault."""
    slow = rest.left.slow
    noise = Noise(rest.sigma, noise.single, noise.passes, noise.freedom)
    rows, columns, values, tests = _conspicuous(rest)
    passes = matrix.repeats[:, rows, columns]
    number = np.isfinite(passes).sum(axis=0)
    error = noise.of_pair(number.astype(float))
    p = np.ones(values.size)
    for each in np.unique(number):
        alike = number == each
        freedom = min(limits.TAILS * ((int(each) + 1) // 2), max(2, noise.freedom))
        p[alike] = tail(values[alike] / error[alike], freedom)
    # In how many passes a pair was slow by half of what it is slow in all.
    usual = relative(matrix.values[rows, columns], slow.typical, slow.quantity) - values
    with np.errstate(invalid="ignore"):
        here = relative(passes, slow.typical, slow.quantity) - usual >= limits.SHOWN * values
    slow_in: NDArray[np.int64] = here.sum(axis=0)
    found = Singles(rows, columns, values, error, p, false_discovery(p, tests), number, slow_in)
    return found.only(np.lexsort((columns, rows, -values, p)))


def _conspicuous(rest: Residual) -> tuple[NDArray[np.int64], NDArray[np.int64], F64, int]:
    """Rows, columns and levels of the pairs, and how many were looked at."""
    count, tests = rest.left.slow.nodes, 0
    least = max(limits.STANDS_OUT * rest.sigma, limits.LEAST * rest.left.slow.limit)
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


def told_ways(
    naming: Naming, singles: Singles, ends: SlowEnds
) -> tuple[list[PairFinding], list[Suspect], list[Suspect]]:
    """Pairs, or one direction of them, that are named, suspected, or only worth another look.

    Both of their ends are fast elsewhere. Pairs of doubtful nodes are left out. More slow pairs
    than single links explain become one suspect.
    """
    slow = ends.left.slow
    limit = slow.limit
    large = singles.level >= limits.LARGE * limit
    reaching = may_reach(singles.level, singles.error, limit)
    in_doubt = [end.index for end in ends.doubtful]
    told = ~np.isin(singles.rows, in_doubt) & ~np.isin(singles.columns, in_doubt)
    met = partners_met(slow.values)
    known = np.minimum(met[singles.rows], met[singles.columns]) >= 2
    scattered = told & (singles.q <= limits.RATE) & large
    count, suspects = np.unique(singles.pairs[scattered]).size, list[Suspect]()
    collided: list[int] = []
    if count > max(limits.FEW_PAIRS, slow.nodes // limits.NODES_PER_PAIR):
        suspects.append(_collisions(naming, singles.only(scattered), count))
        slowest = np.argsort(-singles.level, kind="stable")
        collided = [int(at) for at in slowest if scattered[at]][: limits.MOST_DOUBTFUL]
        told &= ~scattered
    named = told & known & (singles.q <= limits.RATE) & singles.agreed & reaching
    sure = singles.surest(named)
    findings = [_slow_way(naming, singles, at, _both(singles, at, named)) for at in sure]
    told &= singles.others(sure)
    unsure = singles.surest(told & (singles.q <= limits.LOOSE_RATE) & large, limits.MOST_UNSURE)
    told &= singles.others(unsure)
    for at in unsure:
        why = _why(singles, at) if known[at] else _NOBODY_ELSE
        suspects.append(_suspected(naming, singles, at, why))
    little = singles.surest(told & reaching, limits.MOST_DOUBTFUL)
    doubtful = [_suspected(naming, singles, at, _LITTLE) for at in little]
    return findings, suspects, [
        *(_suspected(naming, singles, at, MANY) for at in collided), *doubtful,
    ]  # fmt: skip


def _slow_way(naming: Naming, singles: Singles, at: int, both: bool) -> PairFinding:
    evidence = (
        f"slow in {singles.slow_in[at]} of {singles.passes[at]} passes",
        "both ends are as fast as others with their other partners",
    )
    part: Part = "pair" if both else naming.way
    shown = Excess(float(singles.level[at]), float(singles.error[at]))
    names, q = _ends(naming, singles, at), float(singles.q[at])
    return naming.finding(part, names, shown, 2 if both else 1, evidence, q)


def _suspected(
    naming: Naming, singles: Singles, at: int, reason: str, test: str = AGAIN_PAIR
) -> Suspect:
    level = float(singles.level[at])
    return naming.suspect(naming.way, _ends(naming, singles, at), level, reason, test)


def _collisions(naming: Naming, singles: Singles, count: int) -> Suspect:
    """Many slow pairs of one node, or with nothing in common: routes, or links inside."""
    ends = np.bincount(np.concatenate((singles.rows, singles.columns)))
    node = int(ends.argmax())
    if ends[node] >= limits.COMMON_NODE * singles.rows.size:
        reason = f"slow with {count} of its partners and as fast as others with the rest"
        test = "measure it again: a link that comes and goes changes, a route stays"
        level = float(np.median(singles.level))
        return naming.suspect("node", (naming.matrix.nodes[node],), level, reason, test)
    reason = (
        f"{count} pairs are slow and no node accounts for them: routing collisions, or links "
        "between leaves that only some routes take; shown is the slowest"
    )
    worst = _suspected(naming, singles, int(np.argmax(singles.level)), reason, AGAIN_MANY)
    return msgspec.structs.replace(worst, part="pair")


def _ends(naming: Naming, singles: Singles, at: int) -> tuple[str, str]:
    nodes = naming.matrix.nodes
    ends = nodes[int(singles.rows[at])], nodes[int(singles.columns[at])]
    return (min(ends), max(ends)) if naming.slow.adds_up else ends


def _both(singles: Singles, at: int, named: NDArray[np.bool_]) -> bool:
    """Whether the other direction of a pair is slow as well."""
    back = (singles.rows == singles.columns[at]) & (singles.columns == singles.rows[at])
    back &= named | (singles.p <= limits.BACK)
    return bool((singles.level[back] >= limits.SHOWN * singles.level[at]).any())


_LITTLE = "slower than most, which may be chance"
_NOBODY_ELSE = "one of its ends has no other measured partner, so that end may be slow"


def _why(singles: Singles, at: int) -> str:
    passes, slow = int(singles.passes[at]), int(singles.slow_in[at])
    if passes < 2:
        return "measured in one pass only"
    if slow < passes:
        return f"slow in {slow} of {passes} passes"
    if singles.q[at] > limits.RATE:
        return "noise alone may make one of all pairs look so"
    return "its effect may be below what counts as a fault"
