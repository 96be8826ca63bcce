"""The effect of a setting on one curve, in words and in pictures: over sizes, over its values."""

import math
from collections.abc import Iterator, Sequence

from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Factor, Varied
from fabricgauge.report.picture import Line, Picture, PlotCurve, canvas_text, position
from fabricgauge.words.figures import digits, percent, size

#: Two values are a comparison, which the plots over sizes show.
FEWEST_LEVELS = 3
#: Sizes with a line of their own.
MOST_SIZES = 2
#: Plots of sweeps on one page.
MOST_PLOTTED = 24


def over_sizes(one: CurveEffect) -> Picture | None:
    """The change over the sizes; none where fewer than two have an interval."""
    known = [e for e in one.sizes if e.message_bytes is not None and math.isfinite(e.high)]
    if len(known) < 2:
        return None
    name = canvas_text(f"{one.level} against {one.base}")
    series = PlotCurve(
        label=name,
        x=[position(each.message_bytes or 0) for each in known],
        y=[100.0 * each.change for each in known],
        low=[100.0 * each.low for each in known],
        high=[100.0 * each.high for each in known],
        tail=None,
        words={
            "size": [size(each.message_bytes or 0) for each in known],
            "curve": [name] * len(known),
            "median": [signed(each.change) for each in known],
            "interval": [interval(each) for each in known],
            "also": ["clear" if each.clear else "may be chance" for each in known],
            "count": [f"{each.blocks} blocks" for each in known],
        },
    )
    equal = Line("equal", [min(series.x), max(series.x)], [0.0, 0.0])
    farthest = 1.15 * max(1.0, *(max(abs(e.low), abs(e.high)) * 100.0 for e in known))
    return Picture(
        f"{one.factor}: {name}", "change, %", False, (series,), (equal,), None,
        span=(-farthest, farthest),
    )  # fmt: skip


def sweeps_of(varied: Varied) -> tuple[Picture, ...]:
    """A plot for each curve of each factor with three levels or more."""
    swept = (one for one in varied.design.factors if len(one.levels) >= FEWEST_LEVELS)
    made = (picture for factor in swept for picture in _of_factor(varied, factor))
    return tuple(picture for picture, _ in zip(made, range(MOST_PLOTTED), strict=False))


def _of_factor(varied: Varied, factor: Factor) -> Iterator[Picture]:
    of_curve: dict[tuple[str, str], list[CurveEffect]] = {}
    for one in varied.effects:
        if one.factor == factor.name:
            of_curve.setdefault((one.title, one.quantity), []).append(one)
    for (title, _), effects in of_curve.items():
        series = tuple(_series(factor, effects))
        if series:
            yield _picture(f"{factor.name}: {title}", factor, series)


def _picture(title: str, factor: Factor, series: tuple[PlotCurve, ...]) -> Picture:
    farthest = 1.15 * max(1.0, *(abs(end) for one in series for end in (*one.low, *one.high)))
    last = float(len(factor.levels) - 1)
    ticks = {float(place): canvas_text(level) for place, level in enumerate(factor.levels)}
    return Picture(
        canvas_text(title), f"change against {canvas_text(factor.levels[0])}, %", False, series,
        (Line("equal", [0.0, last], [0.0, 0.0]),), None, span=(-farthest, farthest),
        x_label=canvas_text(factor.name), ticks=ticks,
    )  # fmt: skip


def _series(factor: Factor, effects: Sequence[CurveEffect]) -> Iterator[PlotCurve]:
    """All sizes together, then those whose effects are least likely chance."""
    yield from _line(factor, "all sizes", [one.whole for one in effects])
    by_size: dict[int | None, list[Effect]] = {}
    for one in effects:
        for each in one.sizes:
            by_size.setdefault(each.message_bytes, []).append(each)
    told = sorted(by_size, key=lambda place: _least_chance(by_size[place]))[:MOST_SIZES]
    for place in (place for place in by_size if place in told and len(by_size) > 1):
        yield from _line(factor, at(by_size[place][0]), by_size[place])


def _least_chance(effects: Sequence[Effect]) -> float:
    return min((one.chance for one in effects if math.isfinite(one.chance)), default=math.inf)


def _line(factor: Factor, label: str, effects: Sequence[Effect]) -> Iterator[PlotCurve]:
    known = [
        (place, one)
        for place, one in enumerate(effects, start=1)
        if math.isfinite(one.low) and math.isfinite(one.high)
    ]
    if not known:
        return
    places = (0, *(place for place, _ in known))
    yield PlotCurve(
        label=label,
        x=[float(place) for place in places],
        y=[0.0, *(100.0 * one.change for _, one in known)],
        low=[0.0, *(100.0 * one.low for _, one in known)],
        high=[0.0, *(100.0 * one.high for _, one in known)],
        tail=None,
        words={
            factor.name: [
                canvas_text(factor.levels[place]) for place in (0, *(p for p, _ in known))
            ],
            "curve": [label] * len(places),
            "median": ["the first", *(signed(one.change) for _, one in known)],
            "interval": ["–", *(interval(one) for _, one in known)],
            "also": ["", *("clear" if one.clear else "may be chance" for _, one in known)],
            "count": ["", *(f"{one.blocks} blocks" for _, one in known)],
        },
    )


def compared(effect: Effect, quantity: Quantity) -> str:
    """``3.1 % slower``: of times more is slower, of rates less is."""
    slower = (effect.change > 0) == (quantity in LESS_IS_BETTER)
    word = {"time": ("slower", "faster")}.get(quantity, ("less", "more"))[0 if slower else 1]
    return f"{percent(abs(effect.change))} {word}"


def signed(share: float) -> str:
    """``+12.0 %``; next to nothing is a number too, as an interval may end there: ``−0.03 %``."""
    if math.isnan(share):
        return "–"
    sign = "+" if share > 0 else "−" if share else ""
    small = 0 < abs(share) < 0.0005
    return f"{sign}{f'{digits(100 * abs(share), 1)} %' if small else percent(abs(share))}"


def interval(effect: Effect) -> str:
    if math.isnan(effect.low) or math.isinf(effect.low) or math.isinf(effect.high):
        return "not known"
    return f"{signed(effect.low)} to {signed(effect.high)}"


def chance(effect: Effect) -> str:
    return "–" if math.isnan(effect.chance) else f"{effect.chance:.3g}"


def at(effect: Effect) -> str:
    return "all sizes" if effect.message_bytes is None else size(effect.message_bytes)


def spread(of: CurveEffect) -> str:
    """From the least to the largest change over the sizes."""
    known = [one.change for one in of.sizes if not math.isnan(one.change)]
    return f"{signed(min(known))} … {signed(max(known))}" if known else "–"


def crossings(of: CurveEffect) -> str:
    """Between which sizes the better one becomes the worse, or nothing."""
    return ", ".join(f"{size(one)} and {size(other)}" for one, other in of.crossovers)
