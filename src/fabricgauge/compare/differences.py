"""Two curves of one kind at the sizes that both have, and when B is called worse than A.

Among many sizes some differ by chance, and the interval of a single launch does not show what
differs from launch to launch. So one size beyond the tolerance is not enough. One of these must
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
from fabricgauge.words.figures import times

#: The chance of a false alarm over all sizes and curves that Holm's correction keeps to.
FAMILY_ERROR = 0.05
#: What a launch may be off by as a whole (a standard deviation, as a share), before other
#: launches tell: the share from which judge/thresholds.py warns of launches that differ.
LAUNCH_ALLOWANCE = 0.05

_NORMAL = NormalDist()


def ratio_interval(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """Ends of B over A; None where a side has no interval that means something."""
    if not (a.supported and b.supported and a.low > 0 and b.low > 0):
        return None
    return b.low / a.high, b.high / a.low


def standing(
    ratio: float, interval: tuple[float, float] | None, tolerance: float, less_is_better: bool
) -> Standing:
    """Where B stands to A's band of ``1 ± tolerance``; bare figures are never ``open``."""
    low, high = interval or (ratio, ratio)
    if low > 1.0 + tolerance:
        return "worse" if less_is_better else "better"
    if high < 1.0 - tolerance:
        return "better" if less_is_better else "worse"
    return "within" if low >= 1.0 - tolerance and high <= 1.0 + tolerance else "open"


def chance_of_no_loss(a: Estimate, b: Estimate, tolerance: float, less_is_better: bool) -> float:
    """One-sided p-value of "B is worse than A by no more than the tolerance".

    On the logarithmic scale, the distance to the tolerance in units of both standard errors
    added (not their squares: the conservative interval's way), taken as normal.
    """
    sign = 1.0 if less_is_better else -1.0
    loss = sign * math.log(b.value / a.value)
    allowed = sign * math.log1p(sign * tolerance)
    return _NORMAL.cdf(-(loss - allowed) / (_standard_error(a) + _standard_error(b)))


def _standard_error(estimate: Estimate) -> float:
    """From the wider half of the interval, at the lesser of two confidences.

    The hull of n launches holds the median over launches with 1 - 2^(1-n) only, which
    matters where launches differ by more than the samples within one. A few launches
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


def holm(p_values: Sequence[float], error: float = FAMILY_ERROR) -> tuple[bool, ...]:
    """Which hypotheses are rejected when the chance of any false rejection is ``error``.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6, 1979.
    """
    rejected = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > error / (len(p_values) - rank):
            break
        rejected[place] = True
    return tuple(rejected)


#: With one launch on a side, what differs from launch to launch is in no interval.
SEVERAL_LAUNCHES = 2


class Compared(msgspec.Struct, frozen=True):
    """A pair's sizes. ``p_values`` are those of the differences with intervals, in order.

    ``times_worse`` is of each difference how many times as bad B is as ``tolerance`` allows.
    ``lost`` are B's rows without a figure where A has one.
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


def compared(a: SuiteCurve, b: SuiteCurve, tolerance: float) -> Compared:
    """Every size of either curve; one where a figure is zero counts as not measured.

    Among sizes with intervals, one without decides nothing.
    """
    of_a, of_b = _positive(a), _positive(b)
    less = a.quantity in LESS_IS_BETTER
    common = [size for size in of_a if size in of_b]
    differences = tuple(_difference(of_a[size], of_b[size], less, tolerance) for size in common)
    basis = _basis(differences)
    if basis != "means":
        differences = tuple(
            one if one.low is not None else msgspec.structs.replace(one, standing="open")
            for one in differences
        )
    sure = (one for one in differences if one.low is not None)
    only_a = tuple(size for size in of_a if size not in of_b)
    return Compared(
        a=a,
        b=b,
        tolerance=tolerance,
        basis=basis,
        differences=differences,
        times_worse=tuple(
            one.ratio / (1.0 + tolerance) if less else (1.0 - tolerance) / one.ratio
            for one in differences
        ),
        p_values=tuple(chance_of_no_loss(one.a, one.b, tolerance, less) for one in sure),
        only_a=only_a,
        only_b=tuple(size for size in of_b if size not in of_a),
        lost=tuple(one for one in b.failures if one.message_bytes in only_a),
    )


def _positive(curve: SuiteCurve) -> dict[int | None, SuitePoint]:
    return {one.message_bytes: one for one in curve.points if one.estimate.value > 0}


def _difference(a: SuitePoint, b: SuitePoint, less: bool, tolerance: float) -> Difference:
    ratio = b.estimate.value / a.estimate.value
    interval = ratio_interval(a.estimate, b.estimate)
    low, high = interval or (None, None)
    band = standing(ratio, interval, tolerance, less)
    return Difference(a.message_bytes, a.estimate, b.estimate, ratio, low, high, band)


def _basis(differences: tuple[Difference, ...]) -> Basis:
    sure = [one for one in differences if one.low is not None]
    if 2 * len(sure) < len(differences) or not sure:
        return "means"
    fewest = min(min(one.a.launches, one.b.launches) for one in sure)
    return "launches" if fewest >= SEVERAL_LAUNCHES else "intervals"


#: In a single launch one size in this many may have been disturbed as a whole.
SIZES_PER_DISTURBANCE = 12
#: At a size with too few samples for an interval, chance makes no median this many times worse.
GROSS = 2.0
#: No disturbed sample or launch makes two sizes, or a single one, this many times worse.
#: A second's stall in a thousand messages of 10 µs makes their mean a hundred times worse.
FAR, FAR_ALONE = 10.0, 1000.0


def regression(pair: Compared, summary: Summary, pairs: int) -> str:
    """The reason for an alarm over one of ``pairs`` pairs of curves, empty if there is none."""
    if corrupt := sum(one.trouble == "corrupt" for one in pair.lost):
        return f"B has wrong data at {_sizes(corrupt)} where A has figures"
    if pair.basis == "means":
        return _by_median(pair, summary) or _by_run(pair, summary) or _by_far(pair)
    in_a_row = longest_run(pair.differences)
    if chance_of_more(summary.worse, summary.better) <= FAMILY_ERROR / pairs:
        return (
            f"beyond the tolerance and all intervals B is worse at {summary.worse} sizes and"
            f" better at {summary.better}"
        )
    if chance_of_run(in_a_row, summary.sizes) <= FAMILY_ERROR / pairs:
        return f"beyond the tolerance and all intervals B is worse at {in_a_row} sizes in a row"
    each = zip(pair.differences, pair.times_worse, strict=True)
    gross = sum(one.low is None and times >= GROSS for one, times in each)
    if summary.corrected + gross >= _least_corrected(summary.sizes, pair.basis):
        sizes = _sizes(summary.corrected)
        sure = f"B is worse beyond the tolerance at {sizes} even after Holm's correction for all"
        if not gross:
            return sure
        far = f"at least {GROSS:g} times worse at {_sizes(gross)} without an interval"
        return f"{sure}, and {far}" if summary.corrected else f"B is {far}"
    return _by_far(pair)


def doubt(pair: Compared) -> str:
    """Why a pair without a regression is not shown to be without one; empty where it is shown.

    B has to have a figure wherever A has one, unless it was not asked for.

    Bare figures cannot be told from chance, so each of them has to be within the tolerance. Where
    intervals are known, they do not explain a size that is many times worse.
    """
    bare = pair.basis == "means"
    worse = [
        ratio
        for one, ratio in zip(pair.differences, pair.times_worse, strict=True)
        if ratio > (1.0 if bare else GROSS) and (one.standing == "worse" or one.low is None)
    ]
    if not worse:
        return _without(pair)
    at = f"B is worse beyond the tolerance at {len(worse)} of {len(pair.differences)} sizes"
    sure = "by the bare figures " if bare else ""
    return f"{sure}{at}, up to {times(max(worse))} times; measure these again"


def _without(pair: Compared) -> str:
    """Sizes where only A has a figure but B should have one; empty if there are none."""
    if pair.lost:
        return f"B has no figure at {_sizes(len(pair.lost))} where A has one; measure these again"
    if pair.b.cut_off and pair.only_a:
        return f"A has {_sizes(len(pair.only_a))} more, and B may be cut off; measure these again"
    return ""


def _sizes(count: int) -> str:
    return "one size" if count == 1 else f"{count} sizes"


def _by_far(pair: Compared) -> str:
    """Few sizes, but so far off that no disturbed sample accounts for them."""
    far = sum(each >= FAR for each in pair.times_worse)
    most = max(pair.times_worse, default=0.0)
    if far < 2 and most < FAR_ALONE:
        return ""
    return f"B is up to {most:,.0f} times worse; at {_sizes(far)} at least {FAR:g} times"


def _least_corrected(sizes: int, basis: Basis) -> int:
    if basis == "launches":
        return 1
    return min(sizes, 1 + math.ceil(sizes / SIZES_PER_DISTURBANCE))


def _by_median(pair: Compared, summary: Summary) -> str:
    loss = summary.median_change if pair.less_is_better else -summary.median_change
    if loss <= pair.tolerance:
        return ""
    return "by the bare figures the median over the sizes is worse by more than the tolerance"


#: One or two disturbed samples do not make this many neighbouring sizes worse.
LEAST_RUN = 4


def _by_run(pair: Compared, summary: Summary) -> str:
    """All large messages can be worse although most sizes of a sweep are small and are not."""
    in_a_row = longest_run(pair.differences)
    if in_a_row < LEAST_RUN or summary.better >= summary.worse:
        return ""
    return f"by the bare figures B is worse beyond the tolerance at {in_a_row} sizes in a row"


def longest_run(differences: Sequence[Difference]) -> int:
    """The largest number of neighbouring sizes that are worse."""
    runs = groupby(one.standing for one in differences)
    return max((len(list(run)) for standing, run in runs if standing == "worse"), default=0)


def chance_of_more(worse: int, better: int) -> float:
    """The chance that of all tosses at least ``worse`` fall on that side (sign test)."""
    tosses = worse + better
    ways = term = math.comb(tosses, worse)
    for number in range(worse, tosses):
        term = term * (tosses - number) // (number + 1)
        ways += term
    return ways / (1 << tosses)


def chance_of_run(length: int, tosses: int) -> float:
    """At most the chance of ``length`` alike in a row: a share for each place where they begin."""
    return min(1.0, (tosses - length + 1) / (1 << length))
