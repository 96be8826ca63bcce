"""Medians from group to group, and the order of nodes for a picture."""

import msgspec
import numpy as np

from fabricgauge.stats.pairs.grouping import Grouping
from fabricgauge.stats.pairs.noise import sampled_rows
from fabricgauge.stats.pairs.slowness import Slowness
from fabricgauge.stats.pairs.strips import F32, F64, quantiles

_FAST = 0.35
#: In a block of so many pairs one slow node does not move the median.
_SEVERAL = 25


class Blocks(msgspec.Struct, frozen=True, eq=False):
    """From each group to each, (G + 1, G + 1), last the loners; NaN where nothing was measured.

    ``fast`` is a little to the fast side of the median in small blocks, where half of the pairs may
    have a slow end.
    """

    middle: F64
    fast: F64


def blocks(values: F32, grouping: Grouping) -> Blocks:
    """Quantiles over the pairs from each group to each."""
    count, members = grouping.count, grouping.members
    table = np.full((2, count, count), np.nan)
    sizes = np.array([one.size for one in members])
    for group, rows in enumerate(members):
        if rows.size == 0:
            continue
        strip = values[rows]
        for size in np.unique(sizes[sizes > 0]):
            alike = np.flatnonzero(sizes == size)
            columns = np.stack([members[one] for one in alike])
            block = strip[:, columns].transpose(1, 0, 2).reshape(alike.size, -1)
            middle, fast = quantiles(block, (0.5, _FAST))[0]
            is_small = rows.size * size < _SEVERAL
            table[0, group, alike], table[1, group, alike] = middle, fast if is_small else middle
    return Blocks(table[0], table[1])


def beside_own_block(values: F32, grouping: Grouping, middle: F64) -> F32:
    """A sample of rows, each pair less the median of the pairs from its group to the other.

    A group that is slow with all others then adds nothing to the noise.
    """
    rows = sampled_rows(grouping.index.size)
    usual = np.nan_to_num(middle).astype(np.float32)
    within: F32 = values[rows] - usual[grouping.index[rows]][:, grouping.index]
    return within


def in_unit(slow: Slowness, table: F64) -> F64:
    """A table of slownesses in the matrix's own unit."""
    if slow.adds_up:
        return slow.typical * (1.0 + table)
    unit: F64 = slow.typical * np.exp(-table)
    return unit


def order(grouping: Grouping) -> tuple[int, ...]:
    """The nodes' indices, group by group, those on their own last."""
    return tuple(int(one) for group in grouping.members for one in group)
