"""Test effects of one factor in randomised blocks by exchanging levels.

The order of arms within a block was drawn at random. Where two levels do not differ, a block's
figures could as well be the other level's. Each such exchange has a largest studentised effect over
all figures: these show how far chance alone reaches. So tests and intervals hold for all figures at
once, whatever their distribution and however the sizes of one launch depend on each other (P. H.
Westfall, S. S. Young, "Resampling-Based Multiple Testing", 1993).
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: With fewer blocks chance explains any effect: with six the clearest has a chance of 1 in 32.
FEWEST_BLOCKS = 7
#: Up to this many exchanges are all computed; of more, this many are drawn.
MOST_EXCHANGES = 4096
#: Share of the median variance in each effect's. Without it blocks that agree by luck seem clear.
SHARE_OF_USUAL = 0.5
#: Exchanges are computed in parts of this size, which bounds the memory.
PART = 256
_ROUNDING = 1e-9


class Effects(msgspec.Struct, frozen=True):
    """Effect, half-width and chance of all levels but the first, (levels - 1, figures).

    ``blocks`` is the number of blocks in which both levels have the figure. If they are too few,
    the effect is their mean, and half-width and chance are NaN.
    """

    effect: Floats
    half_width: Floats
    chance: Floats
    blocks: NDArray[np.int64]


def effects_of(logs: Floats, confidence: float, seed: int) -> Effects:
    """Test each level of one factor against the first.

    ``logs`` are logarithms of figures, (levels, strata, blocks, figures); a stratum is a
    combination of the other factors' levels, within which alone levels are exchanged. NaN is not
    measured. Several levels share the chance of error, so that a level that could not be measured,
    or that differs much, does not affect the others.
    """
    level_confidence = 1.0 - (1.0 - confidence) / (len(logs) - 1)
    level_effects = [_test_level(level - logs[0], level_confidence, seed) for level in logs[1:]]
    return Effects(*(np.stack(part) for part in zip(*level_effects, strict=True)))


def _test_level(
    differences: Floats, confidence: float, seed: int
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Return effect, half-width, chance and blocks of one level from (strata, blocks, figures)."""
    measured = np.isfinite(differences)
    differences = differences[measured.any(axis=(1, 2))][:, measured.any(axis=(0, 2))]
    count = differences.shape[-1]
    if not differences.size:
        missing = np.full(count, np.nan)
        return missing, missing, missing, np.zeros(count, dtype=np.int64)
    effect, error, blocks = _studentise(differences.mean(axis=0)[None])
    effect, error = effect[0], error[0]
    signs = _draw_signs(differences.shape[0], differences.shape[1], np.random.default_rng(seed))
    studentised = np.abs(effect) / error
    largest = _largest_effects(differences, signs)
    # A real effect is in the exchanges as well, and makes figures move together. Without it the
    # exchanges may reach farther: the larger bound counts.
    centred = _largest_effects(differences - effect, signs)
    # The share of exchanges that reach an effect; the actual order is one of them.
    reached = [float((largest >= size * (1 - _ROUNDING)).mean()) for size in studentised]
    chance = np.where(np.isfinite(studentised), reached, np.nan)
    bound = max(_effect_bound(largest, confidence), _effect_bound(centred, confidence))
    half_width = np.where(np.isfinite(studentised), bound * error, np.nan)
    # Too few blocks have a mean as well, without an interval: what was measured is shown.
    sums, counts = np.nansum(differences, axis=(0, 1)), np.isfinite(differences).sum(axis=(0, 1))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return np.where(np.isfinite(effect), effect, means), half_width, chance, blocks


def _studentise(means: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return effects, standard errors and numbers of blocks from (exchanges, blocks, figures)."""
    counts = np.isfinite(means[0]).sum(axis=0)
    enough = counts >= FEWEST_BLOCKS
    safe = np.maximum(counts, 2)
    effect = np.where(enough, np.nansum(means, axis=1) / safe, np.nan)
    squares = np.nansum(means**2, axis=1) - safe * effect**2
    variance = np.where(enough, np.maximum(squares, 0.0) / (safe - 1), np.nan)
    usual = np.nanmedian(variance, axis=1, keepdims=True) if enough.any() else np.nan
    moderated = (1 - SHARE_OF_USUAL) * variance + SHARE_OF_USUAL * usual
    least = np.finfo(np.float64).tiny
    return effect, np.sqrt(np.maximum(moderated, least) / safe), counts


def _draw_signs(strata: int, blocks: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return -1 for exchanged levels, else 1, (exchanges, strata, blocks); the first has no -1.

    An exchange of all levels only changes the sign, so the first cell is never exchanged.
    """
    cells = strata * blocks
    if 2 ** (cells - 1) <= MOST_EXCHANGES:
        numbers = np.arange(2 ** (cells - 1))
        exchanged = (numbers[:, None] >> np.arange(cells)) & 1
        exchanged = exchanged[:, ::-1]
    else:
        exchanged = rng.integers(2, size=(MOST_EXCHANGES, cells))
        exchanged[0] = 0
    return (1 - 2 * exchanged).astype(np.int8).reshape(-1, strata, blocks)


def _largest_effects(differences: Floats, signs: NDArray[np.int8]) -> Floats:
    """Return the largest studentised effect of each exchange; 0 if no figure has enough blocks."""
    maxima = []
    for start in range(0, len(signs), PART):
        part = signs[start : start + PART]
        means = (part[..., None] * differences).mean(axis=1)
        effect, error, _ = _studentise(means)
        maxima.append(np.nan_to_num(np.abs(effect) / error).max(axis=1))
    return np.concatenate(maxima)


def _effect_bound(largest: Floats, confidence: float) -> float:
    """Return the least value that a share of at most 1 - ``confidence`` reaches; inf without one.

    An effect of that size is clear: its interval just does not reach 0.
    """
    ordered = np.sort(largest)
    most = int(np.floor((1 - confidence) * ordered.size * (1 + _ROUNDING)))
    for value in ordered[ordered.size - most :]:
        if (ordered >= value * (1 - _ROUNDING)).sum() <= most:
            return float(value * (1 - 2 * _ROUNDING))
    return float("inf")
