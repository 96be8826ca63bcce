"""Fold the rounds of all pairs into arrays, one set for each pass, round by round.

The rounds of 10,240 ranks take some 30 GB as Python numbers, and 2 GB as matrices.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fabricgauge.model.measurement import Round
from fabricgauge.model.pairs import Quantity

if TYPE_CHECKING:  # most readers of a run need no matrix
    import numpy as np
    from numpy.typing import NDArray

    from fabricgauge.model.measurement import Measurement
    from fabricgauge.model.run import Launch

    F32 = NDArray[np.float32]
    I32 = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    Values = NDArray[np.floating]
else:  # readers of the fields' types, such as a schema, need no numpy
    F32 = I32 = Flags = Values = Any

#: Times and rates among more ranks have single precision, as in matrices.npz: 6e-8 of the value.
MANY_RANKS = 2048
#: A pass with at least this share of all pairs of ranks becomes a matrix.
DENSE = 0.1
#: About this many rounds of a pass are kept by themselves.
SAMPLED_ROUNDS = 512

_PICOSECOND_S = 1e-12


class _OfArrays(msgspec.Struct, frozen=True, eq=False):
    """A value of arrays: two are equal if all their numbers are, and what was not measured."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _equal(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__
        )

    __hash__ = object.__hash__


def _equal(left: object, right: object) -> bool:
    import numpy as np

    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right


class SampledRound(_OfArrays, frozen=True, eq=False):
    """Figures of the pairs of one round: parallel arrays, as in ``PairPass``."""

    number: int
    origins: "I32"
    targets: "I32"
    values: "Values"


class PairPass(_OfArrays, frozen=True, eq=False):
    """One pass of a launch over pairs of ranks, for one case.

    ``values`` are half round trips in seconds, or payload bytes/s; a latency stands in both
    directions. ``spread`` is the interquartile range of a pair's samples over its median. Both are
    (R, R) from rank to rank, NaN if not measured; or, of few pairs, parallel to ``cells``: origins
    and targets. ``ranks`` (R,) are true for those that met another one. ``sampled`` are some
    rounds, or all, with the first one.
    """

    case: str
    quantity: Quantity
    message_bytes: int
    values: "Values"
    spread: "F32"
    cells: "tuple[I32, I32] | None"
    ranks: "Flags"
    sampled: tuple[SampledRound, ...]

    def entries(self) -> "tuple[NDArray[np.integer], NDArray[np.integer], Values, F32]":
        """Return origins, targets, values and spreads of the measured pairs."""
        import numpy as np

        if self.cells is not None:
            return (*self.cells, self.values, self.spread)
        origins, targets = np.nonzero(np.isfinite(self.values))
        return origins, targets, self.values[origins, targets], self.spread[origins, targets]


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

    def close(self, measurements: "Iterable[Measurement]") -> tuple[PairPass, ...]:
        """Return all passes in the order of their first rounds.

        The records of ended cases say what was measured, else the name of a case does.
        """
        patterns = {case.case: case.pattern for case in measurements}
        return tuple(opened.close(patterns) for opened in self._passes.values())


class _OpenPass:
    """A pass under way: chunks of single pairs, and a matrix once they are many."""

    def __init__(self, ranks: int, first: Round) -> None:
        import numpy as np

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
        import numpy as np

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

    def _put(self, chunk: "tuple[I32, I32, Values, F32]") -> None:
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
            origins, targets, values, spread = _join(self._chunks)
            cells = origins, targets
            if late:
                cells = _join_two(origins, targets), _join_two(targets, origins)
                values, spread = _join_two(values, values), _join_two(spread, spread)
        sampled = self._sampled
        if not late:
            _divide(payload, values)
            for turn in sampled:
                _divide(payload, turn.values)
        return PairPass(
            case, "latency" if late else "bandwidth", self.first.message_bytes, values, spread,
            cells, self._met, tuple(sampled),
        )  # fmt: skip


def passes_of(launch: "Launch") -> tuple[PairPass, ...]:
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


def _mirror(table: "NDArray[np.floating]") -> None:
    """Copy each pair's figure to its other direction, if that has none."""
    import numpy as np

    for first in range(0, len(table), _STRIP):
        rows = slice(first, first + _STRIP)
        np.copyto(table[rows], table[:, rows].T.copy(), where=np.isnan(table[rows]))


def _divide(payload: int, values: "Values") -> None:
    import numpy as np

    np.divide(payload, values, out=values)


def _join(chunks: "list[tuple[I32, I32, Values, F32]]") -> "tuple[I32, I32, Values, F32]":
    import numpy as np

    origins, targets, values, spread = (
        np.concatenate(columns) for columns in zip(*chunks, strict=True)
    )
    return origins, targets, values, spread


def _join_two(first: "NDArray[Any]", second: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    return np.concatenate((first, second))
