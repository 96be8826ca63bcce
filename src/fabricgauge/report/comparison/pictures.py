"""What each plot of a comparison shows: both curves, and B's change from A below them."""

from collections.abc import Sequence

from fabricgauge.model.comparison import Difference, Pair
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.report.comparison import words
from fabricgauge.report.html.series import Line, Picture, Series, canvas_text, position
from fabricgauge.report.quantities import digits, size

#: A plot of changes is at least this many times as high as its tolerance band, in percent
#: at least that; what is farther off is drawn at the edge (its tooltip has the figure).
BANDS = 2.5
LEAST_SPAN, LARGEST_SPAN = 5.0, 400.0
LONGEST_NAME = 48


def pictures(pair: Pair, tolerance: float, names: tuple[str, str]) -> tuple[Picture, ...]:
    """Both curves, then the change; none where fewer than two sizes can be placed."""
    sized = [one for one in pair.differences if one.message_bytes is not None]
    if len(sized) < 2:
        return ()
    return _curves(pair, names), _changes(pair, sized, tolerance)


def _curves(pair: Pair, names: tuple[str, str]) -> Picture:
    quantity = pair.a.quantity
    log = quantity in ("time", "message_rate")
    series = tuple(
        _series(curve, f"{side}: {name}")
        for side, curve, name in zip("AB", (pair.a, pair.b), names, strict=True)
    )
    label = f"{words.unit(quantity)}, {words.better_is(quantity)}"
    return Picture("Both curves", label, log, series, (), None)


def _series(curve: SuiteCurve, name: str) -> Series:
    points = [one for one in curve.points if one.message_bytes is not None]
    points = [one for one in points if one.estimate.value > 0]
    factor = words.SHOWN[curve.quantity][1]
    return Series(
        label=_short(name),
        x=[position(one.message_bytes or 0) for one in points],
        y=[one.estimate.value * factor for one in points],
        low=[one.estimate.low * factor for one in points],
        high=[one.estimate.high * factor for one in points],
        tail=None,
        words=_words(curve, points, _short(name)),
    )


def _words(curve: SuiteCurve, points: Sequence[SuitePoint], name: str) -> dict[str, list[str]]:
    unit = words.unit(curve.quantity)
    return {
        "size": [size(one.message_bytes or 0) for one in points],
        "curve": [name] * len(points),
        "median": [
            f"{words.figure(one.estimate, curve.quantity)} {unit} ({curve.statistic})"
            for one in points
        ],
        "interval": [_interval(curve, one) for one in points],
        "also": [f"line {one.line}" if one.line else "" for one in points],
        "count": [_count(one) for one in points],
    }


def _interval(curve: SuiteCurve, point: SuitePoint) -> str:
    unit, factor = words.SHOWN[curve.quantity]
    if not point.estimate.supported:
        return words.NO_INTERVAL
    low, high = (digits(one * factor) for one in (point.estimate.low, point.estimate.high))
    return f"{low} to {high} {unit}"


def _count(point: SuitePoint) -> str:
    samples, launches = point.estimate.samples, point.estimate.launches
    known = f"{samples:,}" if samples else "not said"
    return f"{known} in {launches} launch{'' if launches == 1 else 'es'}"


def _changes(pair: Pair, sized: Sequence[Difference], tolerance: float) -> Picture:
    x = [position(one.message_bytes or 0) for one in sized]
    span = _span(sized, tolerance)
    series = Series(
        label="B against A",
        x=x,
        y=[_inside(one.change, span) for one in sized],
        low=[_inside((one.low or one.ratio) - 1.0, span) for one in sized],
        high=[_inside((one.high or one.ratio) - 1.0, span) for one in sized],
        tail=None,
        words={
            "size": [size(one.message_bytes or 0) for one in sized],
            "curve": ["B against A"] * len(sized),
            "median": [words.change(one.change, pair.a.quantity) for one in sized],
            "interval": [words.change_interval(one) for one in sized],
            "also": [words.STANDINGS[one.standing] for one in sized],
            "count": [f"A {_samples(one.a.samples)}, B {_samples(one.b.samples)}" for one in sized],
        },
    )
    equal = Line("equal", [min(x), max(x)], [0.0, 0.0])
    band = (-100.0 * tolerance, 100.0 * tolerance)
    label = f"B against A, %, {words.better_is(pair.a.quantity)}"
    title = f"B against A; tinted: ± {words.share(tolerance)}"
    return Picture(title, label, False, (series,), (equal,), None, band=band, span=(-span, span))


def _samples(number: int) -> str:
    return f"{number:,}" if number else "not said"


def _span(sized: Sequence[Difference], tolerance: float) -> float:
    farthest = max(abs(100.0 * one.change) for one in sized) * 1.25
    least = max(LEAST_SPAN, BANDS * 100.0 * tolerance)
    return min(max(farthest, least), max(LARGEST_SPAN, least))


def _inside(change: float, span: float) -> float:
    return min(max(100.0 * change, -span), span)


def _short(name: str) -> str:
    text = canvas_text(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
