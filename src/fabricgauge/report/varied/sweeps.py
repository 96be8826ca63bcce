"""A factor of many values is a sweep: each curve's change over the values, in one plot."""

import math
from collections.abc import Iterator, Sequence

from fabricgauge.model.varied import CurveEffect, Effect, Factor, Varied
from fabricgauge.report.html.series import Line, Picture, Series, canvas_text
from fabricgauge.report.varied import words

#: Two values are a comparison, which the plots over sizes show.
FEWEST_LEVELS = 3
#: Sizes with a line of their own.
MOST_SIZES = 2
#: Plots of sweeps on one page.
MOST_PLOTTED = 24


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


def _picture(title: str, factor: Factor, series: tuple[Series, ...]) -> Picture:
    farthest = 1.15 * max(1.0, *(abs(end) for one in series for end in (*one.low, *one.high)))
    last = float(len(factor.levels) - 1)
    ticks = {float(place): canvas_text(level) for place, level in enumerate(factor.levels)}
    return Picture(
        canvas_text(title), f"change against {canvas_text(factor.levels[0])}, %", False, series,
        (Line("equal", [0.0, last], [0.0, 0.0]),), None, span=(-farthest, farthest),
        x_label=canvas_text(factor.name), ticks=ticks,
    )  # fmt: skip


def _series(factor: Factor, effects: Sequence[CurveEffect]) -> Iterator[Series]:
    """All sizes together, then those whose effects are least likely chance."""
    yield from _line(factor, "all sizes", [one.whole for one in effects])
    by_size: dict[int | None, list[Effect]] = {}
    for one in effects:
        for each in one.sizes:
            by_size.setdefault(each.message_bytes, []).append(each)
    told = sorted(by_size, key=lambda size: _least_chance(by_size[size]))[:MOST_SIZES]
    for size in (size for size in by_size if size in told and len(by_size) > 1):
        yield from _line(factor, words.at(by_size[size][0]), by_size[size])


def _least_chance(effects: Sequence[Effect]) -> float:
    return min((one.chance for one in effects if math.isfinite(one.chance)), default=math.inf)


def _line(factor: Factor, label: str, effects: Sequence[Effect]) -> Iterator[Series]:
    known = [
        (place, one)
        for place, one in enumerate(effects, start=1)
        if math.isfinite(one.low) and math.isfinite(one.high)
    ]
    if not known:
        return
    places = (0, *(place for place, _ in known))
    yield Series(
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
            "median": ["the first", *(words.signed(one.change) for _, one in known)],
            "interval": ["–", *(words.interval(one) for _, one in known)],
            "also": ["", *("clear" if one.clear else "may be chance" for _, one in known)],
            "count": ["", *(f"{one.blocks} blocks" for _, one in known)],
        },
    )
