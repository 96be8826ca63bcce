"""Slow ways of a whole group to the others, and crossing that is slow for all alike."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.ends import Both, End, standing_out
from fabricgauge.localise.groups import FAR, NEAR, WITHIN, Grouping
from fabricgauge.localise.limits import FEWEST_GROUPS, QUARTER, SHOWN_BY_NODES, Limits
from fabricgauge.localise.noise import Noise, Standing, standing
from fabricgauge.localise.slowness import ALL, F64, Levels, Slowness, quantile


class SlowCrossing(msgspec.Struct, frozen=True):
    """All crossing is slower than what stays within a group, by this slowness."""

    level: float
    low: float
    high: float


def find_uplinks(
    slow: Slowness, grouping: Grouping, medians: F64, noise: Noise, limits: Limits
) -> list[End]:
    """Groups whose crossing pairs are slower than other groups', by number.

    The groups are to each other what nodes are: each one's lower quartile over the others is
    compared with that of the faster ones. Only where a bottleneck decides: ways differ in length.
    """
    sizes = np.array([one.size for one in grouping.members[:-1]])
    several = np.flatnonzero(sizes >= 2)
    if slow.adds_up or several.size < FEWEST_GROUPS:
        return []
    table = medians[:-1, :-1].copy()
    np.fill_diagonal(table, np.nan)
    table -= _by_distance(table, grouping)
    both = Both(*(_standing(way, sizes, several, noise) for way in (table, table.T)))
    ends = standing_out(both, limits.slowness(slow.quantity), limits.rate)
    return [end for end in ends if _shown(slow, grouping, end)]


def slow_blocks(ends: list[End], grouping: Grouping) -> NDArray[np.bool_]:
    """The blocks from group to group that slow uplinks explain."""
    table = np.zeros((grouping.count, grouping.count), dtype=bool)
    for end in ends:
        if end.part != "receiver":
            table[end.index, :] = True
        if end.part != "sender":
            table[:, end.index] = True
    np.fill_diagonal(table, False)
    return table


def oversubscription(expected: F64, grouping: Grouping, noise: Noise) -> SlowCrossing | None:
    """How much slower all crossing is; None without groups, or without both kinds of pairs."""
    sizes = np.array([one.size for one in grouping.members])
    pairs = np.outer(sizes, sizes).astype(float)
    inside = (grouping.distances == WITHIN) & (pairs > 1) & np.isfinite(expected)
    outside = np.zeros_like(inside)
    for distance in (NEAR, FAR):
        outside |= (grouping.distances == distance) & (pairs > 0) & np.isfinite(expected)
    outside[-1, :] = outside[:, -1] = False
    if not inside.any() or not outside.any():
        return None
    level = float(np.median(expected[outside]) - np.median(expected[inside]))
    error = noise.pair * np.sqrt(1.0 / pairs[inside].sum() + 1.0 / pairs[outside].sum())
    return SlowCrossing(level, level - 2 * error, level + 2 * error)


def _by_distance(table: F64, grouping: Grouping) -> F64:
    distances = grouping.distances[:-1, :-1]
    usual = np.zeros_like(table)
    for distance in (NEAR, FAR):
        here = distances == distance
        if np.isfinite(table[here]).any():
            usual[here] = np.nanmedian(table[here])
    return usual


def _standing(
    table: F64, sizes: NDArray[np.int64], several: NDArray[np.int64], noise: Noise
) -> Standing:
    found, partners = quantile(table.astype(np.float32), QUARTER)
    usable = np.zeros(sizes.size, dtype=bool)
    usable[several] = True
    levels = Levels(np.where(usable, found, np.nan).astype(float), partners)
    sigma = 2.0 * noise.pair / np.sqrt(float(np.median(sizes[several])))
    return standing(levels, sigma, noise.freedom, usable, middle=False, fewest=FEWEST_GROUPS - 1)


def _shown(slow: Slowness, grouping: Grouping, end: End) -> bool:
    """Whether nearly all nodes of the group have it towards the others, not some of them."""
    nodes = grouping.members[end.index]
    away = grouping.index != end.index
    strip = slow.block(ALL, nodes).T if end.part == "receiver" else slow.block(nodes)
    found, _ = quantile(np.where(away[None, :], strip, np.float32(np.nan)), QUARTER)
    return bool((found >= np.nanmedian(found) - 0.5 * end.level).mean() >= SHOWN_BY_NODES)
