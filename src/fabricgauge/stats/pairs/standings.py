"""Every node's standing, the worst first."""

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import NodeRank, PairMatrix
from fabricgauge.stats.pairs.ends import Both
from fabricgauge.stats.pairs.grouping import Grouping
from fabricgauge.stats.pairs.slowness import Slowness, effect
from fabricgauge.stats.pairs.strips import F64, levels, spans


def ranking(
    matrix: PairMatrix, slow: Slowness, grouping: Grouping, both: Both, jitters: F64
) -> tuple[NodeRank, ...]:
    """Nodes that were measured, by the worse of their two directions."""
    typical = levels(
        lambda first, last: matrix.values[first:last].astype(np.float32), len(matrix.nodes), 0.5
    ).values
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
    count = len(slow.values)
    found = np.full(count, -1, dtype=np.int64)
    for first, last in spans(count):
        strip = slow.values[first:last]
        measured = np.isfinite(strip)
        worst = np.where(measured, strip, -np.inf).argmax(axis=1)
        found[first:last] = np.where(measured.any(axis=1), worst, -1)
    return found
