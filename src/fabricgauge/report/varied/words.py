"""What the formats say alike: headline, effects with their direction."""

import math

from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Finding, Varied
from fabricgauge.report.quantities import digits, percent, size

MEANING: dict[Finding, str] = {
    "worse": "some level is surely worse than the first by more than the tolerance",
    "different": "levels differ, more clearly than chance explains; none is surely worse than the"
    " first by more than the tolerance",
    "no difference": "nothing differs more than chance explains, and every curve surely differs by"
    " less than 10 %, or is worse by less than the tolerance",
    "undecided": "too few blocks, too much noise, or an arm that is not whole or not valid: whether"
    " anything differs cannot be said; measure more blocks (--launches), or on quieter nodes",
}

#: Effects at single sizes have no place in it.
RANKED = "Factors by their largest clear effect on a whole curve"

HOW = (
    "In each block every arm has one launch, in an order drawn by lot. An effect is the mean over"
    " the blocks of the difference of logarithms. Intervals come from exchanging levels within"
    " blocks, and hold for all effects of a factor at once."
)


def headline(varied: Varied) -> str:
    """The finding in one sentence."""
    names = " and ".join(one.name for one in varied.design.factors)
    worst = _most_telling(varied)
    told = f": {said(worst.whole, worst)}, {worst.title}" if worst else ""
    return {
        "worse": f"{names} matters, and not for the better{told}",
        "different": f"{names} makes a difference{told}",
        "no difference": f"{names} makes no difference that could be seen",
        "undecided": f"whether {names} makes a difference was not decided",
    }[varied.finding]


def _most_telling(varied: Varied) -> CurveEffect | None:
    """The largest clear effect on a whole curve."""
    clear = [one for one in varied.effects if one.whole.clear]
    return max(clear, key=lambda one: abs(one.whole.change), default=None)


def said(effect: Effect, of: CurveEffect) -> str:
    """``mpich: 3.1 % slower than openmpi``."""
    return f"{of.factor} {of.level}: {compared(effect, of.quantity)} than {of.base}"


def compared(effect: Effect, quantity: Quantity) -> str:
    """``3.1 % slower``: of times more is slower, of rates less is."""
    slower = (effect.change > 0) == (quantity in LESS_IS_BETTER)
    word = {"time": ("slower", "faster")}.get(quantity, ("less", "more"))[0 if slower else 1]
    return f"{percent(abs(effect.change))} {word}"


def signed(share: float) -> str:
    """``+12.0 %``; next to nothing is a number too, as an interval may end there: ``−0.03 %``."""
    if math.isnan(share):
        return "–"
    sign = "+" if share > 0 else "−" if share else ""
    small = 0 < abs(share) < 0.0005
    return f"{sign}{f'{digits(100 * abs(share), 1)} %' if small else percent(abs(share))}"


def interval(effect: Effect) -> str:
    if math.isnan(effect.low) or math.isinf(effect.low) or math.isinf(effect.high):
        return "not known"
    return f"{signed(effect.low)} to {signed(effect.high)}"


def chance(effect: Effect) -> str:
    return "–" if math.isnan(effect.chance) else f"{effect.chance:.3g}"


def at(effect: Effect) -> str:
    return "all sizes" if effect.message_bytes is None else size(effect.message_bytes)


def spread(of: CurveEffect) -> str:
    """From the least to the largest change over the sizes."""
    known = [one.change for one in of.sizes if not math.isnan(one.change)]
    return f"{signed(min(known))} … {signed(max(known))}" if known else "–"


def crossings(of: CurveEffect) -> str:
    """Between which sizes the better one becomes the worse, or nothing."""
    return ", ".join(f"{size(one)} and {size(other)}" for one, other in of.crossovers)


def ranking(varied: Varied) -> str:
    """``mpi 12 %, compiler no clear effect``."""
    told = (
        f"{name} {percent(change) if change else 'no clear effect'}"
        for name, change in varied.ranking
    )
    return ", ".join(told)


def design(varied: Varied) -> str:
    one = varied.design
    arms = f"{len(one.arms)} arms" if len(one.arms) != 1 else "1 arm"
    factors = "; ".join(f"{each.name}: {', '.join(each.levels)}" for each in one.factors)
    return f"{factors}; {arms} in {one.blocks} blocks, order drawn with seed {one.seed}"
