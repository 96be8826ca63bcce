"""Stacks and settings measured in turns: the varied factors and their effects."""

from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity

#: Factors whose levels are numbers: ranks on each node, ranks in total, connections at once.
NUMBER_FACTORS = ("ppn", "ranks", "parallel")


class Factor(msgspec.Struct, frozen=True):
    """A varied setting, e.g. ``mpi`` or ``env:FI_PROVIDER``; the first level is the base."""

    name: str
    levels: tuple[str, ...]


class Design(msgspec.Struct, frozen=True):
    """The measured combinations of levels, and their order.

    An arm is one level of each factor; each combination has an arm. A block has one launch of each
    arm (one per network), in a random order by ``seed``: ``order`` are the arms in order, by block.
    A drift from block to block affects all arms equally. ``folders`` are the arms' runs.
    """

    factors: tuple[Factor, ...]
    arms: tuple[tuple[str, ...], ...]
    folders: tuple[Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]+\Z")], ...]
    order: tuple[tuple[int, ...], ...]
    seed: int

    @property
    def blocks(self) -> int:
        return len(self.order)


class Column(msgspec.Struct, frozen=True):
    """A figure of every launch: one size of one curve."""

    title: str
    quantity: Quantity
    message_bytes: int | None


class Figure(NamedTuple):
    """One launch's figure of a column, and the pairs or connections that a rate sums up."""

    value: float
    parts: int = 1


class Effect(msgspec.Struct, frozen=True):
    """A level's figure against the first level's, as a share of that: 0.03 is 3 % more.

    ``message_bytes`` is None for a curve without sizes. ``low`` and ``high`` are an interval that
    holds for all effects of a factor at once with the stated confidence, NaN if too few blocks
    have both. ``chance`` is the probability that chance alone gives an effect as clear as this one.
    """

    message_bytes: int | None
    change: float
    low: float
    high: float
    chance: float
    blocks: int

    @property
    def clear(self) -> bool:
        """True if the interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0


class CurveEffect(msgspec.Struct, frozen=True):
    """One level against the first on one curve: over all sizes, and at each size.

    ``whole`` is the mean over the sizes (of logarithms), for which ``message_bytes`` is None.
    """

    factor: str
    level: str
    base: str
    title: str
    quantity: Quantity
    whole: Effect
    sizes: tuple[Effect, ...]

    def find_worse_effects(self, tolerance: float) -> tuple[Effect, ...]:
        """Return the effects that are certainly worse by more than ``tolerance``, worst first."""
        effects = (self.whole, *self.sizes)
        if self.quantity in LESS_IS_BETTER:
            return tuple(sorted((e for e in effects if e.low > tolerance), key=lambda e: -e.change))
        return tuple(sorted((e for e in effects if e.high < -tolerance), key=lambda e: e.change))

    @property
    def crossovers(self) -> tuple[tuple[int, int], ...]:
        """Pairs of sizes between which a clear effect changes its sign."""
        clear = [
            effect for effect in self.sizes if effect.clear and effect.message_bytes is not None
        ]
        return tuple(
            (smaller.message_bytes or 0, larger.message_bytes or 0)
            for smaller, larger in pairwise(clear)
            if (smaller.change > 0) != (larger.change > 0)
        )


class Level(msgspec.Struct, frozen=True):
    """One level at one size of one curve, in s or bytes/s: medians over the blocks."""

    title: str
    quantity: Quantity
    message_bytes: int | None
    level: str
    figure: Estimate


class Layer(Level, frozen=True):
    """``added`` is the difference from the previous layer, block by block; None for the first."""

    added: Estimate | None


class LevelFigure(Level, frozen=True):
    """A level of a factor whose levels are numbers; ``figure`` has the least and the most block.

    A rate is the sum over ``parts`` (pairs or connections at once); a time has one part.
    """

    factor: str
    parts: int = 1


Influence = Literal["worse", "different", "no difference", "undecided"]


class Varied(msgspec.Struct, frozen=True):
    """All effects. ``ranking`` are the factors; the one with the largest clear effect is first.

    ``layers`` are those of a factor whose levels build on each other, ``levels`` the figures of a
    factor whose levels are numbers. ``tolerance`` is how much
    worse a level may be, as a share of the first level's figure. ``notes`` name missing
    measurements and arms with unreliable figures.
    """

    design: Design
    confidence: float
    tolerance: float
    finding: Influence
    effects: tuple[CurveEffect, ...]
    ranking: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    levels: tuple[LevelFigure, ...] = ()
