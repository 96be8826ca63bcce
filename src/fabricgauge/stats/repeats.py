"""Outputs of the same benchmark, run several times, as one curve.

Each repetition counts as a launch. The median over launches lies between the least
and the largest of n figures with a probability of 1 - 2^(1-n), whatever their
distribution: 50 % for two, 93.75 % for five. See Conover, Practical Nonparametric
Statistics, section 3.2.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import RESULTS, SuiteCurve, SuitePoint


def merged(curves: Iterable[SuiteCurve]) -> tuple[SuiteCurve, ...]:
    """Curves that agree in everything but their figures, made one; sizes in ascending order.

    A size that a curve holds more than once is merged likewise.
    """
    groups: dict[bytes, list[SuiteCurve]] = {}
    for curve in curves:
        groups.setdefault(_kind(curve), []).append(curve)
    return tuple(_one(group) for group in groups.values())


def of_repeats(estimates: Sequence[Estimate], apart: bool = True) -> Estimate:
    """At least one estimate of the same thing, from as many launches if ``apart``.

    Estimates with intervals of their own give the hull of these, at the least of their
    confidences; bare figures give the range of the figures.
    """
    if len(estimates) == 1:
        return estimates[0]
    own = min(one.confidence for one in estimates)
    return Estimate(
        value=float(np.median([one.value for one in estimates])),
        low=min(one.low for one in estimates),
        high=max(one.high for one in estimates),
        confidence=own or 1.0 - 2.0 ** (1 - len(estimates)),
        launches=sum(one.launches for one in estimates) if apart else estimates[0].launches,
        samples=sum(one.samples for one in estimates),
    )


def _kind(curve: SuiteCurve) -> bytes:
    """What must agree; what was measured beside the table is no setting."""
    settings = {key: said for key, said in curve.settings.items() if key not in RESULTS}
    empty = {"first_line": 0, "last_line": 0, "points": (), "failures": (), "cut_off": "",
             "source": "", "title": "", "settings": settings}  # fmt: skip
    return msgspec.json.encode(msgspec.structs.replace(curve, **empty), order="sorted")


def _one(group: Sequence[SuiteCurve]) -> SuiteCurve:
    first = group[0]
    sizes: dict[int | None, list[SuitePoint]] = {}
    for curve in group:
        for size, point in _by_size(curve).items():
            sizes.setdefault(size, []).append(point)
    points = tuple(
        _point(sizes[size])
        for size in sorted(sizes, key=lambda size: (size is not None, size or 0))
    )
    if len(group) == 1:
        return msgspec.structs.replace(first, points=points)
    return msgspec.structs.replace(
        first,
        points=points,
        last_line=max(one.last_line for one in group),
        failures=tuple(failure for one in group for failure in one.failures),
        cut_off=next((one.cut_off for one in group if one.cut_off), ""),
        source=", ".join(dict.fromkeys(one.source for one in group)),
    )


def _by_size(curve: SuiteCurve) -> dict[int | None, SuitePoint]:
    found: dict[int | None, list[SuitePoint]] = {}
    for point in curve.points:
        found.setdefault(point.message_bytes, []).append(point)
    return {size: _point(points, apart=False) for size, points in found.items()}


def _point(points: Sequence[SuitePoint], apart: bool = True) -> SuitePoint:
    if len(points) == 1:
        return points[0]
    estimate = of_repeats([point.estimate for point in points], apart)
    return SuitePoint(points[0].message_bytes, estimate, points[0].line)
