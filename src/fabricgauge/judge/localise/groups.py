"""Group the nodes, and find the figure of a healthy pair from group to group."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.noise import Excess, Noise
from fabricgauge.judge.localise.slowness import F32, F64, Slowness, quantiles, sampled_rows
from fabricgauge.model.fabric import Group, Topology

GroupedBy = Literal["topology", "data", "none"]

#: How far two nodes are from each other: in one group, below one parent, or neither.
WITHIN, NEAR, FAR = 0, 1, 2


class Grouping(msgspec.Struct, frozen=True, eq=False):
    """Groups of a matrix's nodes. ``index`` (N,) is each node's group.

    Nodes without a group have the index ``len(groups)``, as if they were one more group, whose
    nodes are far from each other.
    """

    groups: tuple[Group, ...]
    index: NDArray[np.int64]
    by: GroupedBy

    @property
    def count(self) -> int:
        """The side of a table from group to group, with a place for the nodes without a group."""
        return len(self.groups) + 1

    @property
    def members(self) -> list[NDArray[np.int64]]:
        """The nodes' indices, group by group, those without a group last."""
        by_group = np.argsort(self.index, kind="stable")
        ends = np.cumsum(np.bincount(self.index, minlength=self.count))[:-1]
        return np.split(by_group, ends)

    @property
    def distances(self) -> NDArray[np.int64]:
        """``WITHIN``, ``NEAR`` or ``FAR`` from each group to each, (count, count)."""
        number = {name: i for i, name in enumerate(dict.fromkeys(g.parent for g in self.groups))}
        parents = np.array([number[group.parent] for group in self.groups], dtype=np.int64)
        table = np.full((self.count, self.count), FAR)
        same = parents[:, None] == parents[None, :]
        table[:-1, :-1][same] = NEAR
        table[np.arange(self.count - 1), np.arange(self.count - 1)] = WITHIN
        return table


#: ``Topology.source`` of groups that the measurements themselves show.
FROM_DATA = "found from the data"


def grouping(nodes: Sequence[str], topology: Topology) -> Grouping:
    """Return the groups of ``topology`` that have measured nodes, cut down to these nodes."""
    index_of = {node: i for i, node in enumerate(nodes)}
    groups: list[Group] = []
    index = np.full(len(nodes), -1, dtype=np.int64)
    for group in topology.groups:
        members = [node for node in group.nodes if node in index_of and index[index_of[node]] < 0]
        if members:
            index[[index_of[node] for node in members]] = len(groups)
            groups.append(msgspec.structs.replace(group, nodes=tuple(members)))
    index[index < 0] = len(groups)
    by: GroupedBy = "data" if topology.source == FROM_DATA else "topology"
    return Grouping(tuple(groups), index, by if groups else "none")


def blocks(slow: Slowness, grouping: Grouping) -> tuple[F64, F64]:
    """Return medians and fast quantiles over the pairs from each group to each.

    Both (G + 1, G + 1), last the nodes without a group, NaN if nothing was measured.
    The second is a little to the fast side of
    the median in small blocks, in which half of the pairs may have a slow end.
    """
    count, members = grouping.count, grouping.members
    table = np.full((2, count, count), np.nan)
    sizes = np.array([group_nodes.size for group_nodes in members])
    for group, rows in enumerate(members):
        if rows.size == 0:
            continue
        strip = slow.block(rows)
        for size in np.unique(sizes[sizes > 0]):
            same_size = np.flatnonzero(sizes == size)
            columns = np.stack([members[group_nodes] for group_nodes in same_size])
            block = strip[:, columns].transpose(1, 0, 2).reshape(same_size.size, -1)
            middle, fast = quantiles(block, (0.5, limits.FAST_SHARE))[0]
            is_small = rows.size * size < limits.OWN_MEDIAN
            table[0, group, same_size], table[1, group, same_size] = (
                middle,
                fast if is_small else middle,
            )
    return table[0], table[1]


def beside_own_block(slow: Slowness, grouping: Grouping, middle: F64) -> F32:
    """Return a sample of rows, each pair less the median of the pairs from its group to the other.

    A group that is slow with all others then adds nothing to the noise.
    """
    rows = sampled_rows(grouping.index.size)
    usual = np.nan_to_num(middle).astype(np.float32)
    within: F32 = slow.block(rows) - usual[grouping.index[rows]][:, grouping.index]
    return within


def in_unit(slow: Slowness, table: F64) -> F64:
    """Return a table of slownesses in the matrix's own unit."""
    if slow.adds_up:
        return slow.typical * (1.0 + table)
    unit: F64 = slow.typical * np.exp(-table)
    return unit


def order(grouping: Grouping) -> tuple[int, ...]:
    """Return the nodes' indices, group by group, those without a group last."""
    return tuple(int(node) for group in grouping.members for node in group)


def expected_levels(
    slow: Slowness, grouping: Grouping, table: F64, slow_groups: NDArray[np.bool_]
) -> F64:
    """Return the slowness of healthy pairs from group to group, (count, count).

    It is one figure for each distance (within a group, below one parent, beyond). Latencies have a
    figure for each block of groups that has enough pairs, since paths differ in length. Blocks
    with a true ``slow_groups`` (count, count) are left out.
    """
    healthy = np.where(slow_groups, np.nan, table)
    expected = _by_distance(healthy, grouping)
    if slow.adds_up:
        sizes = np.array([group_nodes.size for group_nodes in grouping.members])
        large_blocks = np.outer(sizes, sizes) >= limits.OWN_MEDIAN
        large_blocks &= np.isfinite(healthy)
        large_blocks[-1, :] = large_blocks[:, -1] = False
        expected = np.where(large_blocks, healthy, expected)
    return expected


def _by_distance(table: F64, grouping: Grouping) -> F64:
    """Return the median over the blocks of each distance, weighted by their pairs."""
    sizes = np.array([group_nodes.size for group_nodes in grouping.members], dtype=float)
    weights = np.outer(sizes, sizes)
    distances = grouping.distances
    expected = np.zeros_like(table)
    for distance in (WITHIN, NEAR, FAR):
        at_distance = distances == distance
        measured = at_distance & np.isfinite(table) & (weights > 0)
        if measured.any():
            expected[at_distance] = _weighted_median(table[measured], weights[measured])
    return expected


def _weighted_median(values: F64, weights: F64) -> float:
    """Return the weighted median: the lower, faster one if two share the middle."""
    by_value = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[by_value])
    return float(values[by_value[int(np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12)))]])


def oversubscription(expected: F64, grouping: Grouping, noise: Noise) -> Excess | None:
    """Return how much slower all crossing is; None without groups or both kinds of pairs."""
    sizes = np.array([group_nodes.size for group_nodes in grouping.members])
    pairs = np.outer(sizes, sizes).astype(float)
    inside = (grouping.distances == WITHIN) & (pairs > 1) & np.isfinite(expected)
    outside = (grouping.distances != WITHIN) & (pairs > 0) & np.isfinite(expected)
    outside[-1, :] = outside[:, -1] = False
    if not inside.any() or not outside.any():
        return None
    level = float(np.median(expected[outside]) - np.median(expected[inside]))
    error = float(noise.pair * np.sqrt(1.0 / pairs[inside].sum() + 1.0 / pairs[outside].sum()))
    return Excess(level, error)
