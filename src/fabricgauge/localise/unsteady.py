"""Nodes slow in some passes only, nodes whose samples scatter, and every node's standing."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.ends import Both
from fabricgauge.localise.groups import Grouping
from fabricgauge.localise.limits import (
    FEW_FREEDOM,
    JITTER_DEVIATIONS,
    JITTER_MULTIPLE,
    LEAST_JITTER,
    MANY_PARTNERS,
    QUARTER,
    WHOLE_PASS,
)
from fabricgauge.localise.noise import Noise, false_discovery, scale, standing
from fabricgauge.localise.slowness import (
    ALL,
    F32,
    F64,
    Levels,
    Slowness,
    effect,
    levels,
    partners_met,
    spans,
)
from fabricgauge.model.pairs import NodeRank, PairMatrix


class Changing(msgspec.Struct, frozen=True):
    """A node that was slow in ``slow`` of ``passes`` passes; ``level`` is its worst excess."""

    index: int
    sending: bool
    slow: int
    passes: int
    level: float


def changing(
    matrix: PairMatrix, slow: Slowness, noise: Noise, limit: float, rate: float
) -> list[Changing]:
    """Nodes that one pass shows as slow and another does not."""
    layers = _whole(matrix)
    if len(layers) < 2:
        return []
    found = _side(matrix, slow, noise, layers, limit, rate, sending=True)
    if not slow.adds_up:
        found += _side(matrix, slow, noise, layers, limit, rate, sending=False)
    return found


def _whole(matrix: PairMatrix) -> list[int]:
    measured = partners_met(matrix.values).sum()
    return [
        i
        for i, layer in enumerate(matrix.repeats)
        if partners_met(layer).sum() >= WHOLE_PASS * measured
    ]


def _side(
    matrix: PairMatrix, slow: Slowness, noise: Noise, layers: list[int],
    limit: float, rate: float, *, sending: bool,
) -> list[Changing]:  # fmt: skip
    count = len(matrix.nodes)
    everyone = np.ones(count, dtype=bool)
    freedom = noise.freedom if count >= MANY_PARTNERS else min(FEW_FREEDOM, noise.freedom)
    excess = np.full((len(layers), count), np.nan)
    shown = np.zeros((len(layers), count), dtype=bool)
    for number, layer in enumerate(layers):
        found = _levels_in(msgspec.structs.replace(slow, values=matrix.repeats[layer]), sending)
        now = standing(found, noise.single, freedom, everyone, middle=False)
        excess[number] = now.excess
        shown[number] = (false_discovery(now.p, now.tests) <= rate) & (now.excess >= limit)
    times = shown.sum(axis=0)
    return [
        Changing(int(i), sending, int(times[i]), len(layers), float(np.nanmax(excess[:, i])))
        for i in np.flatnonzero((times > 0) & (times < len(layers)))
        if float(np.nanmin(excess[:, i])) < 0.5 * float(np.nanmax(excess[:, i]))
    ]


def _levels_in(slow: Slowness, sending: bool) -> Levels:
    """Each node's level in one pass, beyond what is expected of its pairs."""
    some, width = slow.partners, len(range(slow.nodes)[slow.partners])

    def strip(first: int, last: int) -> F32:
        rows = slice(first, last)
        if sending:
            return slow.block(rows, some)
        return np.ascontiguousarray(slow.block(some, rows).T)

    return levels(strip, slow.nodes, QUARTER, width)


def jitter(matrix: PairMatrix, some: slice = ALL) -> F64:
    """Each node's median over ``some`` partners of the pairs' relative spread; NaN without any."""
    count = len(matrix.nodes)

    def worse(first: int, last: int) -> F32:
        out, back = matrix.spread[first:last, some], matrix.spread[some, first:last].T
        both: F32 = np.fmax(out, back).astype(np.float32)
        return both

    return levels(worse, count, 0.5, len(range(count)[some])).values


def restless(jitters: F64) -> NDArray[np.int64]:
    """The nodes whose samples scatter far more than the others'."""
    finite = jitters[np.isfinite(jitters)]
    if finite.size < 3:
        return np.zeros(0, dtype=np.int64)
    usual, deviation = float(np.median(finite)), scale(finite)
    least = usual + max(LEAST_JITTER, JITTER_DEVIATIONS * deviation, (JITTER_MULTIPLE - 1) * usual)
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(jitters >= least)


def ranking(
    matrix: PairMatrix, slow: Slowness, grouping: Grouping, both: Both, jitters: F64
) -> tuple[NodeRank, ...]:
    """Nodes that were measured, by the worse of their two directions."""
    some, count = slow.partners, len(matrix.nodes)
    typical = levels(
        lambda first, last: matrix.values[first:last, some].astype(np.float32),
        count, 0.5, len(range(count)[some]),
    ).values  # fmt: skip
    names = [*(group.name for group in grouping.groups), ""]
    out, back = both.sending.excess, both.receiving.excess
    worse = np.nan_to_num(np.fmax(out, back), nan=-np.inf)
    sending, receiving, noisy = (np.nan_to_num(each) for each in (out, back, jitters))
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
    """The index of each node's slowest receiver, -1 where none was measured."""
    count = slow.nodes
    found = np.full(count, -1, dtype=np.int64)
    for first, last in spans(count):
        strip = slow.block(slice(first, last))
        np.copyto(strip, -np.inf, where=np.isnan(strip))
        worst = strip.argmax(axis=1)
        measured = strip[np.arange(last - first), worst] > -np.inf
        found[first:last] = np.where(measured, worst, -1)
    return found
