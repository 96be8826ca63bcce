"""Merge outputs of the same benchmark, run several times, into one curve.

Each repetition counts as a launch. The median over launches lies between the least and the largest
of n figures with a probability of 1 - 2^(1-n), whatever their distribution: 50 % for two, 93.75 %
for five. See Conover, Practical Nonparametric Statistics, section 3.2.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from statistics import median

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.groups import group_by
from fabricgauge.model.suite import RESULTS, SuiteCurve, SuitePoint


def merge_repeats(curves: Iterable[SuiteCurve]) -> tuple[SuiteCurve, ...]:
    """Merge curves that agree in everything but their figures; sizes in ascending order.

    A size that a curve holds more than once is merged likewise.
    """
    return tuple(_merge_group(group) for group in group_by(curves, _merge_key).values())


def combine_estimates(estimates: Sequence[Estimate], apart: bool = True) -> Estimate:
    """Combine at least one estimate of the same figure; each is a launch if ``apart``.

    Estimates with intervals of their own give the hull of these, at the least of their confidences;
    bare figures give the range of the figures.
    """
    if len(estimates) == 1:
        return estimates[0]
    confidence = min(estimate.confidence for estimate in estimates)
    launches = [estimate.launches for estimate in estimates]
    return Estimate(
        value=median(estimate.value for estimate in estimates),
        low=min(estimate.low for estimate in estimates),
        high=max(estimate.high for estimate in estimates),
        confidence=confidence or 1.0 - 2.0 ** (1 - len(estimates)),
        launches=sum(launches) if apart else launches[0],
        samples=sum(estimate.samples for estimate in estimates),
    )


def _merge_key(curve: SuiteCurve) -> bytes:
    """Return what must agree; results printed beside the table are no settings."""
    settings = {key: setting for key, setting in curve.settings.items() if key not in RESULTS}
    empty = {"first_line": 0, "last_line": 0, "points": (), "failures": (), "cut_off": "",
             "source": "", "title": "", "settings": settings}  # fmt: skip
    return msgspec.json.encode(msgspec.structs.replace(curve, **empty), order="sorted")


def _merge_group(group: Sequence[SuiteCurve]) -> SuiteCurve:
    first = group[0]
    sizes: dict[int | None, list[SuitePoint]] = {}
    for curve in group:
        # A size that a curve holds more than once is no further launch.
        for size, repeats in group_by(curve.points, attrgetter("message_bytes")).items():
            sizes.setdefault(size, []).append(_merge_points(repeats, apart=False))
    points = tuple(
        _merge_points(sizes[size])
        for size in sorted(sizes, key=lambda size: (size is not None, size or 0))
    )
    if len(group) == 1:
        return msgspec.structs.replace(first, points=points)
    return msgspec.structs.replace(
        first,
        points=points,
        last_line=max(curve.last_line for curve in group),
        failures=tuple(failure for curve in group for failure in curve.failures),
        cut_off=next((curve.cut_off for curve in group if curve.cut_off), ""),
        source=", ".join(dict.fromkeys(curve.source for curve in group)),
    )


def _merge_points(points: Sequence[SuitePoint], apart: bool = True) -> SuitePoint:
    if len(points) == 1:
        return points[0]
    estimate = combine_estimates([point.estimate for point in points], apart)
    return SuitePoint(points[0].message_bytes, estimate, points[0].line)
