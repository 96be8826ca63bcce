"""Compare B with A: sum up pairs of curves, caution where they are doubtful, give an outcome."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from fabricgauge.compare.differences import (
    ComparedCurves,
    compare_curves,
    doubt,
    holm,
    regression,
)
from fabricgauge.compare.matching import Unlike, as_times, match
from fabricgauge.judge.stats.curves import SUITE, merge_repeats
from fabricgauge.judge.thresholds import DEFAULTS
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
from fabricgauge.model.pattern import BUFFER_WORDS
from fabricgauge.model.suite import RESULTS, SuiteCurve
from fabricgauge.model.words import figures


def summary(differences: Sequence[Difference], corrected: int) -> Summary:
    """Sum up at least one difference; ``corrected`` is as in ``Summary``."""
    changes = [difference.change for difference in differences]
    logarithms = [math.log(difference.ratio) for difference in differences]
    standings = Counter(difference.standing for difference in differences)
    return Summary(
        sizes=len(differences),
        median_change=float(np.median(changes)),
        least_change=min(changes),
        largest_change=max(changes),
        mean_ratio=math.exp(float(np.mean(logarithms))),
        worse=standings["worse"],
        better=standings["better"],
        within=standings["within"],
        open=standings["open"],
        corrected=corrected,
    )


def crossovers(pair: ComparedCurves) -> tuple[Crossover, ...]:
    """Return where the sign of the change turns, in ascending order of size.

    A significant crossover lies between the last size that is clearly on one side and the first
    that is clearly on the other, whatever the sizes between them show.
    """
    sized = [
        difference
        for difference in pair.differences
        if difference.message_bytes is not None and difference.ratio != 1.0
    ]
    clear = [difference for difference in sized if _is_clear(difference, pair)]
    turns = list(_find_turns(clear, pair.less_is_better, significant=True))
    ranges = [(turn.from_bytes, turn.to_bytes) for turn in turns]
    turns += (
        turn
        for turn in _find_turns(sized, pair.less_is_better, significant=False)
        if all(to <= turn.from_bytes or turn.to_bytes <= start for start, to in ranges)
    )
    return tuple(sorted(turns, key=lambda turn: turn.from_bytes))


def _is_clear(difference: Difference, pair: ComparedCurves) -> bool:
    if pair.basis == "means":
        return abs(difference.change) > pair.tolerance
    low, high = difference.low, difference.high
    return low is not None and (low > 1.0 or (high is not None and high < 1.0))


def _find_turns(
    differences: Sequence[Difference], less_is_better: bool, significant: bool
) -> Iterator[Crossover]:
    for smaller, larger in pairwise(differences):
        if (smaller.ratio > 1.0) != (larger.ratio > 1.0):
            is_worse = (larger.ratio > 1.0) == less_is_better
            sizes = smaller.message_bytes or 0, larger.message_bytes or 0
            yield Crossover(*sizes, "worse" if is_worse else "better", significant)


_ONE_LAUNCH = (
    "one launch on at least one side: the intervals do not contain differences between launches;"
    " measure several (--profile standard)"
)
#: The limit of the rule `floor` for the quickest networks.
NO_NETWORK_S = 0.5e-6
#: Memory that ranks share takes 0.1 to 0.7 µs: a higher latency is not taken for memory's.
MOST_OF_MEMORY_S = 0.7e-6
_MEANS = "means only: no interval possible"


def cautions(pair: ComparedCurves) -> Iterator[str]:
    """Yield reasons for caution as sentences, the weightiest first."""
    a, b = pair.a, pair.b
    if pair.basis == "intervals":
        yield _ONE_LAUNCH
    elif pair.basis == "means" and a.statistic == b.statistic == "median":
        bare = sum(difference.low is None for difference in pair.differences)
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
    a_memory, b_memory = (curve.settings.get("memory", "host") for curve in (a, b))
    if a_memory != b_memory:
        yield f"A's buffers were in {a_memory} memory, B's in {b_memory} memory"
    # Another suite need not state its buffers.
    a_buffers, b_buffers = (
        curve.settings.get("buffers", "fewest" if curve.suite == SUITE else "") for curve in (a, b)
    )
    if a_buffers and b_buffers and a_buffers != b_buffers:
        yield (
            f"A's messages have {BUFFER_WORDS.get(a_buffers, a_buffers)}, B's"
            f" {BUFFER_WORDS.get(b_buffers, b_buffers)}: inside a node this alone changes rates"
        )
    for key in sorted(a.settings.keys() & b.settings.keys()):
        if key not in {*RESULTS, "memory", "buffers"} and a.settings[key] != b.settings[key]:
            yield f"{key} is {a.settings[key]} in A, {b.settings[key]} in B"
    if a.ranks is not None and b.ranks is not None and a.ranks != b.ranks:
        yield f"A ran on {a.ranks} ranks, B on {b.ranks}"
    losses = a.evidence.losses, b.evidence.losses
    if losses[0] and losses[1]:
        shares = [side_losses.find_share() for side_losses in losses if side_losses]
        if shares[1] > max(2 * shares[0], DEFAULTS.value("errors.share")):
            verb = "TCP sent again" if losses[1].over_tcp else "the network lost"
            of_a, of_b = (figures.percent(share) for share in shares)
            yield f"{verb} {of_b} of B's packets, {of_a} of A's"
    yield from _side_cautions("A", a)
    yield from _side_cautions("B", b)


def _side_cautions(side: Side, curve: SuiteCurve) -> Iterator[str]:
    if why := _memory_sign(curve):
        yield f"{side} {why}: memory that both ranks share was measured"
    if curve.cut_off:
        yield f"{side} is cut off: {curve.cut_off}"
    for failure in curve.failures:
        place = "" if failure.message_bytes is None else f" at {failure.message_bytes} bytes"
        yield f"{side} has no figure{place} (line {failure.line}): {failure.trouble}"


def _memory_sign(curve: SuiteCurve) -> str:
    """Return why a curve is that of memory which both ranks share; empty without a sign."""
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
    """Return the least half round trip in s, infinite for another figure."""
    if curve.pattern != "latency" or curve.quantity != "time":
        return math.inf
    return min((point.estimate.value for point in curve.points), default=math.inf)


def _incomparable(a: SuiteCurve, b: SuiteCurve) -> str:
    """Return why two curves are not comparable: only one is memory that both ranks share."""
    for side, curve, other_curve in (("A", a, b), ("B", b, a)):
        why = _memory_sign(curve)
        if why and not _memory_sign(other_curve) and _quickest(other_curve) > MOST_OF_MEMORY_S:
            return f"{side} {why}, and the other side is not shown to be memory"
    return ""


#: The outcome of a run for each outcome of a comparison; the exit status follows from it.
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
    unlike: Sequence[Unlike] = (),
    shared: str = "",
) -> Comparison:
    """Compare every curve of B with A's of its kind, or with A's of an ``unlike`` name.

    ``tolerance`` is a share of A, 0 to below 1. Repetitions of one benchmark are merged.
    ``shared`` is the reason why both sides are one measurement.

    Raises:
        UsageError: two ``unlike`` names have no curves to compare.
    """
    a_usable, a_unusable = _usable_curves("A", a_curves)
    b_usable, b_unusable = _usable_curves("B", b_curves)
    matched, unmatched = match(a_usable, b_usable, unlike)
    compared = []
    for curves in (compare_curves(*pair, tolerance) for pair in matched):
        if curves.differences:
            compared.append(curves)
        else:
            sides: tuple[tuple[Side, SuiteCurve], ...] = (("A", curves.a), ("B", curves.b))
            unmatched += [Unmatched(side, curve, _NO_SIZE) for side, curve in sides]
    pairs = _correct_pairs(compared)
    # B lacks these curves of A, unless another column of their table was compared.
    tables = {_table_of(pair.a) for pair in pairs}
    marked = (
        replace(entry, lost=entry.side == "A" and _table_of(entry.curve) not in tables)
        for entry in unmatched
    )
    all_unmatched = (*a_unusable, *b_unusable, *marked)
    is_invalid = shared or a.invalid or b.invalid
    outcome = "invalid" if is_invalid else _outcome(pairs, all_unmatched)
    return Comparison(a, b, tolerance, outcome, pairs, all_unmatched, shared)


def _table_of(curve: SuiteCurve) -> tuple[object, ...]:
    """Return a key that the columns of one table, and no others, share."""
    network = curve.settings.get("network", "")
    return curve.source, curve.benchmark, curve.first_line, curve.hosts, network, curve.pairs


def _usable_curves(
    side: Side, curves: Sequence[SuiteCurve]
) -> tuple[list[SuiteCurve], list[Unmatched]]:
    empty = [Unmatched(side, curve, _NO_FIGURE) for curve in curves if not curve.points]
    curves_with_points, derived = as_times(side, [curve for curve in curves if curve.points])
    return list(merge_repeats(curves_with_points)), empty + derived


def _correct_pairs(compared: Sequence[ComparedCurves]) -> tuple[Pair, ...]:
    rejected = iter(holm([p for curves in compared for p in curves.p_values]))
    return tuple(
        _pair_of(curves, sum(next(rejected) for _ in curves.p_values), len(compared))
        for curves in compared
    )


def _pair_of(curves: ComparedCurves, corrected: int, pairs: int) -> Pair:
    a, b, overall = curves.a, curves.b, summary(curves.differences, corrected)
    worse = regression(curves, overall, pairs)
    return Pair(
        a=a,
        b=b,
        basis=curves.basis,
        differences=curves.differences,
        summary=overall,
        crossovers=crossovers(curves),
        only_a=curves.only_a,
        only_b=curves.only_b,
        regression=worse,
        notes=tuple(cautions(curves)),
        doubt="" if worse else doubt(curves),
        invalid=_incomparable(a, b),
    )


def _outcome(pairs: Sequence[Pair], unmatched: Iterable[Unmatched]) -> ComparisonOutcome:
    if not pairs:
        return "nothing comparable"
    if any(pair.invalid for pair in pairs):
        return "invalid"
    if any(pair.regression for pair in pairs):
        return "regression"
    if any(entry.lost for entry in unmatched):
        return "undecided"
    if any(pair.doubt for pair in pairs) or all(pair.summary.undecided for pair in pairs):
        return "undecided"
    return "no regression"
