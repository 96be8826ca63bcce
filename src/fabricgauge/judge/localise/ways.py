"""Name or suspect what slow ends do not explain: slow pairs, nodes that change or scatter.

Both ends of such a pair are fast with other partners. All nodes are ranked as well.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.ends import SlowEnds, Unexplained
from fabricgauge.judge.localise.groups import Grouping
from fabricgauge.judge.localise.naming import AGAIN_MANY, AGAIN_PAIR, MANY, Naming
from fabricgauge.judge.localise.slowness import (
    ALL,
    F32,
    F64,
    I64,
    Excess,
    Flags,
    LevelTests,
    Noise,
    Places,
    Slowness,
    false_discovery,
    levels,
    may_reach,
    partners_met,
    sampled_rows,
    scale,
    spans,
    standing,
    tail,
)
from fabricgauge.model.pairs import NodeRank, PairFinding, PairMatrix, Part, Suspect
from fabricgauge.model.words.figures import percent


class Residual(msgspec.Struct, frozen=True, eq=False):
    """The part of each pair's slowness that nothing named explains, with its deviation ``sigma``.

    ``excess`` (2, N) is each node's own small excess, sending and receiving.
    """

    unexplained: Unexplained
    excess: F32
    centre: float
    sigma: float

    def rows(self, first: int, last: int) -> F32:
        strip = self.unexplained.pairs(slice(first, last))
        strip -= self.excess[0, first:last, None] + np.float32(self.centre)
        strip -= self.excess[1, None, :]
        return strip


def residual(ends: SlowEnds, noise: Noise) -> Residual:
    """Subtract the named parts, and each node's own small excess."""
    nodes = ends.unexplained.slow.nodes
    start = Residual(ends.unexplained, _small_excesses(ends), 0.0, 1.0)
    rows = np.arange(nodes)[sampled_rows(nodes)]
    sample = np.concatenate([start.rows(i, i + 1) for i in rows])
    finite = sample[np.isfinite(sample)]
    centre = float(np.median(finite)) if finite.size else 0.0
    sigma = max(limits.FLOOR, scale(finite)) if nodes >= limits.OWN_EXCESS_NODES else noise.pair
    return Residual(ends.unexplained, start.excess, centre, sigma)


def _small_excesses(ends: SlowEnds) -> F32:
    """Return each node's small excess; 0 for named ends, whose slowness is subtracted already."""
    named = ends.unexplained.ends
    if named.shape[1] < limits.OWN_EXCESS_NODES:
        return np.zeros_like(named)
    return np.where(named > 0, 0.0, np.nan_to_num(ends.level_tests.excess)).astype(np.float32)


class Singles(msgspec.Struct, frozen=True, eq=False):
    """Conspicuous directed pairs by parallel arrays, the surest first.

    ``passes`` is how often each was measured, ``slow_in`` in how many passes it was slow.
    ``q`` is the false-discovery rate over all pairs. A pair's latency stands once.
    """

    rows: I64
    columns: I64
    level: F64
    error: F64
    p: F64
    q: F64
    passes: I64
    slow_in: I64

    @property
    def pairs(self) -> I64:
        """Return a number for each pair's two nodes, the same in both directions."""
        return (np.minimum(self.rows, self.columns) << 32) | np.maximum(self.rows, self.columns)

    @property
    def agreed(self) -> Flags:
        """True if a pair was slow in every one of a few passes, or in two thirds of many."""
        needed = np.where(self.passes <= limits.FEW_PASSES, self.passes, 2 * self.passes / 3)
        agreed: Flags = (self.slow_in >= 2) & (self.slow_in >= needed)
        return agreed

    def only(self, chosen: Flags | I64) -> "Singles":
        fields = (getattr(self, name)[chosen] for name in self.__struct_fields__)
        return Singles(*fields)

    def surest(self, chosen: Flags, most: int | None = None) -> list[int]:
        """Return places of the ``chosen``, each pair once, by its surer direction."""
        places = np.flatnonzero(chosen)
        _, first = np.unique(self.pairs[places], return_index=True)
        return [int(place) for place in places[np.sort(first)][:most]]

    def without_pairs(self, places: Sequence[int]) -> Flags:
        """Return all but both directions of the pairs at these places."""
        pairs = self.pairs[np.array(places, dtype=int)]
        remaining: Flags = ~np.isin(self.pairs, pairs)
        return remaining


def find_singles(matrix: PairMatrix, rest: Residual, noise: Noise) -> Singles:
    """Return all pairs that stand out of the noise and could be a fault."""
    slow = rest.unexplained.slow
    noise = Noise(rest.sigma, noise.single, noise.passes, noise.freedom)
    rows, columns, values, tests = _conspicuous(rest)
    passes = matrix.repeats[:, rows, columns]
    number = np.isfinite(passes).sum(axis=0)
    error = noise.find_pair_noise(number.astype(float))
    p = np.ones(values.size)
    for passes_of_pair in np.unique(number):
        same = number == passes_of_pair
        freedom = min(limits.TAILS * ((int(passes_of_pair) + 1) // 2), max(2, noise.freedom))
        p[same] = tail(values[same] / error[same], freedom)
    # In how many passes a pair was slow by half of what it is slow in all.
    usual = slow.relative(matrix.values[rows, columns]) - values
    with np.errstate(invalid="ignore"):
        slow_passes = slow.relative(passes) - usual >= limits.SHOWN * values
    slow_in: I64 = slow_passes.sum(axis=0)
    singles = Singles(rows, columns, values, error, p, false_discovery(p, tests), number, slow_in)
    return singles.only(np.lexsort((columns, rows, -values, p)))


def _conspicuous(rest: Residual) -> tuple[I64, I64, F64, int]:
    """Return rows, columns and levels of the pairs, and how many were tested."""
    count, tests = rest.unexplained.slow.nodes, 0
    least = max(limits.STANDS_OUT * rest.sigma, limits.LEAST * rest.unexplained.slow.limit)
    rows, columns, values = [], [], []
    for first, last in spans(count):
        strip = rest.rows(first, last)
        if rest.unexplained.slow.adds_up:
            strip[np.arange(first, last)[:, None] >= np.arange(count)[None, :]] = np.nan
        tests += int(np.isfinite(strip).sum())
        with np.errstate(invalid="ignore"):
            i, j = np.nonzero(strip > least)
        rows.append(i + first)
        columns.append(j)
        values.append(strip[i, j].astype(float))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values), tests


def classify_pairs(
    naming: Naming, singles: Singles, ends: SlowEnds
) -> tuple[list[PairFinding], list[Suspect], list[Suspect]]:
    """Return pairs, or one direction of them, as faults, suspects, and candidates for a recheck.

    Both of their ends are fast with other partners. Pairs of doubtful nodes are left out. If more
    pairs are slow than single links explain, they become one suspect.
    """
    slow = ends.unexplained.slow
    limit = slow.limit
    large = singles.level >= limits.LARGE * limit
    reaching = may_reach(singles.level, singles.error, limit)
    in_doubt = [end.index for end in ends.doubtful]
    eligible = ~np.isin(singles.rows, in_doubt) & ~np.isin(singles.columns, in_doubt)
    partners = partners_met(slow.values)
    comparable = np.minimum(partners[singles.rows], partners[singles.columns]) >= 2
    scattered = eligible & (singles.q <= limits.RATE) & large
    count, suspects = np.unique(singles.pairs[scattered]).size, list[Suspect]()
    collided: list[int] = []
    if count > max(limits.FEW_PAIRS, slow.nodes // limits.NODES_PER_PAIR):
        suspects.append(_suspect_collisions(naming, singles.only(scattered), count))
        slowest = np.argsort(-singles.level, kind="stable")
        collided = [int(place) for place in slowest if scattered[place]][: limits.MOST_DOUBTFUL]
        eligible &= ~scattered
    named = eligible & comparable & (singles.q <= limits.RATE) & singles.agreed & reaching
    named_places = singles.surest(named)
    findings = [
        _pair_finding(naming, singles, place, _is_slow_back(singles, place, named))
        for place in named_places
    ]
    eligible &= singles.without_pairs(named_places)
    unsure_places = singles.surest(
        eligible & (singles.q <= limits.LOOSE_RATE) & large, limits.MOST_UNSURE
    )
    eligible &= singles.without_pairs(unsure_places)
    for place in unsure_places:
        reason = _unnamed_reason(singles, place) if comparable[place] else _NO_OTHER_PARTNER
        suspects.append(_suspect_pair(naming, singles, place, reason))
    below_threshold = singles.surest(eligible & reaching, limits.MOST_DOUBTFUL)
    doubtful = [
        _suspect_pair(naming, singles, place, _BELOW_THRESHOLD) for place in below_threshold
    ]
    return findings, suspects, [
        *(_suspect_pair(naming, singles, place, MANY) for place in collided), *doubtful,
    ]  # fmt: skip


def _pair_finding(naming: Naming, singles: Singles, place: int, both: bool) -> PairFinding:
    evidence = (
        f"slow in {singles.slow_in[place]} of {singles.passes[place]} passes",
        "both ends are as fast as others with their other partners",
    )
    part: Part = "pair" if both else naming.pair_part
    excess = Excess(float(singles.level[place]), float(singles.error[place]))
    names, q = _ends(naming, singles, place), float(singles.q[place])
    return naming.finding(part, names, excess, 2 if both else 1, evidence, q)


def _suspect_pair(
    naming: Naming, singles: Singles, place: int, reason: str, test: str = AGAIN_PAIR
) -> Suspect:
    level = float(singles.level[place])
    return naming.suspect(naming.pair_part, _ends(naming, singles, place), level, reason, test)


def _suspect_collisions(naming: Naming, singles: Singles, count: int) -> Suspect:
    """Return one suspect for many slow pairs: their common node, or the slowest pair."""
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
    worst = _suspect_pair(naming, singles, int(np.argmax(singles.level)), reason, AGAIN_MANY)
    return msgspec.structs.replace(worst, part="pair")


def _ends(naming: Naming, singles: Singles, place: int) -> tuple[str, str]:
    nodes = naming.matrix.nodes
    ends = nodes[int(singles.rows[place])], nodes[int(singles.columns[place])]
    return (min(ends), max(ends)) if naming.slow.adds_up else ends


def _is_slow_back(singles: Singles, place: int, named: Flags) -> bool:
    """Check whether the other direction of a pair is slow as well."""
    back = (singles.rows == singles.columns[place]) & (singles.columns == singles.rows[place])
    back &= named | (singles.p <= limits.BACK)
    return bool((singles.level[back] >= limits.SHOWN * singles.level[place]).any())


_BELOW_THRESHOLD = "slower than most, which may be chance"
_NO_OTHER_PARTNER = "one of its ends has no other measured partner, so that end may be slow"


def _unnamed_reason(singles: Singles, place: int) -> str:
    passes, slow = int(singles.passes[place]), int(singles.slow_in[place])
    if passes < 2:
        return "measured in one pass only"
    if slow < passes:
        return f"slow in {slow} of {passes} passes"
    if singles.q[place] > limits.RATE:
        return "noise alone may make one of all pairs look so"
    return "its effect may be below what counts as a fault"


def changing(naming: Naming, noise: Noise) -> Iterator[Suspect]:
    """Yield nodes that one pass shows as slow and another does not."""
    matrix, slow = naming.matrix, naming.slow
    measured = partners_met(matrix.values).sum()
    passes = [
        layer
        for layer in matrix.repeats
        if partners_met(layer).sum() >= limits.WHOLE_PASS * measured
    ]
    if len(passes) < 2:
        return
    tests = [_test_pass(msgspec.structs.replace(slow, values=layer), noise) for layer in passes]
    excess = np.stack([level_test.excess for level_test in tests])
    slow_levels = [
        (level_test.q <= limits.RATE) & (level_test.excess >= slow.limit) for level_test in tests
    ]
    shown = np.sum(slow_levels, axis=0)
    least, most = np.fmin.reduce(excess), np.fmax.reduce(excess)
    comes = (shown > 0) & (shown < len(passes)) & (least < limits.SHOWN * most)
    test = "look at its link's error and state counters, and measure it again for longer"
    for direction, i in np.argwhere(comes):
        reason = f"slow in {shown[direction, i]} of {len(passes)} passes only: it changes with time"
        name, level = (matrix.nodes[i],), float(most[direction, i])
        yield naming.suspect(slow.endings[direction], name, level, reason, test)


def _test_pass(slow: Slowness, noise: Noise) -> LevelTests:
    """Test each node's level in one pass, beyond the expected one of its pairs."""
    count = slow.nodes
    freedom = (
        noise.freedom if count >= limits.MANY_PARTNERS else min(limits.FEW_FREEDOM, noise.freedom)
    )
    directions = [levels(block, count, limits.QUARTER, slow.partners) for block in slow.sides]
    return standing(directions, noise.single, freedom, np.ones(count, dtype=bool))


def jitter(matrix: PairMatrix, sample: slice = ALL) -> F64:
    """Return each node's median relative spread over ``sample`` partners; NaN without any."""

    def worse(rows: Places, columns: Places) -> F32:
        out, back = matrix.spread[rows, columns], matrix.spread[columns, rows].T
        spread: F32 = np.fmax(out, back).astype(np.float32)
        return spread

    return levels(worse, len(matrix.nodes), 0.5, sample).values.astype(float)


def restless(jitters: F64) -> I64:
    """Return the nodes whose samples scatter far more than the others'."""
    finite = jitters[np.isfinite(jitters)]
    if finite.size < 3:
        return np.zeros(0, dtype=np.int64)
    usual, deviation = float(np.median(finite)), scale(finite)
    least = usual + max(
        limits.LEAST_JITTER,
        limits.JITTER_DEVIATIONS * deviation,
        (limits.JITTER_MULTIPLE - 1) * usual,
    )
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(jitters >= least)


def scattering(naming: Naming, jitters: F64) -> Iterator[Suspect]:
    """Yield these nodes as suspects: their samples scatter, while their level may be usual."""
    test = "look for other work on the node and for its link's error counters"
    for i in restless(jitters):
        usual = float(np.nanmedian(jitters))
        times = float(jitters[i]) / usual if usual else 0.0
        much = f"{times:.1f} times as far as the usual node's" if times else "and others' do not"
        reason = f"its samples scatter by {percent(float(jitters[i]))} of the median, {much}"
        yield naming.suspect("node", (naming.matrix.nodes[i],), 0.0, reason, test)


def ranking(
    matrix: PairMatrix, slow: Slowness, grouping: Grouping, level_tests: LevelTests, jitters: F64
) -> tuple[NodeRank, ...]:
    """Rank the measured nodes by the worse of their two directions."""
    typical = levels(
        lambda rows, sample: matrix.values[rows, sample].astype(np.float32),
        len(matrix.nodes), 0.5, slow.partners,
    ).values  # fmt: skip
    names = [*(group.name for group in grouping.groups), ""]
    out, back = level_tests.excess[0], level_tests.excess[-1]
    worse = np.nan_to_num(np.fmax(out, back), nan=-np.inf)
    sending, receiving, noisy = (np.nan_to_num(figures) for figures in (out, back, jitters))
    partners = _slowest_partners(slow)
    return tuple(
        NodeRank(
            node=matrix.nodes[i],
            group=names[grouping.index[i]],
            sending=slow.effect(sending[i]),
            receiving=slow.effect(receiving[i]),
            jitter=float(noisy[i]),
            typical=float(typical[i]),
            worst_partner=matrix.nodes[partners[i]],
        )
        for i in np.lexsort((np.array(matrix.nodes), -worse))
        if partners[i] >= 0
    )


def _slowest_partners(slow: Slowness) -> I64:
    """Return the index of each node's slowest receiver, -1 if none was measured."""
    count = slow.nodes
    partners = np.full(count, -1, dtype=np.int64)
    for first, last in spans(count):
        strip = slow.block(slice(first, last))
        np.copyto(strip, -np.inf, where=np.isnan(strip))
        worst = strip.argmax(axis=1)
        measured = strip[np.arange(last - first), worst] > -np.inf
        partners[first:last] = np.where(measured, worst, -1)
    return partners
