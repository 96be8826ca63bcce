"""Figures between the ranks of a log, pair by pair."""

import msgspec


class RankPairs(msgspec.Struct, frozen=True):
    """A matrix of one quantity, each pair measured alone, in the unit of its curve.

    ``values`` are (ranks, ranks), row by row: from each rank to each rank, 0 if not measured.
    """

    ranks: int
    values: tuple[float, ...]
