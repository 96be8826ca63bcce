"""B against A: what this stage takes and gives."""

from collections.abc import Sequence

from fabricgauge.compare.alarm import regression
from fabricgauge.compare.cautions import cautions
from fabricgauge.compare.differences import Compared, compared
from fabricgauge.compare.matching import match
from fabricgauge.compare.pingpong import as_times
from fabricgauge.compare.significance import holm
from fabricgauge.compare.summary import crossovers, summary
from fabricgauge.model.comparison import Comparison, Operand, Outcome, Pair, Side, Unmatched
from fabricgauge.model.suite import LESS_IS_BETTER, SuiteCurve
from fabricgauge.stats.repeats import merged

#: docs/reference/cli.md: 3 is "nothing decided".
EXIT_STATUS: dict[Outcome, int] = {
    "regression": 1,
    "no regression": 0,
    "undecided": 3,
    "nothing comparable": 3,
}

_NO_FIGURE = "it has no usable figure"
_NO_SIZE = "the two have no message size in common"


def compare(
    a: Operand,
    a_curves: Sequence[SuiteCurve],
    b: Operand,
    b_curves: Sequence[SuiteCurve],
    tolerance: float,
) -> Comparison:
    """Hold every curve of B against A's of its kind.

    ``tolerance`` is a share of A, 0 to below 1. Repetitions of one benchmark are merged.
    """
    ours, alone = _usable("A", a_curves)
    others, more = _usable("B", b_curves)
    matched, unmatched = match(ours, others)
    looked_at = [compared(one, other, tolerance) for one, other in matched]
    pairs = _pairs([one for one in looked_at if one.differences], tolerance)
    nothing = [one for one in looked_at if not one.differences]
    apart = [Unmatched(side, curve, _NO_SIZE) for one in nothing for side, curve in _sides(one)]
    left = (*alone, *more, *unmatched, *apart)
    return Comparison(a, b, tolerance, _outcome(pairs), pairs, left)


def _sides(pair: Compared) -> tuple[tuple[Side, SuiteCurve], ...]:
    return ("A", pair.a), ("B", pair.b)


def _usable(side: Side, curves: Sequence[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    filled = [curve for curve in curves if curve.points]
    empty = [Unmatched(side, curve, _NO_FIGURE) for curve in curves if not curve.points]
    kept, told = as_times(side, filled)
    return list(merged(kept)), empty + told


def _pairs(looked_at: Sequence[Compared], tolerance: float) -> tuple[Pair, ...]:
    """Holm's correction spans all sizes of all pairs, then each pair gets its share back."""
    rejected = iter(holm([p for one in looked_at for p in one.p_values]))
    counts = [sum(next(rejected) for _ in one.p_values) for one in looked_at]
    return tuple(
        _pair(one, count, tolerance, len(looked_at))
        for one, count in zip(looked_at, counts, strict=True)
    )


def _pair(one: Compared, corrected: int, tolerance: float, pairs: int) -> Pair:
    together = summary(one.differences, corrected)
    less = one.a.quantity in LESS_IS_BETTER
    return Pair(
        a=one.a,
        b=one.b,
        basis=one.basis,
        differences=one.differences,
        summary=together,
        crossovers=crossovers(one.differences, one.basis, tolerance, less),
        only_a=one.only_a,
        only_b=one.only_b,
        regression=regression(
            one.differences, together, one.basis, one.a.quantity, tolerance, pairs
        ),
        notes=cautions(one),
    )


def _outcome(pairs: Sequence[Pair]) -> Outcome:
    if not pairs:
        return "nothing comparable"
    if any(pair.regression for pair in pairs):
        return "regression"
    if all(pair.summary.undecided for pair in pairs):
        return "undecided"
    return "no regression"
