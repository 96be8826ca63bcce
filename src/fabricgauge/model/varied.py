"""Stacks and settings measured in turns: what was varied, and what difference it made."""

from itertools import pairwise
from typing import Annotated, Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, Quantity


class Factor(msgspec.Struct, frozen=True):
    """What is varied, e.g. ``mpi`` or ``env:FI_PROVIDER``; others are held against level one."""

    name: str
    levels: tuple[str, ...]


class Design(msgspec.Struct, frozen=True):
    """Which combinations of levels are measured, and in which order.

    An arm is one level of each factor; there is one for every combination. A block has one
    launch of each arm (one per network), in an order drawn by ``seed``: ``order`` is, by block, the
    arms in turn. What drifts from block to block touches all arms alike. ``folders`` are the arms'
    runs.
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


class Effect(msgspec.Struct, frozen=True):
    """A level's figure against the first level's, as a share of that: 0.03 is 3 % more.

    ``message_bytes`` is None for a curve without sizes. ``low`` and ``high`` are an interval that
    holds for all effects of a factor at once with the stated confidence, NaN where too few blocks
    have both. ``chance`` is how often chance alone makes some effect as clear as this one.
    """

    message_bytes: int | None
    change: float
    low: float
    high: float
    chance: float
    blocks: int

    @property
    def clear(self) -> bool:
        """Whether it is no chance."""
        return self.low > 0.0 or self.high < 0.0


class CurveEffect(msgspec.Struct, frozen=True):
    """One level against the first on one curve: over all its sizes together, and at each.

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
        """Where the level is surely worse than the base by more than a share, the worst first."""
        every = (self.whole, *self.sizes)
        if self.quantity in LESS_IS_BETTER:
            return tuple(sorted((e for e in every if e.low > tolerance), key=lambda e: -e.change))
        return tuple(sorted((e for e in every if e.high < -tolerance), key=lambda e: e.change))

    @property
    def crossovers(self) -> tuple[tuple[int, int], ...]:
        """Between which sizes a clear effect turns into its opposite."""
        clear = [one for one in self.sizes if one.clear and one.message_bytes is not None]
        return tuple(
            (one.message_bytes or 0, other.message_bytes or 0)
            for one, other in pairwise(clear)
            if (one.change > 0) != (other.change > 0)
        )


class Layer(msgspec.Struct, frozen=True):
    """One layer at one size of one curve, in s or bytes/s: medians over the blocks.

    ``added`` is the difference to the layer that was named before it, block by block; None of the
    first one.
    """

    title: str
    quantity: Quantity
    message_bytes: int | None
    level: str
    figure: Estimate
    added: Estimate | None


Influence = Literal["worse", "different", "no difference", "undecided"]


class Varied(msgspec.Struct, frozen=True):
    """All effects. ``ranking`` are the factors; the one with the largest clear effect is first.

    ``layers`` are those of a factor whose levels stand on each other.

    ``tolerance`` is how much worse a level may be, as a share of the first level's figure.
    ``notes`` say what was not measured, and which arm's figures are not to be trusted.
    """

    design: Design
    confidence: float
    tolerance: float
    finding: Influence
    effects: tuple[CurveEffect, ...]
    ranking: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
