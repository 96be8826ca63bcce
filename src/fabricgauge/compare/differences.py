"""Compare two curves of one kind at their common sizes, and decide if B is worse than A.

Among many sizes some differ by chance, and the interval of a single launch does not contain
differences between launches. So one size beyond the tolerance is not enough. One of these must
hold:

- More sizes are worse than better, or more are worse in a row, than tossing coins explains. This
  holds for noise of any width, if it is as likely to favour one side as the other.
- A size is so far beyond the tolerance that it remains after Holm's correction for all sizes.
- Some sizes are many times worse, with an interval or not: no disturbed sample explains that.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import NormalDist

import msgspec

from fabricgauge.model.comparison import Basis, Difference, Standing, Summary
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, Failure, SuiteCurve, SuitePoint
from fabricgauge.model.words.figures import times

#: The chance of a false alarm over all sizes and curves that Holm's correction keeps to.
FAMILY_ERROR = 0.05
#: Standard deviation of a whole launch, as a share, while no other launch is known: the share
#: from which judge/thresholds.py warns of launches that differ.
LAUNCH_ALLOWANCE = 0.05

_NORMAL = NormalDist()


def ratio_interval(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """Return the ends of B over A; None if a side has no meaningful interval."""
    if not (a.supported and b.supported and a.low > 0 and b.low > 0):
        return None
    return b.low / a.high, b.high / a.low


def standing(
    ratio: float, interval: tuple[float, float] | None, tolerance: float, less_is_better: bool
) -> Standing:
    """Place B in A's band of ``1 ± tolerance``; bare figures are never ``open``."""
    low, high = interval or (ratio, ratio)
    if low > 1.0 + tolerance:
        return "worse" if less_is_better else "better"
    if high < 1.0 - tolerance:
        return "better" if less_is_better else "worse"
    return "within" if low >= 1.0 - tolerance and high <= 1.0 + tolerance else "open"


def chance_of_no_loss(a: Estimate, b: Estimate, tolerance: float, less_is_better: bool) -> float:
    """Return the one-sided p-value of "B is worse than A by no more than the tolerance".

    The distance to the tolerance on the logarithmic scale, in units of both standard errors added
    (not their squares, which is less conservative), is taken as normal.
    """
    sign = 1.0 if less_is_better else -1.0
    loss = sign * math.log(b.value / a.value)
    allowed = sign * math.log1p(sign * tolerance)
    return _NORMAL.cdf(-(loss - allowed) / (_standard_error(a) + _standard_error(b)))


def _standard_error(estimate: Estimate) -> float:
    """Return the error from the wider half of the interval, at the lesser of two confidences.

    The hull of n launches holds the median over launches with 1 - 2^(1-n) only, which
    matters if launches differ by more than the samples within one. A few launches
    may agree by luck, and one always does: hence the allowance, over n.
    """
    half = max(
        math.log(estimate.high / estimate.value), math.log(estimate.value / estimate.low), 0.0
    )
    launches = max(estimate.launches, 1)
    confidence = estimate.confidence
    if launches > 1:
        confidence = min(confidence, 1.0 - 2.0 ** (1 - launches))
    deviates = _NORMAL.inv_cdf(0.5 + min(confidence, 0.9999) / 2.0)  # half width, normal
    return math.hypot(half / deviates, LAUNCH_ALLOWANCE / launches)


def holm(p_values: Sequence[float]) -> tuple[bool, ...]:
    """Return which hypotheses are rejected if the chance of any false rejection is FAMILY_ERROR.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6, 1979.
    """
    rejected = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > FAMILY_ERROR / (len(p_values) - rank):
            break
        rejected[place] = True
    return tuple(rejected)


#: With one launch on a side, no interval contains differences between launches.
SEVERAL_LAUNCHES = 2


class ComparedCurves(msgspec.Struct, frozen=True):
    """The sizes of a pair of curves.

    ``p_values`` are those of the differences with intervals, in order. ``times_worse`` has for each
    difference how many times as bad B is as ``tolerance`` allows. ``lost`` are B's rows without a
    figure at sizes where A has one.
    """

    a: SuiteCurve
    b: SuiteCurve
    tolerance: float
    basis: Basis
    differences: tuple[Difference, ...]
    times_worse: tuple[float, ...]
    p_values: tuple[float, ...]
    only_a: tuple[int | None, ...]
    only_b: tuple[int | None, ...]
    lost: tuple[Failure, ...]

    @property
    def less_is_better(self) -> bool:
        return self.a.quantity in LESS_IS_BETTER


def compare_curves(a: SuiteCurve, b: SuiteCurve, tolerance: float) -> ComparedCurves:
    """Compare two curves at every size; a figure of zero counts as not measured.

    Among sizes with intervals, one without an interval decides nothing.
    """
    a_points, b_points = _measured_points(a), _measured_points(b)
    less_is_better = a.quantity in LESS_IS_BETTER
    differences = tuple(
        _compare_points(a_point, b_points[size], less_is_better, tolerance)
        for size, a_point in a_points.items()
        if size in b_points
    )
    basis = _basis(differences)
    if basis != "means":
        differences = tuple(
            difference
            if difference.low is not None
            else msgspec.structs.replace(difference, standing="open")
            for difference in differences
        )
    only_a = tuple(size for size in a_points if size not in b_points)
    return ComparedCurves(
        a=a,
        b=b,
        tolerance=tolerance,
        basis=basis,
        differences=differences,
        times_worse=tuple(
            difference.ratio / (1.0 + tolerance)
            if less_is_better
            else (1.0 - tolerance) / difference.ratio
            for difference in differences
        ),
        p_values=tuple(
            chance_of_no_loss(difference.a, difference.b, tolerance, less_is_better)
            for difference in differences
            if difference.low is not None
        ),
        only_a=only_a,
        only_b=tuple(size for size in b_points if size not in a_points),
        lost=tuple(difference for difference in b.failures if difference.message_bytes in only_a),
    )


def _measured_points(curve: SuiteCurve) -> dict[int | None, SuitePoint]:
    return {point.message_bytes: point for point in curve.points if point.estimate.value > 0}


def _compare_points(
    a: SuitePoint, b: SuitePoint, less_is_better: bool, tolerance: float
) -> Difference:
    ratio, ends = b.estimate.value / a.estimate.value, ratio_interval(a.estimate, b.estimate)
    band = standing(ratio, ends, tolerance, less_is_better)
    low, high = ends or (None, None)
    return Difference(a.message_bytes, a.estimate, b.estimate, ratio, low, high, band)


def _basis(differences: tuple[Difference, ...]) -> Basis:
    with_interval = [difference for difference in differences if difference.low is not None]
    if 2 * len(with_interval) < len(differences) or not with_interval:
        return "means"
    fewest = min(min(difference.a.launches, difference.b.launches) for difference in with_interval)
    return "launches" if fewest >= SEVERAL_LAUNCHES else "intervals"


#: In a single launch one size in this many may be disturbed as a whole.
SIZES_PER_DISTURBANCE = 12
#: At a size with too few samples for an interval, chance makes no median this many times worse.
GROSS = 2.0
#: No disturbed sample or launch makes two sizes, or a single one, this many times worse.
#: A second's stall in a thousand messages of 10 µs makes their mean a hundred times worse.
FAR, FAR_ALONE = 10.0, 1000.0


def regression(pair: ComparedCurves, summary: Summary, pairs: int) -> str:
    """Return the reason for an alarm over one of ``pairs`` pairs of curves, empty without one."""
    if corrupt := sum(difference.trouble == "corrupt" for difference in pair.lost):
        return f"B has wrong data at {_sizes(corrupt)} where A has figures"
    if pair.basis == "means":
        change = summary.median_change if pair.less_is_better else -summary.median_change
        if change > pair.tolerance:
            return (
                "by the bare figures the median over the sizes is worse by more than the tolerance"
            )
        return _worse_run(pair, summary) or _far_worse(pair)
    run_length = longest_run(pair.differences)
    if chance_of_more(summary.worse, summary.better) <= FAMILY_ERROR / pairs:
        return (
            f"beyond the tolerance and all intervals B is worse at {summary.worse} sizes and"
            f" better at {summary.better}"
        )
    if chance_of_run(run_length, summary.sizes) <= FAMILY_ERROR / pairs:
        return f"beyond the tolerance and all intervals B is worse at {run_length} sizes in a row"
    sizes_worse = zip(pair.differences, pair.times_worse, strict=True)
    gross = sum(difference.low is None and times >= GROSS for difference, times in sizes_worse)
    disturbed = 1 + math.ceil(summary.sizes / SIZES_PER_DISTURBANCE)
    required = 1 if pair.basis == "launches" else min(summary.sizes, disturbed)
    if summary.corrected + gross >= required:
        sizes = _sizes(summary.corrected)
        loss = f"B is worse beyond the tolerance at {sizes} even after Holm's correction for all"
        if not gross:
            return loss
        gross_loss = f"at least {GROSS:g} times worse at {_sizes(gross)} without an interval"
        return f"{loss}, and {gross_loss}" if summary.corrected else f"B is {gross_loss}"
    return _far_worse(pair)


def doubt(pair: ComparedCurves) -> str:
    """Return why a pair without an alarm may still have a regression; empty if it has none.

    B must have a figure wherever A has one, unless it was not requested.

    Bare figures cannot be distinguished from chance, so each must be within the tolerance. If
    intervals are known, they do not explain a size that is many times worse.
    """
    is_bare = pair.basis == "means"
    worse_ratios = [
        ratio
        for difference, ratio in zip(pair.differences, pair.times_worse, strict=True)
        if ratio > (1.0 if is_bare else GROSS)
        and (difference.standing == "worse" or difference.low is None)
    ]
    if worse_ratios:
        sizes = f"{len(worse_ratios)} of {len(pair.differences)} sizes"
        reason = (
            f"B is worse beyond the tolerance at {sizes}, up to {times(max(worse_ratios))} times"
        )
        reason = f"by the bare figures {reason}" if is_bare else reason
    elif _mostly_worse(pair):
        worse = sum(difference.standing == "worse" for difference in pair.differences)
        reason = (
            f"B is worse beyond the tolerance and all intervals at {worse} of"
            f" {len(pair.differences)} sizes, too few for an alarm"
        )
    elif pair.lost:
        reason = f"B has no figure at {_sizes(len(pair.lost))} where A has one"
    elif pair.b.cut_off and pair.only_a:
        reason = f"A has {_sizes(len(pair.only_a))} more, and B may be cut off"
    else:
        return ""
    return f"{reason}; measure these again"


def _mostly_worse(pair: ComparedCurves) -> bool:
    """Check whether B is worse at most of several sizes, and better at none."""
    standings = [difference.standing for difference in pair.differences]
    worse = standings.count("worse")
    return worse >= LEAST_WORSE and 2 * worse > len(standings) and "better" not in standings


def _sizes(count: int) -> str:
    return "one size" if count == 1 else f"{count} sizes"


def _far_worse(pair: ComparedCurves) -> str:
    """Report sizes that are so much worse that no disturbed sample explains them."""
    far_count = sum(ratio >= FAR for ratio in pair.times_worse)
    largest = max(pair.times_worse, default=0.0)
    if far_count < 2 and largest < FAR_ALONE:
        return ""
    return f"B is up to {largest:,.0f} times worse; at {_sizes(far_count)} at least {FAR:g} times"


#: One or two disturbed sizes do not leave a pair of curves in doubt.
LEAST_WORSE = 3
#: One or two disturbed samples do not make this many neighbouring sizes worse.
LEAST_RUN = 4


def _worse_run(pair: ComparedCurves, summary: Summary) -> str:
    """Report neighbouring sizes that are worse: all large messages may be, and no small one."""
    run_length = longest_run(pair.differences)
    if run_length < LEAST_RUN or summary.better >= summary.worse:
        return ""
    return f"by the bare figures B is worse beyond the tolerance at {run_length} sizes in a row"


def longest_run(differences: Sequence[Difference]) -> int:
    """Return the largest number of neighbouring sizes that are worse."""
    runs = groupby(difference.standing for difference in differences)
    return max((len(list(run)) for standing, run in runs if standing == "worse"), default=0)


def chance_of_more(worse: int, better: int) -> float:
    """Return the chance that at least ``worse`` of all tosses fall on one side (sign test)."""
    tosses = worse + better
    favourable = sum(math.comb(tosses, number) for number in range(worse, tosses + 1))
    return favourable / (1 << tosses)


def chance_of_run(length: int, tosses: int) -> float:
    """Return a bound of the chance of ``length`` equal tosses in a row, over all their places."""
    return min(1.0, (tosses - length + 1) / (1 << length))
