"""Plots of what other suites measured: curves of one quantity and meaning share a picture."""

from collections.abc import Iterator, Sequence
from itertools import islice

from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint
from fabricgauge.report.content import suites
from fabricgauge.report.content.curve_pictures import ceiling_line
from fabricgauge.report.content.suites import Told
from fabricgauge.report.picture import Mark, Picture, PlotCurve, canvas_text, plot_curve, position
from fabricgauge.words.figures import of_unit, size

#: A page with more could not be read, and would be slow to open; the tables have the rest.
MOST_PICTURES = 24
MOST_SERIES = 6

#: Factor and unit of each SI unit's plot.
_SHOWN = {
    "s": (1e6, "µs"), "bytes/s": (1e-6, "MB/s"), "messages/s": (1.0, "messages/s"),
    "share": (100.0, "%"),
}  # fmt: skip


def suite_pictures(judged: Judged) -> tuple[Picture, ...]:
    """At most ``MOST_PICTURES`` plots, those of our own patterns first."""
    groups: dict[tuple[bool, str, str, str | None], list[Told]] = {}
    for one in suites.told(judged):
        if _sized(one.curve) > 1:
            curve = one.curve
            key = (curve.pattern is None, curve.quantity, curve.what, one.launch.network)
            groups.setdefault(key, []).append(one)
    ordered = sorted(groups, key=lambda key: key[0])
    drawn = (picture for key in ordered for picture in _pictures(judged, groups[key]))
    return tuple(islice(drawn, MOST_PICTURES))


def _pictures(judged: Judged, group: Sequence[Told]) -> Iterator[Picture]:
    for first in range(0, len(group), MOST_SERIES):
        some = group[first : first + MOST_SERIES]
        yield _picture(judged, some, _beside(judged, some[0].curve))


def _beside(judged: Judged, like: SuiteCurve) -> list[SuiteCurve]:
    """Reference curves of the same pattern and quantity."""
    return [
        one
        for one in judged.against
        if _sized(one)
        and (one.pattern or one.benchmark, one.quantity, one.directions)
        == (like.pattern or like.benchmark, like.quantity, like.directions)
    ]


def with_references(judged: Judged, picture: Picture) -> Picture:
    """A plot of our own curves with the reference curves of the same patterns in it."""
    quantity = "time" if picture.log else "bandwidth"
    beside = [
        one for one in judged.against if one.pattern in picture.patterns
        and one.quantity == quantity and _sized(one) > 0
    ]  # fmt: skip
    factor, _ = _SHOWN["s" if picture.log else "bytes/s"]
    drawn = tuple(_series(one, factor) for one in beside)
    return picture._replace(series=(*picture.series, *drawn))


def _sized(curve: SuiteCurve) -> int:
    return sum(point.message_bytes is not None for point in curve.points)


def _picture(judged: Judged, group: Sequence[Told], beside: Sequence[SuiteCurve]) -> Picture:
    first = group[0].curve
    factor, unit = _SHOWN[UNITS[first.quantity]]
    limit = suites.ceiling_of(judged, group[0])
    curves = [*(one.curve for one in group), *beside]
    drawn = tuple(_series(curve, factor) for curve in curves)
    scale = limit * factor if limit else None
    network = f" ({group[0].launch.network})" if group[0].launch.network else ""
    return Picture(
        title=f"{first.what}, {first.quantity.replace('_', ' ')}{network}",
        y_label=f"{unit}", log=first.quantity != "bandwidth", series=drawn,
        lines=ceiling_line(limit, drawn), full_scale=scale,
    )  # fmt: skip


def _series(curve: SuiteCurve, factor: float) -> PlotCurve:
    sized = [(one.message_bytes, one) for one in curve.points if one.message_bytes is not None]
    name = canvas_text(f"{curve.benchmark} ({curve.source}:{curve.first_line})")
    marks = [
        _mark(curve, one, length, factor) for length, one in sorted(sized, key=lambda two: two[0])
    ]
    return plot_curve(name, marks)


def _mark(curve: SuiteCurve, one: SuitePoint, length: int, factor: float) -> Mark:
    figure = one.estimate
    return Mark(
        position(length), figure.value * factor, figure.low * factor, figure.high * factor,
        size(length), f"{suites.value(curve, one)} ({suites.STATISTICS[curve.statistic]})",
        _interval(curve, one), canvas_text(f"line {one.line}; {curve.unit_rule}"),
        f"{figure.samples:,}" if figure.samples else "?",
    )  # fmt: skip


def _interval(curve: SuiteCurve, one: SuitePoint) -> str:
    if not one.estimate.supported:
        return "none: the log has no samples"
    unit = UNITS[curve.quantity]
    return f"{of_unit(one.estimate.low, unit)} to {of_unit(one.estimate.high, unit)}"
