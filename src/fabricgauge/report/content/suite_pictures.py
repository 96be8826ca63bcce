"""Plots of what other suites measured: curves of one quantity and meaning share a picture."""

from collections.abc import Iterator, Sequence
from itertools import islice

from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint
from fabricgauge.report.content import suites
from fabricgauge.report.content.suites import Told
from fabricgauge.report.picture import Line, Picture, PlotCurve, canvas_text, position
from fabricgauge.words.figures import megabytes_per_s, of_unit, size

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
        lines=_ceiling(drawn, limit, scale), full_scale=scale,
    )  # fmt: skip


def _ceiling(
    drawn: Sequence[PlotCurve], limit: float | None, scale: float | None
) -> tuple[Line, ...]:
    ends = [x for one in drawn for x in one.x]
    if limit is None or scale is None or not ends:
        return ()
    return (Line(f"ceiling {megabytes_per_s(limit)} MB/s", [min(ends), max(ends)], [scale] * 2),)


def _series(curve: SuiteCurve, factor: float) -> PlotCurve:
    points = sorted(
        (one for one in curve.points if one.message_bytes is not None),
        key=lambda one: one.message_bytes or 0,
    )
    name = canvas_text(f"{curve.benchmark} ({curve.source}:{curve.first_line})")
    return PlotCurve(
        label=name,
        x=[position(one.message_bytes or 0) for one in points],
        y=[one.estimate.value * factor for one in points],
        low=[one.estimate.low * factor for one in points],
        high=[one.estimate.high * factor for one in points],
        tail=None,
        words=_words(curve, name, points),
    )


def _words(curve: SuiteCurve, name: str, points: Sequence[SuitePoint]) -> dict[str, list[str]]:
    statistic = suites.STATISTICS[curve.statistic]
    return {
        "size": [size(one.message_bytes or 0) for one in points],
        "curve": [name] * len(points),
        "median": [f"{suites.value(curve, one)} ({statistic})" for one in points],
        "interval": [_interval(curve, one) for one in points],
        "also": [canvas_text(f"line {one.line}; {curve.unit_rule}") for one in points],
        "count": [f"{one.estimate.samples:,}" if one.estimate.samples else "?" for one in points],
    }


def _interval(curve: SuiteCurve, one: SuitePoint) -> str:
    if not one.estimate.supported:
        return "none: the log has no samples"
    unit = UNITS[curve.quantity]
    return f"{of_unit(one.estimate.low, unit)} to {of_unit(one.estimate.high, unit)}"
