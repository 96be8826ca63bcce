"""How far healthy pairs scatter, before anybody knows which are healthy."""

import msgspec
import numpy as np

from fabricgauge.model.pairs import PairMatrix
from fabricgauge.stats.pairs.significance import MAD
from fabricgauge.stats.pairs.slowness import Slowness, relative
from fabricgauge.stats.pairs.strips import F32, F64

#: Rows that are looked at in a large matrix: five million pairs at 10,240 nodes.
_ROWS = 512

#: Clocks, rounding and protocol leave this much even where a simulator repeats itself exactly.
FLOOR = 0.002

#: The standard error of a median of n normal values is this by sigma / sqrt(n).
MEDIAN = 1.2533

#: The shortest interval with half of a normal distribution is 1.349 standard deviations long.
_HALF = 1.349


class Noise(msgspec.Struct, frozen=True):
    """``pair`` is the relative standard deviation of a value of the matrix, ``single`` that of
    one pass, ``passes`` how many passes a pair has as a rule. ``freedom`` are the degrees of
    freedom of ``pair``.
    """

    pair: float
    single: float
    passes: int
    freedom: int

    def of_pair(self, passes: F64) -> F64:
        """Standard errors of pairs measured ``passes`` times, with what lasts over passes."""
        lasting = max(0.0, self.pair**2 - MEDIAN**2 * self.single**2 / max(1, self.passes))
        single = self.single**2 * np.where(passes > 2, MEDIAN**2, 1.0)
        return np.maximum(FLOOR, np.sqrt(lasting + single / np.maximum(passes, 1)))


def noise(matrix: PairMatrix, slow: Slowness, sampled: F32 | None = None) -> Noise:
    """From the shortest interval that holds half of the pairs, and from the passes.

    ``sampled`` are the values of ``sampled_rows`` where they are not simply those of ``slow``.

    Of the degrees of freedom that pairs and passes have a third and a half count, for the shortest
    interval is chosen and tails are heavy: by simulation, healthy nodes are then named in less than
    1 % of the analyses of 3 to 16 nodes.

    Half of the pairs have a slow end where one node of four is slow; none of the usual robust
    scales bears that but the shortest half (Rousseeuw and Leroy, 1988).
    """
    rows = sampled_rows(len(matrix.nodes))
    values = slow.values[rows] if sampled is None else sampled
    finite = values[np.isfinite(values)]
    single, passes, more = _between_passes(matrix, slow, rows)
    pairs = finite.size // 2 if slow.adds_up else finite.size
    pair = max(FLOOR, _shortest_half(finite), MEDIAN * single / np.sqrt(max(1, passes)))
    if not more:
        single = pair
    return Noise(pair, single, passes, max(2, pairs // 6 + more // 2))


def sampled_rows(count: int) -> slice:
    """All rows, or every so many-th of a large matrix."""
    return slice(None, None, max(1, count // _ROWS))


def _shortest_half(values: F32) -> float:
    if values.size < 4:
        return 0.0
    ordered = np.sort(values)
    half = values.size // 2
    lengths = ordered[half - 1 :] - ordered[: values.size - half + 1]
    return float(lengths.min()) / _HALF


def _between_passes(matrix: PairMatrix, slow: Slowness, rows: slice) -> tuple[float, int, int]:
    """Standard deviation of one pass, passes of a pair, degrees of freedom of the former."""
    layers = len(matrix.repeats)
    if layers < 2:
        return 0.0, 1, 0
    passes = relative(matrix.repeats[:, rows], slow.typical, slow.quantity)
    middle = relative(matrix.values[rows], slow.typical, slow.quantity)
    apart = np.abs(passes - middle)[:, np.isfinite(slow.values[rows])]
    number = np.isfinite(apart).sum(axis=0)
    usual = int(np.median(number)) if number.size else 1
    several = apart[:, number >= 2]
    if usual < 2 or several.size == 0:
        return 0.0, 1, 0
    freedom = int(np.maximum(number - 1, 0).sum()) // (2 if slow.adds_up else 1)
    found = several[np.isfinite(several)]
    return float(MAD * np.median(found)) * _few_passes(usual), usual, freedom


def _few_passes(passes: int) -> float:
    """The median's own deviation is none, so that few passes seem too close to it.

    By simulation of normal noise: 200,000 sets of each number of passes.
    """
    table = {2: 1.41, 3: 2.16, 4: 1.38, 5: 1.38, 6: 1.27, 7: 1.22, 8: 1.20, 9: 1.16}
    return table.get(passes, 1.12)
