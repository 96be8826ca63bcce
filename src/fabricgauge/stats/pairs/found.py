"""Groups that the data show: nodes that are all closer to each other than to the rest."""

import re

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import PairMatrix
from fabricgauge.model.topology import Group, Topology
from fabricgauge.stats.pairs.grouping import FROM_DATA
from fabricgauge.stats.pairs.noise import noise
from fabricgauge.stats.pairs.slowness import Slowness, slowness
from fabricgauge.stats.pairs.spectrum import valley
from fabricgauge.stats.pairs.strips import F32, levels, spans

#: Fewer nodes, or fewer of their pairs measured, show no blocks.
_FEWEST_NODES, _COVERAGE = 6, 0.5

#: Share of the pairs that must be close within groups, may be close between them, share of the
#: nodes that must be in a group of several, share of them that the largest group may have.
_WITHIN, _BETWEEN, _PLACED, _LARGEST = 0.8, 0.1, 0.8, 0.75


def found_topology(matrix: PairMatrix) -> Topology:
    """Blocks of nodes at the lowest of several distinct levels; empty if there are none.

    The switch of the Omni-Path evaluation shows as 12 blocks of 4 ports in this way. Each
    node's own delay is taken off first. Of several layers of blocks the innermost is found.
    """
    if len(matrix.nodes) < _FEWEST_NODES or matrix.coverage < _COVERAGE:
        return Topology()
    slow = slowness(matrix)
    if slow.adds_up:
        _subtract_own(slow.values)
    cut = valley(slow, noise(matrix, slow).pair)
    if cut is None:
        return Topology()
    blocks = _grown(_near(slow, cut))
    return _named(matrix.nodes, blocks) if _distinct(slow, cut, blocks) else Topology()


def _subtract_own(values: F32) -> None:
    count = len(values)
    own = levels(lambda first, last: values[first:last], count, 0.5).values
    own = np.nan_to_num(own - np.nanmedian(own)).astype(np.float32)
    for first, last in spans(count):
        values[first:last] -= own[first:last, None] + own[None, :]


def _near(slow: Slowness, cut: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near: NDArray[np.bool_] = slow.values < cut
    np.fill_diagonal(near, True)
    return near


def _grown(near: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Each block is one node's close ones, then twice what is close to most of these."""
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


def _distinct(slow: Slowness, cut: float, blocks: list[NDArray[np.int64]]) -> bool:
    sizes = np.array([block.size for block in blocks])
    several = sizes >= 2
    placed = int(sizes[several].sum())
    if several.sum() < 2 or placed < _PLACED * sizes.sum() or sizes.max() > _LARGEST * placed:
        return False
    inside = close = measured = all_close = 0
    for block in blocks:
        strip = slow.values[block]
        own = strip[:, block]
        with np.errstate(invalid="ignore"):
            close += int((own < cut).sum())
            all_close += int((strip < cut).sum())
        inside += int(np.isfinite(own).sum())
        measured += int(np.isfinite(strip).sum())
    outside = measured - inside
    return close >= _WITHIN * inside and all_close - close <= _BETWEEN * max(1, outside)


def _named(nodes: tuple[str, ...], blocks: list[NDArray[np.int64]]) -> Topology:
    """Blocks are numbered by the first of their nodes' names, whatever order was measured in."""
    members = [tuple(nodes[i] for i in block) for block in blocks if block.size >= 2]
    members.sort(key=lambda names: min(_natural(name) for name in names))
    groups = tuple(Group(f"block {i}", names) for i, names in enumerate(members, start=1))
    return Topology(groups, FROM_DATA)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """c9 comes before c10."""
    parts = re.split(r"([0-9]+)", name)
    return [(1, int(p), "") if p.isdecimal() else (0, 0, p) for p in parts]
