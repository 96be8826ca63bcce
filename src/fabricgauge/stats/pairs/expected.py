"""What a pair of healthy nodes is expected to have, by how far apart their groups are."""

import numpy as np
from numpy.typing import NDArray

from fabricgauge.stats.pairs.grouping import FAR, NEAR, WITHIN, Grouping
from fabricgauge.stats.pairs.slowness import Slowness
from fabricgauge.stats.pairs.strips import F64, spans

#: A block of so many pairs has a median of its own that one slow node does not move.
_OWN_LEVEL = 25


def subtract_expected(
    slow: Slowness, grouping: Grouping, table: F64, slow_groups: NDArray[np.bool_]
) -> F64:
    """Take each pair's expected slowness off ``slow.values``, in place; returns it by group.

    It is one figure for each distance (within a group, below one parent, beyond). Latencies have a
    figure for each block of groups that has enough pairs, for ways differ in length. Blocks
    where ``slow_groups`` (count, count) is true say nothing of what is expected.
    """
    healthy = np.where(slow_groups, np.nan, table)
    expected = _by_distance(healthy, grouping)
    if slow.adds_up:
        sizes = np.array([one.size for one in grouping.members])
        own = np.outer(sizes, sizes) >= _OWN_LEVEL
        own &= np.isfinite(healthy)
        own[-1, :] = own[:, -1] = False
        expected = np.where(own, healthy, expected)
    index = grouping.index
    exact = expected.astype(np.float32)
    if grouping.count > 1 or expected[0, 0] != 0.0:
        for first, last in spans(index.size):
            slow.values[first:last] -= exact[index[first:last]][:, index]
    return expected


def _by_distance(table: F64, grouping: Grouping) -> F64:
    """The median over the blocks of each distance, weighted by their pairs."""
    sizes = np.array([one.size for one in grouping.members], dtype=float)
    weights = np.outer(sizes, sizes)
    distances = grouping.distances
    expected = np.zeros_like(table)
    for distance in (WITHIN, NEAR, FAR):
        here = distances == distance
        known = here & np.isfinite(table) & (weights > 0)
        if known.any():
            expected[here] = _weighted_median(table[known], weights[known])
    return expected


def _weighted_median(values: F64, weights: F64) -> float:
    """The lower, faster one where two share the middle."""
    by_value = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[by_value])
    return float(values[by_value[int(np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12)))]])
