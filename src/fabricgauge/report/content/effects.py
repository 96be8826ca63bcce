"""The effect of a setting on one curve, in words and in pictures: over sizes, over its values."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from fabricgauge.model.suite import LESS_IS_BETTER, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Factor, Varied
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    canvas_text,
    level,
    position,
)
from fabricgauge.words.figures import digits, percent, size

#: Two values are a comparison, which the plots over sizes show.
FEWEST_LEVELS = 3
#: Sizes with a line of their own.
MOST_SIZES = 2
#: Plots of sweeps on one page.
MOST_PLOTTED = 24


def over_sizes(one: CurveEffect) -> Picture | None:
    """The change over the sizes; none where fewer than two have an interval."""
    known = [
        (e.message_bytes, e) for e in one.sizes if e.message_bytes is not None and _is_known(e)
    ]
    if len(known) < 2:
        return None
    name = canvas_text(f"{one.level} against {one.base}")
    marks = [_mark(each, position(length), size(length)) for length, each in known]
    return _changes(f"{one.factor}: {name}", "change, %", (PlotCurve(name, marks),))


def _is_known(effect: Effect) -> bool:
    return math.isfinite(effect.low) and math.isfinite(effect.high)


def _mark(effect: Effect, x: float, place: str) -> Mark:
    return Mark(
        x, 100.0 * effect.change, 100.0 * effect.low, 100.0 * effect.high, place,
        signed(effect.change), interval(effect), "clear" if effect.clear else "may be chance",
        f"{effect.blocks} blocks",
    )  # fmt: skip


def _changes(title: str, y_label: str, series: tuple[PlotCurve, ...], **also: Any) -> Picture:
    """Changes in percent, with no change in the middle."""
    marks = [mark for one in series for mark in one.marks]
    farthest = 1.15 * max(1.0, *(abs(end) for one in marks for end in (one.low, one.high)))
    equal = level("equal", series, 0.0)
    span = (-farthest, farthest)
    return Picture(title, y_label, False, series, equal, None, span=span, **also)


def sweeps_of(varied: Varied) -> tuple[Picture, ...]:
    """A plot for each curve of each factor with three levels or more."""
    swept = (one for one in varied.design.factors if len(one.levels) >= FEWEST_LEVELS)
    made = (picture for factor in swept for picture in _of_factor(varied, factor))
    return tuple(islice(made, MOST_PLOTTED))


def _of_factor(varied: Varied, factor: Factor) -> Iterator[Picture]:
    words = tuple(map(canvas_text, factor.levels))
    of_curve: dict[tuple[str, str], list[CurveEffect]] = {}
    for one in varied.effects:
        if one.factor == factor.name:
            of_curve.setdefault((one.title, one.quantity), []).append(one)
    for (title, _), effects in of_curve.items():
        series = tuple(_series(factor, effects))
        if series:
            yield _changes(
                canvas_text(f"{factor.name}: {title}"), f"change against {words[0]}, %", series,
                x_label=canvas_text(factor.name),
                ticks={float(place): one for place, one in enumerate(words)},
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
    words = [canvas_text(one) for one in factor.levels]
    known = ((place, one) for place, one in enumerate(effects, start=1) if _is_known(one))
    marks = [_mark(one, float(place), words[place]) for place, one in known]
    if marks:
        first = Mark(0.0, 0.0, 0.0, 0.0, words[0], "the first", "–", "", "")
        yield PlotCurve(label, [first, *marks])


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
