"""What comparing two sets of curves found: size by size, curve by curve, and altogether."""

from typing import Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import SuiteCurve

Side = Literal["A", "B"]

#: Of one size: B against A beyond the tolerance, within it, or not decided by the intervals.
Standing = Literal["worse", "better", "within", "open"]

#: What a pair's word rests on. ``launches``: intervals over several launches of each side;
#: ``intervals``: those of a single launch on at least one side; ``means``: no intervals at
#: most of the sizes, so that bare figures decide.
Basis = Literal["launches", "intervals", "means"]

ComparisonOutcome = Literal[
    "invalid", "regression", "no regression", "undecided", "nothing comparable"
]


class Operand(msgspec.Struct, frozen=True):
    """One side of a comparison as it was asked for, and what it turned out to be.

    ``name`` is a run's identity, a file's name or a reference's. ``facts`` say more about
    its origin, in the order in which they are to be shown; ``notes`` are cautions. ``invalid`` are
    the reasons why its figures are not those of a network, empty if there are none.
    """

    asked: str
    kind: Literal["run", "file", "reference"]
    name: str
    facts: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """One message size that both sides have; values in the curves' unit.

    ``ratio`` is B's value over A's. ``low`` and ``high`` are its conservative interval: the
    one's lower end over the other's upper end, and the reverse. They are None where a side
    has no interval; ``standing`` is then that of the bare figures.
    """

    message_bytes: int | None
    a: Estimate
    b: Estimate
    ratio: float
    low: float | None
    high: float | None
    standing: Standing

    @property
    def change(self) -> float:
        """B's difference from A as a share of A; positive where B's figure is larger."""
        return self.ratio - 1.0


class Crossover(msgspec.Struct, frozen=True):
    """Between two sizes B turns from the better one into the worse, or the reverse.

    ``significant``: on both sides the ratio's interval excludes 1; with bare figures, both
    differ by more than the tolerance.
    """

    from_bytes: int
    to_bytes: int
    becomes: Literal["worse", "better"]
    significant: bool


class Summary(msgspec.Struct, frozen=True):
    """All common sizes of one pair of curves together; changes are shares of A.

    ``corrected`` is at how many sizes B is worse beyond the tolerance even when the number of
    sizes and curves that were looked at is allowed for (Holm). It is 0 without intervals.
    """

    sizes: int
    median_change: float
    least_change: float
    largest_change: float
    mean_ratio: float
    worse: int
    better: int
    within: int
    open: int
    corrected: int

    @property
    def undecided(self) -> bool:
        """Whether the intervals leave more sizes open than they decide."""
        return 2 * self.open > self.sizes


class Pair(msgspec.Struct, frozen=True):
    """Two curves of the same kind. ``only_a`` and ``only_b`` are sizes that one side has.

    ``regression`` is the reason for calling B worse than A, empty if there is none.
    ``doubt`` is the reason why B is not shown to be as good as A either: some size is far beyond
    the tolerance, or B lacks figures that A has. ``notes`` name what else differs between the two
    curves (suite, statistic, settings). ``invalid`` is why the two are not comparable: one side
    alone is memory that both ranks share.
    """

    a: SuiteCurve
    b: SuiteCurve
    basis: Basis
    differences: tuple[Difference, ...]
    summary: Summary
    crossovers: tuple[Crossover, ...]
    only_a: tuple[int | None, ...]
    only_b: tuple[int | None, ...]
    regression: str
    notes: tuple[str, ...]
    doubt: str = ""
    invalid: str = ""


class Unmatched(msgspec.Struct, frozen=True):
    """A curve that was compared with nothing, and why.

    ``lost`` is whether A has the curve, and B no figure of its kind: B is not shown to be as good.
    """

    side: Side
    curve: SuiteCurve
    reason: str
    lost: bool = False


class Comparison(msgspec.Struct, frozen=True):
    """B against A. ``tolerance`` is the share of A by which B may be worse."""

    a: Operand
    b: Operand
    tolerance: float
    outcome: ComparisonOutcome
    pairs: tuple[Pair, ...]
    unmatched: tuple[Unmatched, ...]
