"""Histogram over all pairs, and its distinct levels."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.pairs import Spectrum
from fabricgauge.stats.pairs.slowness import Slowness
from fabricgauge.stats.pairs.strips import F64, spans

_BINS = 256

#: A level holds at least this share of the pairs, and the dip to the next is half its height.
_SHARE, _DIP = 0.01, 0.5

#: Values that differ by less are one: nothing is measured to so many digits.
_EQUAL = 1e-9

#: A kernel this many standard deviations of the noise wide smooths the counts.
_WIDTH = 0.6


def spectrum(values: F64, noise: float, *, twice: bool) -> Spectrum:
    """Of the measured pairs; ``twice`` says that each stands in the matrix twice.

    Bins are equally wide in the logarithm where the slowest is more than four times the least.
    ``noise`` is the relative standard deviation within a level.
    """
    low, high = _range(values)
    if high - low <= _EQUAL * high:
        return Spectrum((low, high), (_count(values),), (low,)) if low > 0 else Spectrum((), (), ())
    edges = (
        np.geomspace(low, high, _BINS + 1) if high > 4 * low else np.linspace(low, high, _BINS + 1)
    )
    counts = np.zeros(_BINS, dtype=np.int64)
    for first, last in spans(len(values)):
        strip = values[first:last]
        counts += np.histogram(strip[np.isfinite(strip)], edges)[0]
    peaks = _peaks(counts, edges, noise)
    if twice:
        counts //= 2
    return Spectrum(
        tuple(edges.tolist()), tuple(int(one) for one in counts), tuple(float(p) for p in peaks)
    )


def valley(slow: Slowness, noise: float) -> float | None:
    """The slowness between the lowest level and the next; None if there is but one level."""
    finite = _sampled(slow.values)
    if finite.size < 8:
        return None
    edges = np.linspace(finite.min(), finite.max() + 1e-6, 4 * _BINS + 1)
    counts = np.histogram(finite, edges)[0]
    smooth, tops = _tops(counts, edges, noise)
    if len(tops) < 2:
        return None
    between = smooth[tops[0] : tops[1] + 1]
    lowest = np.flatnonzero(between <= between.min() * (1 + 1e-9))
    return float(edges[tops[0] + int(lowest.mean())] + 0.5 * (edges[1] - edges[0]))


def _sampled(values: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = values[:: max(1, len(values) // 1024)]
    found: NDArray[np.float32] = rows[np.isfinite(rows)]
    return found


def _range(values: F64) -> tuple[float, float]:
    lows, highs = [], []
    for first, last in spans(len(values)):
        strip = values[first:last]
        finite = strip[np.isfinite(strip) & (strip > 0)]
        if finite.size:
            lows.append(float(finite.min()))
            highs.append(float(finite.max()))
    return (min(lows), max(highs)) if lows else (0.0, 0.0)


def _count(values: F64) -> int:
    return int(np.isfinite(values).sum())


def _peaks(counts: NDArray[np.int64], edges: F64, noise: float) -> list[float]:
    _, tops = _tops(counts, edges, noise)
    return [0.5 * float(edges[top] + edges[top + 1]) for top in tops]


def _tops(counts: NDArray[np.int64], edges: F64, noise: float) -> tuple[F64, list[int]]:
    """Bins where the smoothed counts are highest, one for each level, ascending."""
    width = max(1.0, _WIDTH * noise * _scale(edges))
    reach = int(np.ceil(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smooth = (
        np.convolve(counts, kernel / kernel.sum(), mode="same")
        if (2 * reach + 1 <= counts.size)
        else counts.astype(float)
    )
    tops: list[int] = []
    for i in _maxima(smooth):
        if tops and smooth[tops[-1] : i + 1].min() > _DIP * min(smooth[tops[-1]], smooth[i]):
            if smooth[i] > smooth[tops[-1]]:
                tops[-1] = i
        else:
            tops.append(i)
    return smooth, _heavy(tops, smooth, counts)


def _scale(edges: F64) -> float:
    """Bins that one unit of relative noise is wide, in the middle of the range."""
    middle = edges.size // 2
    width = float(edges[middle + 1] - edges[middle])
    level = float(edges[middle]) if edges[0] > 0 else 1.0
    return level / width


def _maxima(smooth: F64) -> list[int]:
    padded = np.concatenate(([-1.0], smooth, [-1.0]))
    rises = padded[1:-1] > padded[:-2]
    falls = padded[1:-1] >= padded[2:]
    return [int(i) for i in np.flatnonzero(rises & falls & (smooth > 0))]


def _heavy(tops: list[int], smooth: F64, counts: NDArray[np.int64]) -> list[int]:
    """Those whose level, from valley to valley, holds enough pairs."""
    if not tops:
        return []
    cuts = [0, *(a + int(smooth[a : b + 1].argmin()) for a, b in pairwise(tops))]
    shares = np.add.reduceat(counts, cuts) / max(1, counts.sum())
    return [top for top, share in zip(tops, shares, strict=True) if share >= _SHARE]
