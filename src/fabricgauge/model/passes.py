"""Fold the rounds of all pairs into arrays, one set for each pass, round by round.

The rounds of 10,240 ranks take some 30 GB as Python numbers, and 2 GB as matrices.
"""

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.measurement import Measurement, Round
from fabricgauge.model.pairs import PairPass, SampledRound
from fabricgauge.model.run import Launch

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
Values = NDArray[np.floating]

#: Times and rates among more ranks have single precision, as in matrices.npz: 6e-8 of the value.
MANY_RANKS = 2048
#: A pass with at least this share of all pairs of ranks becomes a matrix.
DENSE = 0.1
#: About this many rounds of a pass are kept by themselves.
SAMPLED_ROUNDS = 512

_PICOSECOND_S = 1e-12


class PassFolder:
    """Fold rounds as they come; a round that is made again is of a further pass."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._times: dict[tuple[str, int], int] = {}
        self._passes: dict[tuple[str, int, int, int], _OpenPass] = {}

    def add(self, turn: Round) -> None:
        """Add a round, whose arrays have one length and only ranks below ``ranks``."""
        key = turn.case, turn.round
        time = self._times[key] = self._times.get(key, 0) + 1
        place = turn.case, time, turn.message_bytes, turn.window
        if place not in self._passes:
            self._passes[place] = _OpenPass(self._ranks, turn)
        self._passes[place].add(turn)

    def close(self, measurements: Iterable[Measurement]) -> tuple[PairPass, ...]:
        """Return all passes in the order of their first rounds.

        The records of ended cases say what was measured, else the name of a case does.
        """
        patterns = {case.case: case.pattern for case in measurements}
        return tuple(opened.close(patterns) for opened in self._passes.values())


class _OpenPass:
    """A pass under way: chunks of single pairs, and a matrix once they are many."""

    def __init__(self, ranks: int, first: Round) -> None:
        self.first, self._ranks = first, ranks
        self._precision = np.float64 if ranks <= MANY_RANKS else np.float32
        self._chunks: list[tuple[I32, I32, Values, F32]] = []
        self._matrix: tuple[Values, F32] | None = None
        self._entries, self._rounds = 0, 0
        self._sampled: list[SampledRound] = []
        self._every = max(1, first.rounds // SAMPLED_ROUNDS)
        self._met = np.zeros(ranks, dtype=np.bool_)

    def add(self, turn: Round) -> None:
        """Add times in seconds; what they mean is known at the end of the case."""
        origins, targets = np.array(turn.origins, np.int32), np.array(turn.targets, np.int32)
        median, quartile = np.array(turn.median_ps, np.int64), np.array(turn.quartile_ps, np.int64)
        self._met[origins] = self._met[targets] = True
        measured = (median > 0) & (origins != targets)
        if not measured.all():
            origins, targets = origins[measured], targets[measured]
            median, quartile = median[measured], quartile[measured]
        times = (median * _PICOSECOND_S).astype(self._precision)
        if self._rounds % self._every == 0:
            self._sampled.append(SampledRound(turn.round, origins, targets, times))
        self._rounds += 1
        self._entries += len(origins)
        chunk = origins, targets, times, (quartile / median).astype(np.float32)
        self._put(chunk)
        if self._matrix is None and self._entries >= DENSE * self._ranks**2:
            shape = self._ranks, self._ranks
            self._matrix = (
                np.full(shape, np.nan, self._precision), np.full(shape, np.nan, np.float32),
            )  # fmt: skip
            for earlier in self._chunks:
                self._put(earlier)
            self._chunks.clear()

    def _put(self, chunk: tuple[I32, I32, Values, F32]) -> None:
        if self._matrix is None:
            self._chunks.append(chunk)
            return
        origins, targets, *columns = chunk
        for table, column in zip(self._matrix, columns, strict=True):
            table[origins, targets] = column

    def close(self, patterns: Mapping[str, str]) -> PairPass:
        case = self.first.case
        late = "latency" in patterns.get(case, case)
        payload = self.first.message_bytes * self.first.window
        cells: tuple[I32, I32] | None = None
        if self._matrix is not None:
            values, spread = self._matrix
            if late:
                _mirror(values)
                _mirror(spread)
        else:
            origins, targets, values, spread = (
                np.concatenate(columns) for columns in zip(*self._chunks, strict=True)
            )
            if late:
                origins, targets = (
                    np.concatenate((origins, targets)), np.concatenate((targets, origins)),
                )  # fmt: skip
                values, spread = np.tile(values, 2), np.tile(spread, 2)
            cells = origins, targets
        if not late:
            for rates in (values, *(turn.values for turn in self._sampled)):
                np.divide(payload, rates, out=rates)
        return PairPass(
            case, "latency" if late else "bandwidth", self.first.message_bytes, values, spread,
            cells, self._met, tuple(self._sampled),
        )  # fmt: skip


def passes_of(launch: Launch) -> tuple[PairPass, ...]:
    """Return a launch's passes over pairs; rounds that still have their pairs are folded now."""
    rounds = [turn for turn in launch.rounds if turn.origins]
    if launch.passes or not rounds:
        return launch.passes
    folder = PassFolder(1 + max(max(*turn.origins, *turn.targets) for turn in rounds))
    for turn in rounds:
        folder.add(turn)
    return folder.close(launch.measurements)


def without_pairs(turn: Round) -> Round:
    """Return a round without the arrays that are in a pass."""
    return msgspec.structs.replace(
        turn, origins=(), targets=(), samples=(), minimum_ps=(), median_ps=(), quartile_ps=(),
        one_way_ps=(),
    )  # fmt: skip


#: Rows that are mirrored at once.
_STRIP = 64


def _mirror(table: Values) -> None:
    """Copy each pair's figure to its other direction, if that has none."""
    for first in range(0, len(table), _STRIP):
        rows = slice(first, first + _STRIP)
        np.copyto(table[rows], table[:, rows].T.copy(), where=np.isnan(table[rows]))
