"""How sure a difference is: ratio intervals, standings, and Holm's correction.

The ratio's interval is conservative: B's lower end over A's upper end, and the reverse. It
holds the ratio whenever both intervals hold their medians, and nothing is assumed of
how the two depend on each other.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

from fabricgauge.model.comparison import Standing
from fabricgauge.model.estimate import Estimate

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
    return math.hypot(half / _deviates(confidence), LAUNCH_ALLOWANCE / launches)


def _deviates(confidence: float) -> float:
    """Half width of an interval of the normal distribution, in standard deviations."""
    return _NORMAL.inv_cdf(0.5 + min(confidence, 0.9999) / 2.0)


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
