"""Group the nodes, by a topology or by the data, and find healthy pairs' figures between groups.

Nodes that are close to each other in a matrix with distinct levels are a group.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.slowness import (
    ALL,
    F32,
    F64,
    I64,
    Excess,
    Flags,
    Noise,
    Slowness,
    levels,
    noise,
    quantiles,
    sampled_rows,
    slowness,
    spans,
)
from fabricgauge.model.fabric import Group, Topology
from fabricgauge.model.pairs import PairMatrix, Spectrum

GroupedBy = Literal["topology", "data", "none"]

#: How far two nodes are from each other: in one group, below one parent, or neither.
WITHIN, NEAR, FAR = 0, 1, 2


class Grouping(msgspec.Struct, frozen=True, eq=False):
    """Groups of a matrix's nodes. ``index`` (N,) is each node's group.

    Nodes without a group have the index ``len(groups)``, as if they were one more group, whose
    nodes are far from each other.
    """

    groups: tuple[Group, ...]
    index: I64
    by: GroupedBy

    @property
    def count(self) -> int:
        """The side of a table from group to group, with a place for the nodes without a group."""
        return len(self.groups) + 1

    @property
    def order(self) -> I64:
        """The nodes' indices, group by group, those without a group last."""
        return np.argsort(self.index, kind="stable")

    @property
    def sizes(self) -> I64:
        """The number of nodes in each group, those without a group last."""
        return np.bincount(self.index, minlength=self.count)

    @property
    def members(self) -> list[I64]:
        """The nodes' indices of each group, those without a group last."""
        return np.split(self.order, np.cumsum(self.sizes)[:-1])

    @property
    def distances(self) -> I64:
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
    count, members, sizes = grouping.count, grouping.members, grouping.sizes
    table = np.full((2, count, count), np.nan)
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
            table[:, group, same_size] = middle, fast if is_small else middle
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
    return slow.typical * (1.0 + table if slow.adds_up else np.exp(-table))


def expected_levels(slow: Slowness, grouping: Grouping, table: F64, slow_groups: Flags) -> F64:
    """Return the slowness of healthy pairs from group to group, (count, count).

    It is one figure for each distance (within a group, below one parent, beyond). Latencies have a
    figure for each block of groups that has enough pairs, since paths differ in length. Blocks
    with a true ``slow_groups`` (count, count) are left out.
    """
    healthy = np.where(slow_groups, np.nan, table)
    expected = _by_distance(healthy, grouping)
    if slow.adds_up:
        large_blocks = np.outer(grouping.sizes, grouping.sizes) >= limits.OWN_MEDIAN
        large_blocks &= np.isfinite(healthy)
        large_blocks[-1, :] = large_blocks[:, -1] = False
        expected = np.where(large_blocks, healthy, expected)
    return expected


def _by_distance(table: F64, grouping: Grouping) -> F64:
    """Return the median over the blocks of each distance, weighted by their pairs."""
    weights = np.outer(grouping.sizes, grouping.sizes).astype(float)
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
    pairs = np.outer(grouping.sizes, grouping.sizes).astype(float)
    inside = (grouping.distances == WITHIN) & (pairs > 1) & np.isfinite(expected)
    outside = (grouping.distances != WITHIN) & (pairs > 0) & np.isfinite(expected)
    outside[-1, :] = outside[:, -1] = False
    if not inside.any() or not outside.any():
        return None
    level = float(np.median(expected[outside]) - np.median(expected[inside]))
    error = float(noise.pair * np.sqrt(1.0 / pairs[inside].sum() + 1.0 / pairs[outside].sum()))
    return Excess(level, error)


def spectrum(values: F64, noise: float, *, twice: bool) -> Spectrum:
    """Return the histogram of the measured pairs; ``twice`` if each stands in the matrix twice.

    Bins are equally wide in the logarithm if the slowest is more than four times the least.
    ``noise`` is the relative standard deviation within a level.
    """
    low, high = _range(values)
    if high - low <= limits.EQUAL * high:
        number = int(np.isfinite(values).sum())
        return Spectrum((low, high), (number,), (low,)) if low > 0 else Spectrum((), (), ())
    wide = high > 4 * low
    edges = (np.geomspace if wide else np.linspace)(low, high, limits.BINS + 1)
    reach = (np.log(low), np.log(high)) if wide else (low, high)
    counts = np.zeros(limits.BINS, dtype=np.int64)
    for first, last in spans(len(values)):
        strip = values[first:last]
        finite = np.clip(strip[np.isfinite(strip)], low, high)
        # Bins of equal width are counted by arithmetic, others by searching.
        counts += np.histogram(np.log(finite) if wide else finite, limits.BINS, reach)[0]
    _, tops = _tops(counts, edges, noise)
    peaks = tuple(0.5 * float(edges[top] + edges[top + 1]) for top in tops)
    if twice:
        counts //= 2
    return Spectrum(tuple(edges.tolist()), tuple(counts.tolist()), peaks)


def valley(values: F32, noise: float) -> float | None:
    """Return the slowness between the lowest level and the next; None with one level."""
    rows = values[:: max(1, len(values) // 1024)]
    finite = rows[np.isfinite(rows)]
    if finite.size < 8 or finite.max() - finite.min() <= limits.EQUAL:
        return None
    edges = np.linspace(finite.min(), finite.max() + 1e-6, 4 * limits.BINS + 1)
    counts = np.histogram(finite, edges)[0]
    smooth, tops = _tops(counts, edges, noise)
    if len(tops) < 2:
        return None
    between = smooth[tops[0] : tops[1] + 1]
    lowest = np.flatnonzero(between <= between.min() * (1 + 1e-9))
    return float(edges[tops[0] + int(lowest.mean())] + 0.5 * (edges[1] - edges[0]))


def _range(values: F64) -> tuple[float, float]:
    lows, highs = [], []
    for first, last in spans(len(values)):
        strip = values[first:last]
        finite = strip[np.isfinite(strip) & (strip > 0)]
        if finite.size:
            lows.append(float(finite.min()))
            highs.append(float(finite.max()))
    return (min(lows), max(highs)) if lows else (0.0, 0.0)


def _tops(counts: I64, edges: F64, noise: float) -> tuple[F64, list[int]]:
    """Return the bins with the highest smoothed counts, one for each level, ascending."""
    # Bins that one unit of relative noise is wide, in the middle of the range.
    middle = edges.size // 2
    wide = (edges[middle] if edges[0] > 0 else 1.0) / (edges[middle + 1] - edges[middle])
    width = max(1.0, limits.KERNEL_WIDTH * noise * float(wide))
    reach = int(np.ceil(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smooth = counts.astype(float)
    if kernel.size <= counts.size:
        smooth = np.convolve(smooth, kernel / kernel.sum(), mode="same")
    tops: list[int] = []
    rises = smooth > np.concatenate(([-1.0], smooth[:-1]))
    falls = smooth >= np.concatenate((smooth[1:], [-1.0]))
    for i in map(int, np.flatnonzero(rises & falls & (smooth > 0))):
        last = tops[-1] if tops else i
        dip = limits.LEVEL_DIP * min(smooth[last], smooth[i])
        if not tops or smooth[last : i + 1].min() <= dip:
            tops.append(i)
        elif smooth[i] > smooth[last]:
            tops[-1] = i
    return smooth, _heavy(tops, smooth, counts)


def _heavy(tops: list[int], smooth: F64, counts: I64) -> list[int]:
    """Return the tops whose level, from valley to valley, holds enough pairs."""
    cuts = [0, *(a + int(smooth[a : b + 1].argmin()) for a, b in pairwise(tops))]
    shares = np.add.reduceat(counts, cuts) / max(1, counts.sum())
    return [top for top, share in zip(tops, shares, strict=True) if share >= limits.LEVEL_SHARE]


def found_topology(matrix: PairMatrix) -> Topology:
    """Return blocks of nodes at the lowest of several distinct levels; empty without any.

    The switch of the Omni-Path evaluation shows as 12 blocks of 4 ports in this way. Each
    node's own delay is taken off first. If blocks have blocks, the innermost are found.
    """
    if len(matrix.nodes) < limits.GROUPED_NODES or matrix.coverage < limits.GROUPED_COVERAGE:
        return Topology()
    slow = slowness(matrix)
    values = _without_own(slow)
    cut = valley(values, noise(matrix, slow, values[sampled_rows(slow.nodes)]).pair)
    if cut is None:
        return Topology()
    with np.errstate(invalid="ignore"):
        near: Flags = values < cut
    np.fill_diagonal(near, True)
    blocks = _grown(near)
    return _named(matrix.nodes, blocks) if _distinct(values, cut, blocks) else Topology()


def _without_own(slow: Slowness) -> F32:
    """Return all pairs; a latency without the delay that its two nodes have with every partner."""
    values = slow.block(ALL)
    if slow.adds_up:
        node_excess = levels(slow.block, slow.nodes, 0.5).values
        node_excess = np.nan_to_num(node_excess - np.nanmedian(node_excess)).astype(np.float32)
        for first, last in spans(slow.nodes):
            values[first:last] -= node_excess[first:last, None] + node_excess[None, :]
    return values


def _grown(near: Flags) -> list[I64]:
    """Grow blocks: a node's close nodes, then twice the nodes that are close to most of these."""
    free = np.ones(len(near), dtype=bool)
    blocks = []
    for node in range(len(near)):
        if not free[node]:
            continue
        block = near[node] & free
        for _ in range(2):
            block = (near[:, block].mean(axis=1) > 0.5) & free
            block[node] = True
        free &= ~block
        blocks.append(np.flatnonzero(block))
    return blocks


def _distinct(values: F32, cut: float, blocks: list[I64]) -> bool:
    sizes = np.array([block.size for block in blocks])
    several = sizes >= 2
    placed = int(sizes[several].sum())
    if (
        several.sum() < 2
        or placed < limits.PLACED_NODES * sizes.sum()
        or sizes.max() > limits.LARGEST_GROUP * placed
    ):
        return False
    inside = close = measured = all_close = 0
    for block in blocks:
        strip = values[block]
        block_values = strip[:, block]
        with np.errstate(invalid="ignore"):
            close += int((block_values < cut).sum())
            all_close += int((strip < cut).sum())
        inside += int(np.isfinite(block_values).sum())
        measured += int(np.isfinite(strip).sum())
    outside = measured - inside
    return (
        close >= limits.CLOSE_WITHIN * inside
        and all_close - close <= limits.CLOSE_BETWEEN * max(1, outside)
    )


def _named(nodes: tuple[str, ...], blocks: list[I64]) -> Topology:
    """Number the blocks by the first of their nodes' names, not by the order of measuring."""
    members = [tuple(nodes[i] for i in block) for block in blocks if block.size >= 2]
    members.sort(key=lambda names: min(_natural(name) for name in names))
    groups = tuple(Group(f"block {i}", names) for i, names in enumerate(members, start=1))
    return Topology(groups, FROM_DATA)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts c9 before c10."""
    parts = re.split(r"([0-9]+)", name)
    return [(1, int(p), "") if p.isdecimal() else (0, 0, p) for p in parts]
