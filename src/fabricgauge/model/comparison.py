"""The result of a comparison of two sets of curves: by size, by curve, and in total."""

from typing import Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import SuiteCurve

Side = Literal["A", "B"]

#: B against A at one size: beyond the tolerance, within it, or undecided by the intervals.
Standing = Literal["worse", "better", "within", "open"]

#: The basis of a pair's result. ``launches``: intervals over several launches of each side;
#: ``intervals``: at least one side has the intervals of a single launch; ``means``: most sizes have
#: no interval, so that bare figures decide.
Basis = Literal["launches", "intervals", "means"]

ComparisonOutcome = Literal[
    "invalid", "regression", "no regression", "undecided", "nothing comparable"
]


class Operand(msgspec.Struct, frozen=True):
    """One side of a comparison: its name on the command line, and its source.

    ``name`` is a run's identity, a file's name or a reference's. ``facts`` describe its origin, in
    the order of the report; ``notes`` are cautions. ``invalid`` are the reasons why its figures are
    not those of a network, empty if there are none.
    """

    asked: str
    kind: Literal["run", "file", "reference"]
    name: str
    facts: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """One message size that both sides have; values in the curves' unit.

    ``ratio`` is B's value over A's. ``low`` and ``high`` are its conservative interval:
    B's lower end over A's upper end, and B's upper end over A's lower end. They are None if a side
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
        """B's difference from A as a share of A; positive if B's figure is larger."""
        return self.ratio - 1.0


class Crossover(msgspec.Struct, frozen=True):
    """Two adjacent sizes between which B changes from better to worse, or the reverse.

    ``significant``: the ratio's interval excludes 1 at both sizes; with bare figures, both sizes
    differ by more than the tolerance.
    """

    from_bytes: int
    to_bytes: int
    becomes: Literal["worse", "better"]
    significant: bool


class Summary(msgspec.Struct, frozen=True):
    """All common sizes of one pair of curves together; changes are shares of A.

    ``corrected`` is the number of sizes at which B is worse beyond the tolerance after correction
    for the number of compared sizes and curves (Holm). It is 0 without intervals.
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
        """True if the intervals leave more sizes open than they decide."""
        return 2 * self.open > self.sizes


class Pair(msgspec.Struct, frozen=True):
    """Two curves of the same kind. ``only_a`` and ``only_b`` are sizes that one side has.

    ``regression`` is the reason why B is worse than A, empty if there is none. ``doubt`` is the
    reason why B is not proved to be as good as A: a size is far beyond the tolerance, or B lacks
    figures that A has. ``notes`` name other differences of the two curves (suite, statistic,
    settings). ``invalid`` is the reason why the two are not comparable: one side alone measures
    memory that both ranks share.
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
    """A curve without a counterpart, and the reason.

    ``lost`` is true if A has the curve and B has no figure of its kind: B is not proved to be as
    good.
    """

    side: Side
    curve: SuiteCurve
    reason: str
    lost: bool = False


class Comparison(msgspec.Struct, frozen=True):
    """B against A. ``tolerance`` is the share of A by which B may be worse.

    ``shared`` is the reason why both sides hold one measurement: then nothing is compared.
    """

    a: Operand
    b: Operand
    tolerance: float
    outcome: ComparisonOutcome
    pairs: tuple[Pair, ...]
    unmatched: tuple[Unmatched, ...]
    shared: str = ""
