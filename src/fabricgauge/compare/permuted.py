"""Effects of one factor in randomised blocks, tested by exchanging levels.

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

#: With fewer no effect could be told from chance: of six blocks the clearest is one in 32.
FEWEST_BLOCKS = 7
#: Up to this many exchanges are all looked at; of more, this many are drawn.
MOST_EXCHANGES = 4096
#: The usual variance has this share in each effect's. Else blocks that agree by luck seem clear.
SHARE_OF_USUAL = 0.5
#: Exchanges are looked at in parts of this size, which bounds the memory.
PART = 256
_ROUNDING = 1e-9


class Effects(msgspec.Struct, frozen=True):
    """By level but the first, and by figure: effect, half-width and chance, (levels - 1, figures).

    ``blocks`` is in how many blocks both levels have the figure. NaN where these are too few.
    """

    effect: Floats
    half_width: Floats
    chance: Floats
    blocks: NDArray[np.int64]


def effects_of(logs: Floats, confidence: float, seed: int) -> Effects:
    """Test each level of one factor against the first.

    ``logs`` are logarithms of figures, (levels, strata, blocks, figures); a stratum is a
    combination of the other factors' levels, within which alone levels are exchanged. NaN is not
    measured. Several levels share what may go wrong, so that one level that could not be measured,
    or that differs much, says nothing about the others.
    """
    each = 1.0 - (1.0 - confidence) / (len(logs) - 1)
    found = [_against(level - logs[0], each, seed) for level in logs[1:]]
    return Effects(*(np.stack(part) for part in zip(*found, strict=True)))


def _against(
    differences: Floats, confidence: float, seed: int
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Effect, half-width, chance and blocks of one level; (strata, blocks, figures) in."""
    there = np.isfinite(differences)
    differences = differences[there.any(axis=(1, 2))][:, there.any(axis=(0, 2))]
    count = differences.shape[-1]
    if not differences.size:
        nothing = np.full(count, np.nan)
        return nothing, nothing, nothing, np.zeros(count, dtype=np.int64)
    effect, error, blocks = _studentised(differences.mean(axis=0)[None])
    effect, error = effect[0], error[0]
    signs = _signs(differences.shape[0], differences.shape[1], np.random.default_rng(seed))
    seen = np.abs(effect) / error
    largest = _largest(differences, signs)
    # A real effect is in the exchanges as well, and makes figures move together. Without it the
    # exchanges may reach farther: the larger bound counts.
    centred = _largest(differences - effect, signs)
    chance = np.array([_share(largest, one) for one in seen])
    bound = max(_bound(largest, confidence), _bound(centred, confidence))
    half_width = np.where(np.isfinite(seen), bound * error, np.nan)
    return effect, half_width, chance, blocks


def _studentised(means: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Effects, standard errors and numbers of blocks from (exchanges, blocks, figures)."""
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


def _signs(strata: int, blocks: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Whether two levels keep their names, (exchanges, strata, blocks); first none is exchanged.

    All names exchanged at once is the same with another sign, so the first cell keeps its own.
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


def _largest(differences: Floats, signs: NDArray[np.int8]) -> Floats:
    """The largest studentised effect of each exchange; 0 where no figure has enough blocks."""
    found = []
    for start in range(0, len(signs), PART):
        part = signs[start : start + PART]
        means = (part[..., None] * differences).mean(axis=1)
        effect, error, _ = _studentised(means)
        found.append(np.nan_to_num(np.abs(effect) / error).max(axis=1))
    return np.concatenate(found)


def _share(largest: Floats, value: float) -> float:
    """Share of exchanges with a largest effect of at least ``value``; the actual order is one."""
    if not np.isfinite(value):
        return float("nan")
    return float((largest >= value * (1 - _ROUNDING)).mean())


def _bound(largest: Floats, confidence: float) -> float:
    """The least that at most a share of 1 - ``confidence`` of the exchanges reaches; inf if none.

    An effect that is as large is clear: its interval just does not reach 0.
    """
    ordered = np.sort(largest)
    most = int(np.floor((1 - confidence) * ordered.size * (1 + _ROUNDING)))
    for value in ordered[ordered.size - most :]:
        if (ordered >= value * (1 - _ROUNDING)).sum() <= most:
            return float(value * (1 - 2 * _ROUNDING))
    return float("inf")
