"""What an application's messages would take on two stacks, by their measured curves."""

from typing import Literal

import msgspec

Winner = Literal["a", "b", "undecided"]


class Span(msgspec.Struct, frozen=True):
    """A time in seconds with the interval that its curves' intervals give."""

    low: float
    value: float
    high: float


class Bounds(msgspec.Struct, frozen=True):
    """``least`` is without contention, ``most`` with all ranks of a node sending at once."""

    least: Span
    most: Span


class PredictedMix(msgspec.Struct, frozen=True):
    """One kind of call at one class of sizes: time on A and on B, summed over all ranks.

    ``how`` says which curve it is from.
    """

    call: str
    least_bytes: int | None
    calls: int
    a: Bounds
    b: Bounds
    how: str


class Prediction(msgspec.Struct, frozen=True):
    """Both stacks' times in communication between nodes, summed over all ranks.

    ``least_ratio`` and ``most_ratio`` are B's time by A's. ``covered`` is the share of calls
    between nodes that a curve could be found for; ``left_out`` are reasons for the others.
    ``winner`` is decided only where both ratios' intervals are beyond 1 by 5 %, the curves cover
    nearly all, and both bounds differ by more than ``unexplained_s``. ``invalid`` are reasons why
    a stack's figures are not a network's: then there is no winner.
    """

    program: str
    a_name: str
    b_name: str
    ranks: int
    a: Bounds
    b: Bounds
    least_ratio: Span
    most_ratio: Span
    winner: Winner
    covered: float
    rows: tuple[PredictedMix, ...]
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    recorded_s: float = 0.0

    @property
    def unexplained_s(self) -> float:
        """What the profiled run took longer than either stack's upper bound: in no curve."""
        return max(0.0, self.recorded_s - max(self.a.most.high, self.b.most.high))
