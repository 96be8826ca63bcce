"""Is a suspect slow in a second measurement, beyond doubt?

The first one found it among thousands of pairs, where chance makes some look slow. The second one
is independent of that choice and asks of few, so that plain statistics apply: the suspect's pairs
against good pairs that were measured beside them, one at a time.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from fabricgauge.model.pairs import Finding, PairAnalysis, Part, Quantity, Suspect
from fabricgauge.stats.pairs.again import CONFIRMED, Sides, sides_of
from fabricgauge.stats.pairs.doubted import Doubted
from fabricgauge.stats.pairs.limits import LEAST, REACH, Limits
from fabricgauge.stats.pairs.noise import FLOOR
from fabricgauge.stats.pairs.significance import INTERVAL, tail
from fabricgauge.stats.series import Series

#: That somebody good is named, of all who are looked at again in a matrix together (Bonferroni).
CHANCE = 0.002
#: Fewer good pairs do not show how far good ones differ.
_FEWEST_GOOD = 3

_LIMITS = Limits()


class Shown(msgspec.Struct, frozen=True):
    """What the suspect's pairs were beside good ones: effect as in :class:`Finding`.

    ``apart`` says that each of them was slower than each good one, ``chance`` how often noise
    does as much.
    """

    effect: float
    error: float
    chance: float
    apart: bool
    pairs: int
    good: int

    def reaches(self, limit: float, suspected: float) -> bool:
        """Whether it may be as large as a fault is."""
        slower = self.effect if suspected > 0 else -self.effect
        return slower + REACH * self.error >= limit and slower >= LEAST * limit


class SecondLook(msgspec.Struct, frozen=True):
    """A second measurement of what an analysis doubts, and how many are looked at."""

    analysis: PairAnalysis
    series: Sequence[Series]
    others: Doubted
    tests: int

    @property
    def _message_bytes(self) -> int:
        return self.analysis.matrix.message_bytes

    def confirmed(self, one: Suspect) -> Finding | None:
        """The suspect as a fault, None where it was not shown to be one."""
        shown = self._shown(one.part, one.names, one)
        if shown is None:
            return None
        part: Part = one.part
        back = one.names[::-1]
        if part == "direction" and (other := self._shown(part, back, one)):
            alike = other.effect / shown.effect
            part = "pair" if alike >= CONFIRMED else part
        evidence = (
            f"among all pairs: {one.reason}; measured again, {_pairs(shown.pairs)} slower than each"
            f" of {shown.good} good ones",
        )
        low, high = (shown.effect + side * INTERVAL * shown.error for side in (-1, 1))
        return Finding(
            part, one.names, one.quantity, self._message_bytes, shown.effect, low, high,
            min(1.0, shown.chance * self.tests), 2 if part == "pair" else shown.pairs, "fault",
            evidence,
        )  # fmt: skip

    def is_cleared(self, one: Suspect) -> bool:
        """Whether it was measured, and is no fault."""
        shown = self._compared(one.part, one.names, one)
        return shown is not None and not shown.reaches(_least(one.quantity), one.effect)

    def _shown(self, part: Part, names: tuple[str, ...], one: Suspect) -> Shown | None:
        shown = self._compared(part, names, one)
        if shown is None or not shown.apart or shown.chance * self.tests > CHANCE:
            return None
        return shown if shown.reaches(_least(one.quantity), one.effect) else None

    def _compared(self, part: Part, names: tuple[str, ...], one: Suspect) -> Shown | None:
        claim = Finding(
            part, names, one.quantity, self._message_bytes, one.effect, one.effect, one.effect,
            1.0, 0, "fault", (),
        )  # fmt: skip
        return _compared(sides_of(self.analysis, claim, self.series, self.others), one.effect)


def _compared(given: Sides, suspected: float) -> Shown | None:
    own, good = np.array(given.own), np.array(given.good)
    if not own.size or good.size < _FEWEST_GOOD:
        return None
    usual = float(np.median(good))
    effects, differences = own / usual - 1.0, good / usual - 1.0
    spread = max(FLOOR, float(differences.std(ddof=1)))
    own_spread = max(spread, float(effects.std(ddof=1)) if own.size > 1 else 0.0)
    error = float(np.sqrt(spread**2 / good.size + own_spread**2 / own.size))
    effect = float(np.median(effects))
    chance = float(tail(np.array([abs(effect) / error]), good.size - 1)[0])
    apart = bool(own.min() > good.max() if suspected > 0 else own.max() < good.min())
    return Shown(effect, error, chance, apart, own.size, good.size)


def _least(quantity: Quantity) -> float:
    return _LIMITS.latency if quantity == "latency" else _LIMITS.bandwidth


def _pairs(count: int) -> str:
    return f"each of its {count} pairs was" if count > 1 else "it was"
