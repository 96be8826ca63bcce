"""Find nodes slow in some passes only, and nodes whose samples scatter; rank all nodes."""

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.groups import Grouping
from fabricgauge.judge.localise.naming import Naming
from fabricgauge.judge.localise.noise import LevelTests, Noise, scale, standing
from fabricgauge.judge.localise.slowness import (
    ALL,
    F32,
    F64,
    Places,
    Slowness,
    effect,
    levels,
    partners_met,
    spans,
)
from fabricgauge.model.pairs import NodeRank, PairMatrix, Suspect
from fabricgauge.model.words.figures import percent


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


def restless(jitters: F64) -> NDArray[np.int64]:
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
            sending=effect(sending[i], slow.quantity),
            receiving=effect(receiving[i], slow.quantity),
            jitter=float(noisy[i]),
            typical=float(typical[i]),
            worst_partner=matrix.nodes[partners[i]],
        )
        for i in np.lexsort((np.array(matrix.nodes), -worse))
        if partners[i] >= 0
    )


def _slowest_partners(slow: Slowness) -> NDArray[np.int64]:
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
