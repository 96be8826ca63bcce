"""B against A: pairs of curves in a few figures, what makes these doubtful, and the outcome."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from fabricgauge.compare.differences import Compared, compared, doubt, holm, regression
from fabricgauge.compare.matching import as_times, match
from fabricgauge.model import verdict
from fabricgauge.model.comparison import (
    Comparison,
    ComparisonOutcome,
    Crossover,
    Difference,
    Operand,
    Pair,
    Side,
    Summary,
    Unmatched,
)
from fabricgauge.model.suite import RESULTS, SuiteCurve
from fabricgauge.stats.repeats import merged


def summary(differences: Sequence[Difference], corrected: int) -> Summary:
    """Over at least one difference; ``corrected`` as in ``Summary``."""
    changes = [one.change for one in differences]
    standings = Counter(one.standing for one in differences)
    return Summary(
        sizes=len(differences),
        median_change=float(np.median(changes)),
        least_change=min(changes),
        largest_change=max(changes),
        mean_ratio=math.exp(float(np.mean([math.log(one.ratio) for one in differences]))),
        worse=standings["worse"],
        better=standings["better"],
        within=standings["within"],
        open=standings["open"],
        corrected=corrected,
    )


def crossovers(pair: Compared) -> tuple[Crossover, ...]:
    """Where the sign of the change turns, in ascending order of size.

    A significant one lies between the last size that is surely on one side and the first
    that is surely on the other, whatever the sizes between them say.
    """
    sized = [one for one in pair.differences if one.message_bytes is not None and one.ratio != 1.0]
    sure = [one for one in sized if _sure(one, pair)]
    found = list(_turns(sure, pair.less_is_better, significant=True))
    apart = [
        turn
        for turn in _turns(sized, pair.less_is_better, significant=False)
        if all(o.to_bytes <= turn.from_bytes or turn.to_bytes <= o.from_bytes for o in found)
    ]
    return tuple(sorted((*found, *apart), key=lambda one: one.from_bytes))


def _sure(difference: Difference, pair: Compared) -> bool:
    if pair.basis == "means":
        return abs(difference.change) > pair.tolerance
    low, high = difference.low, difference.high
    return low is not None and (low > 1.0 or (high is not None and high < 1.0))


def _turns(
    differences: Sequence[Difference], less_is_better: bool, significant: bool
) -> Iterator[Crossover]:
    for one, other in pairwise(differences):
        if (one.ratio > 1.0) != (other.ratio > 1.0):
            becomes: Literal["worse", "better"] = (
                "worse" if (other.ratio > 1.0) == less_is_better else "better"
            )
            sizes = one.message_bytes or 0, other.message_bytes or 0
            yield Crossover(*sizes, becomes, significant)


_ONE_LAUNCH = (
    "one launch on at least one side: what differs from launch to launch is in no interval"
    " here; measure with several (--profile standard)"
)
#: As the rule `floor` has it for the quickest of networks.
NO_NETWORK_S = 0.5e-6
#: Memory that ranks share takes 0.1 to 0.7 µs: a latency above is not taken for memory's.
MOST_OF_MEMORY_S = 0.7e-6
_MEANS = "means only: no interval possible"


def cautions(pair: Compared) -> Iterator[str]:
    """Sentences for a person, the weightiest first."""
    a, b = pair.a, pair.b
    if pair.basis == "intervals":
        yield _ONE_LAUNCH
    elif pair.basis == "means" and a.statistic == b.statistic == "median":
        bare = sum(one.low is None for one in pair.differences)
        yield (
            f"too few samples or repetitions for an interval at {bare} of {len(pair.differences)}"
            " sizes: the bare figures decide"
        )
    elif pair.basis == "means":
        yield _MEANS
    if a.statistic != b.statistic:
        yield (
            f"A's figures are of kind {a.statistic}, B's {b.statistic}: where times are skewed"
            " these differ by themselves"
        )
    if a.what.casefold() != b.what.casefold():
        yield f"A measured: {a.what}; B: {b.what}"
    if a.transport and b.transport and a.transport != b.transport:
        yield f"A went over {a.transport}, B over {b.transport}"
    lay = [one.settings.get("memory", "host") for one in (a, b)]
    if lay[0] != lay[1]:
        yield f"A's buffers lay in {lay[0]} memory, B's in {lay[1]} memory"
    yield from _settings(a, b)
    yield from _of_side("A", a)
    yield from _of_side("B", b)


def _settings(a: SuiteCurve, b: SuiteCurve) -> Iterator[str]:
    for key in sorted(a.settings.keys() & b.settings.keys()):
        if key not in {*RESULTS, "memory"} and a.settings[key] != b.settings[key]:
            yield f"{key} is {a.settings[key]} in A, {b.settings[key]} in B"
    if a.ranks is not None and b.ranks is not None and a.ranks != b.ranks:
        yield f"A ran on {a.ranks} ranks, B on {b.ranks}"


def _of_side(side: Side, curve: SuiteCurve) -> Iterator[str]:
    if why := _in_memory(curve):
        yield f"{side} {why}: memory that both ranks share was measured"
    if curve.cut_off:
        yield f"{side} is cut off: {curve.cut_off}"
    for failure in curve.failures:
        where = "" if failure.message_bytes is None else f" at {failure.message_bytes} bytes"
        yield f"{side} has no figure{where} (line {failure.line}): {failure.trouble}"


def _in_memory(curve: SuiteCurve) -> str:
    """Why a curve is that of memory which both ranks share; empty if nothing shows it."""
    quickest = _quickest(curve)
    if quickest < NO_NETWORK_S:
        return (
            f"reaches {quickest * 1e6:.2f} µs, which no network does (at least"
            f" {NO_NETWORK_S * 1e6:g} µs)"
        )
    if curve.pattern is None:
        return ""
    return f"stays inside a node ({curve.inside_node})" if curve.inside_node else ""


def _quickest(curve: SuiteCurve) -> float:
    """The least half round trip in s, infinite for another figure."""
    if curve.pattern != "latency" or curve.quantity != "time":
        return math.inf
    return min((one.estimate.value for one in curve.points), default=math.inf)


def _invalid(a: SuiteCurve, b: SuiteCurve) -> str:
    """Why two curves are not comparable: one alone is memory that both ranks share."""
    for side, one, another in (("A", a, b), ("B", b, a)):
        why = _in_memory(one)
        if why and not _in_memory(another) and _quickest(another) > MOST_OF_MEMORY_S:
            return f"{side} {why}, and the other side is not shown to be memory"
    return ""


#: What each outcome is among those of a run; the exit status follows from that.
AS_OF_A_RUN: dict[ComparisonOutcome, verdict.Outcome] = {
    "invalid": verdict.Outcome.INVALID,
    "regression": verdict.Outcome.FAIL,
    "no regression": verdict.Outcome.PASS,
    "undecided": verdict.Outcome.INCONCLUSIVE,
    "nothing comparable": verdict.Outcome.INCONCLUSIVE,
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
    pairs = _pairs([one for one in looked_at if one.differences])
    apart = [
        left_out
        for one in looked_at
        if not one.differences
        for left_out in (Unmatched("A", one.a, _NO_SIZE), Unmatched("B", one.b, _NO_SIZE))
    ]
    left = (*alone, *more, *_with_lost(pairs, (*unmatched, *apart)))
    outcome = "invalid" if a.invalid or b.invalid else _outcome(pairs, left)
    return Comparison(a, b, tolerance, outcome, pairs, left)


def _with_lost(pairs: Sequence[Pair], left: Iterable[Unmatched]) -> tuple[Unmatched, ...]:
    """Mark the curves of A that B lacks, unless another column of the table was compared."""
    compared_tables = {_place(pair.a) for pair in pairs}
    return tuple(
        msgspec.structs.replace(one, lost=True)
        if one.side == "A" and _place(one.curve) not in compared_tables
        else one
        for one in left
    )


def _place(curve: SuiteCurve) -> tuple[object, ...]:
    """What the columns of one table, and they alone, have in common."""
    network = curve.settings.get("network", "")
    return curve.source, curve.benchmark, curve.first_line, curve.hosts, network, curve.pairs


def _usable(side: Side, curves: Sequence[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    empty = [Unmatched(side, curve, _NO_FIGURE) for curve in curves if not curve.points]
    kept, told = as_times(side, [curve for curve in curves if curve.points])
    return list(merged(kept)), empty + told


def _pairs(looked_at: Sequence[Compared]) -> tuple[Pair, ...]:
    """Holm's correction spans all sizes of all pairs, then each pair gets its share back."""
    rejected = iter(holm([p for one in looked_at for p in one.p_values]))
    counts = [sum(next(rejected) for _ in one.p_values) for one in looked_at]
    each = zip(looked_at, counts, strict=True)
    return tuple(_pair(one, count, len(looked_at)) for one, count in each)


def _pair(one: Compared, corrected: int, pairs: int) -> Pair:
    together = summary(one.differences, corrected)
    worse = regression(one, together, pairs)
    return Pair(
        a=one.a,
        b=one.b,
        basis=one.basis,
        differences=one.differences,
        summary=together,
        crossovers=crossovers(one),
        only_a=one.only_a,
        only_b=one.only_b,
        regression=worse,
        notes=tuple(cautions(one)),
        doubt="" if worse else doubt(one),
        invalid=_invalid(one.a, one.b),
    )


def _outcome(pairs: Sequence[Pair], left: Iterable[Unmatched]) -> ComparisonOutcome:
    if not pairs:
        return "nothing comparable"
    if any(pair.invalid for pair in pairs):
        return "invalid"
    if any(pair.regression for pair in pairs):
        return "regression"
    if any(one.lost for one in left):
        return "undecided"
    if any(pair.doubt for pair in pairs) or all(pair.summary.undecided for pair in pairs):
        return "undecided"
    return "no regression"
