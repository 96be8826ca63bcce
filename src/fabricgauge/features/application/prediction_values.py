"""The predicted time of an application's messages on two stacks, by their measured curves."""

from typing import Literal

import msgspec

Winner = Literal["a", "b", "undecided"]


class Span(msgspec.Struct, frozen=True):
    """A time in seconds with the interval that follows from its curves' intervals."""

    low: float
    value: float
    high: float


class Bounds(msgspec.Struct, frozen=True):
    """``least`` is without contention, ``most`` with all ranks of a node sending at once."""

    least: Span
    most: Span


class PredictedMix(msgspec.Struct, frozen=True):
    """One kind of call at one class of sizes: time on A and on B, summed over all ranks.

    ``how`` names the curve behind the figures. ``site`` is the profiler's number of the call's
    place in the program, empty without one. ``bytes`` is what its calls moved.
    """

    call: str
    least_bytes: int | None
    calls: int
    a: Bounds
    b: Bounds
    how: str
    site: str = ""
    bytes: int = 0

    @property
    def gain(self) -> float:
        """How much more B sends in the same time without contention: 1.47 is +147 %."""
        return self.a.least.value / self.b.least.value - 1.0 if self.b.least.value else 0.0


class Prediction(msgspec.Struct, frozen=True):
    """Both stacks' times in communication between nodes, summed over all ranks.

    ``least_ratio`` and ``most_ratio`` are B's time over A's. ``covered`` is the share of calls
    between nodes that have a curve; ``left_out`` are reasons for the other calls. ``winner`` is
    decided only if both ratios' intervals are beyond 1 by 5 %, the curves cover nearly all calls,
    and both bounds differ by more than ``unexplained_s``. If the profile has call sites, the winner
    is that of the sites with curves. ``invalid`` are reasons why a stack's figures are not a
    network's: then there is no winner.
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
    def by_site(self) -> bool:
        """Check whether the rows are places in the program."""
        return bool(self.rows) and all(row.site for row in self.rows)

    @property
    def unexplained_s(self) -> float:
        """Time of the profiled run beyond both stacks' upper bounds; no curve explains it."""
        return max(0.0, self.recorded_s - max(self.a.most.high, self.b.most.high))
