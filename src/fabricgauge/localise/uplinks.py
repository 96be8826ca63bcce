"""Slow ways of a whole group to the others, and crossing that is slow for all alike."""

import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.ends import End, standing_out
from fabricgauge.localise.groups import FAR, NEAR, WITHIN, Grouping
from fabricgauge.localise.limits import FEWEST_GROUPS, QUARTER, SHOWN_BY_NODES, Limits
from fabricgauge.localise.noise import Excess, Noise, standing
from fabricgauge.localise.slowness import ALL, F64, Levels, Slowness, quantile


def find_uplinks(
    slow: Slowness, grouping: Grouping, medians: F64, noise: Noise, limits: Limits
) -> list[End]:
    """Groups whose crossing pairs are slower than other groups', by number.

    The groups are to each other what nodes are: each one's lower quartile over the others is
    compared with that of the faster ones. Only where a bottleneck decides: ways differ in length.
    """
    sizes = np.array([one.size for one in grouping.members[:-1]])
    usable = sizes >= 2
    if slow.adds_up or usable.sum() < FEWEST_GROUPS:
        return []
    table = medians[:-1, :-1].copy()
    np.fill_diagonal(table, np.nan)
    for distance in (NEAR, FAR):
        here = grouping.distances[:-1, :-1] == distance
        if np.isfinite(table[here]).any():
            table[here] -= np.nanmedian(table[here])
    found = (quantile(way.astype(np.float32), QUARTER) for way in (table, table.T))
    ways = [Levels(np.where(usable, low.astype(float), np.nan), met) for low, met in found]
    sigma = 2.0 * noise.pair / np.sqrt(float(np.median(sizes[usable])))
    both = standing(ways, sigma, noise.freedom, usable, fewest=FEWEST_GROUPS - 1)
    ends = standing_out(both, limits.slowness(slow.quantity), limits.rate)
    return [end for end in ends if _shown(slow, grouping, end)]


def _shown(slow: Slowness, grouping: Grouping, end: End) -> bool:
    """Whether nearly all nodes of the group have it towards the others, not some of them."""
    nodes = grouping.members[end.index]
    away = grouping.index != end.index
    strip = (slow.received if end.part == "receiver" else slow.block)(nodes, ALL)
    found, _ = quantile(np.where(away[None, :], strip, np.float32(np.nan)), QUARTER)
    return bool((found >= np.nanmedian(found) - 0.5 * end.level).mean() >= SHOWN_BY_NODES)


def slow_blocks(ends: list[End], grouping: Grouping) -> NDArray[np.bool_]:
    """The blocks from group to group that slow uplinks explain."""
    table = np.zeros((grouping.count, grouping.count), dtype=bool)
    for end in ends:
        for way in end.ways:
            (table, table.T)[way][end.index] = True
    np.fill_diagonal(table, False)
    return table


def oversubscription(expected: F64, grouping: Grouping, noise: Noise) -> Excess | None:
    """How much slower all crossing is; None without groups, or without both kinds of pairs."""
    sizes = np.array([one.size for one in grouping.members])
    pairs = np.outer(sizes, sizes).astype(float)
    inside = (grouping.distances == WITHIN) & (pairs > 1) & np.isfinite(expected)
    outside = (grouping.distances != WITHIN) & (pairs > 0) & np.isfinite(expected)
    outside[-1, :] = outside[:, -1] = False
    if not inside.any() or not outside.any():
        return None
    level = float(np.median(expected[outside]) - np.median(expected[inside]))
    error = float(noise.pair * np.sqrt(1.0 / pairs[inside].sum() + 1.0 / pairs[outside].sum()))
    return Excess(level, error)
