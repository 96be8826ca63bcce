"""Two curves of one kind at the sizes that both have."""

import msgspec

from fabricgauge.compare.significance import chance_of_no_loss, ratio_interval, standing
from fabricgauge.model.comparison import Basis, Difference
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, SuiteCurve, SuitePoint

#: With one launch on a side, what differs from launch to launch is in no interval.
SEVERAL_LAUNCHES = 2


class Compared(msgspec.Struct, frozen=True):
    """A pair's sizes. ``p_values`` are those of the differences with intervals, in order."""

    a: SuiteCurve
    b: SuiteCurve
    basis: Basis
    differences: tuple[Difference, ...]
    p_values: tuple[float, ...]
    only_a: tuple[int | None, ...]
    only_b: tuple[int | None, ...]


def compared(a: SuiteCurve, b: SuiteCurve, tolerance: float) -> Compared:
    """Every size of either curve; one where a figure is zero counts as not measured."""
    of_a, of_b = _positive(a), _positive(b)
    common = [size for size in of_a if size in of_b]
    differences = tuple(_difference(of_a[size], of_b[size], a, tolerance) for size in common)
    basis = _basis(differences)
    return Compared(
        a=a,
        b=b,
        basis=basis,
        differences=differences if basis == "means" else tuple(map(_open, differences)),
        p_values=tuple(_p_value(one, a, tolerance) for one in differences if one.low is not None),
        only_a=tuple(size for size in of_a if size not in of_b),
        only_b=tuple(size for size in of_b if size not in of_a),
    )


def _positive(curve: SuiteCurve) -> dict[int | None, SuitePoint]:
    return {one.message_bytes: one for one in curve.points if one.estimate.value > 0}


def _difference(a: SuitePoint, b: SuitePoint, curve: SuiteCurve, tolerance: float) -> Difference:
    ratio = b.estimate.value / a.estimate.value
    interval = ratio_interval(a.estimate, b.estimate)
    less = curve.quantity in LESS_IS_BETTER
    return Difference(
        message_bytes=a.message_bytes,
        a=a.estimate,
        b=b.estimate,
        ratio=ratio,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        standing=standing(ratio, interval, tolerance, less),
    )


def _open(difference: Difference) -> Difference:
    """Among sizes with intervals, one without decides nothing."""
    if difference.low is not None:
        return difference
    return msgspec.structs.replace(difference, standing="open")


def _basis(differences: tuple[Difference, ...]) -> Basis:
    sure = [one for one in differences if one.low is not None]
    if 2 * len(sure) < len(differences) or not sure:
        return "means"
    several = all(_launches(one.a, one.b) >= SEVERAL_LAUNCHES for one in sure)
    return "launches" if several else "intervals"


def _launches(a: Estimate, b: Estimate) -> int:
    return min(a.launches, b.launches)


def _p_value(difference: Difference, curve: SuiteCurve, tolerance: float) -> float:
    less = curve.quantity in LESS_IS_BETTER
    return chance_of_no_loss(difference.a, difference.b, tolerance, less)
