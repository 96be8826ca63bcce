"""Effects of one factor in randomised blocks, tested by permuting its levels.

Within a block the order of arms was drawn, so that under no effect every assignment of a block's
figures to the levels is as likely as that which was seen. The largest studentised effect over all
comparisons in each permutation gives what chance alone reaches at most: tests and intervals hold
for all of them at once, whatever the figures' distribution is and however sizes of one launch
depend on each other (P. H. Westfall, S. S. Young, "Resampling-Based Multiple Testing", 1993).
"""

from itertools import permutations, product

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: With fewer no effect could be told from chance: of six blocks the clearest is one in 32.
FEWEST_BLOCKS = 7
#: Permutations are all looked at up to this number, else so many are drawn.
MOST_PERMUTATIONS = 4096
#: An effect whose blocks agree by luck would seem clear: half of its variance is the usual one's.
SHARE_OF_USUAL = 0.5


class Effects(msgspec.Struct, frozen=True):
    """By level but the first, and by figure: effect, half-width and chance, (levels - 1, figures).

    ``blocks`` is in how many blocks both levels have the figure. NaN where these are too few.
    """

    effect: Floats
    half_width: Floats
    chance: Floats
    blocks: NDArray[np.int64]


def effects_of(logs: Floats, confidence: float, seed: int) -> Effects:
    """Test the levels of one factor.

    ``logs`` are logarithms of figures, (levels, strata, blocks, figures); a stratum is a
    combination of the other factors' levels, within which alone levels are exchanged. NaN is not
    measured.
    """
    levels, strata, blocks, _ = logs.shape
    effect, error, counts = _studentised(logs)
    seen = np.abs(effect) / error
    usable = np.isfinite(seen)
    if not usable.any():
        nothing = np.full(effect.shape, np.nan)
        return Effects(effect, nothing, nothing, counts)
    largest = np.array([
        _largest(_exchanged(logs, one), usable)
        for one in _assignments(levels, strata * blocks, np.random.default_rng(seed))
    ])  # fmt: skip
    # That which was seen is one of the assignments that could have been drawn.
    chance = (largest[:, None, None] >= seen * (1 - 1e-12)).mean(axis=0)
    bound = _bound(largest, confidence)
    half_width = np.where(usable, bound * error, np.nan)
    return Effects(effect, half_width, np.where(usable, chance, np.nan), counts)


def _studentised(logs: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Effects, their standard errors and numbers of blocks, each (levels - 1, figures)."""
    differences = (logs[1:] - logs[:1]).mean(axis=1)  # a block counts if no stratum lacks it
    counts = np.isfinite(differences).sum(axis=1)
    enough = counts >= FEWEST_BLOCKS
    safe = np.where(enough, counts, 1)
    total = np.nansum(differences, axis=1)
    effect = np.where(enough, total / safe, np.nan)
    squares = np.nansum((differences - effect[:, None, :]) ** 2, axis=1)
    variance = np.where(enough, squares / np.maximum(safe - 1, 1), np.nan)
    usual = np.nanmedian(variance) if enough.any() else np.nan
    moderated = (1 - SHARE_OF_USUAL) * variance + SHARE_OF_USUAL * usual
    least = np.finfo(np.float64).tiny
    return effect, np.sqrt(np.maximum(moderated, least) / safe), counts


def _largest(logs: Floats, usable: NDArray[np.bool_]) -> float:
    effect, error, _ = _studentised(logs)
    return float(np.max(np.abs(effect[usable]) / error[usable]))


def _assignments(levels: int, cells: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Which level's figure each level gets, (assignments, cells, levels); first that which was."""
    ways = np.array(list(permutations(range(levels))), dtype=np.intp)
    if levels == 2 and 2 ** (cells - 1) <= MOST_PERMUTATIONS:  # a global change of sign is the same
        choices = np.array(list(product((0, 1), repeat=cells - 1)), dtype=np.intp)
        drawn = np.column_stack((np.zeros(len(choices), dtype=np.intp), choices))
    else:
        drawn = rng.integers(len(ways), size=(MOST_PERMUTATIONS, cells))
        drawn[0] = 0
    return ways[drawn]


def _exchanged(logs: Floats, assignment: NDArray[np.intp]) -> Floats:
    levels, strata, blocks, figures = logs.shape
    cells = logs.reshape(levels, strata * blocks, figures)
    taken = np.take_along_axis(cells, assignment.T[:, :, None], axis=0)
    return taken.reshape(levels, strata, blocks, figures)


def _bound(largest: Floats, confidence: float) -> float:
    """What at most a share of 1 - ``confidence`` of the assignments reaches; inf if none may."""
    ordered = np.sort(largest)
    beyond = int(np.floor((1 - confidence) * ordered.size * (1 + 1e-12)))
    if beyond == 0:
        return float("inf")
    # An effect is clear if it is at least the largest of these; its interval just reaches 0 there.
    return float(np.nextafter(ordered[-beyond], 0))
