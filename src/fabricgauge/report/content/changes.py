"""Describe and plot changes: B against A, and a setting's effect over sizes and values."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from statistics import median
from typing import Any, NamedTuple

from fabricgauge.model.comparison import Difference, Pair, Standing
from fabricgauge.model.groups import group_by
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS, Quantity
from fabricgauge.model.varied import CurveEffect, Effect, Factor, LevelFigure, Varied
from fabricgauge.model.words.figures import signed, size, times, with_unit
from fabricgauge.report import document as doc
from fabricgauge.report.content.suites import SHOWN, suite_marks
from fabricgauge.report.picture import (
    Mark,
    Picture,
    PlotCurve,
    level_line,
    position,
    shortened,
)
from fabricgauge.report.visible import visible

STANDINGS: dict[Standing, str] = {
    "worse": "worse",
    "better": "better",
    "within": "within",
    "open": "undecided",
}

#: Least height of a plot of B against A: in multiples of its tolerance band, and in percent. Points
#: beyond the largest span are drawn at the edge (the tooltip has the figure).
BANDS = 2.5
LEAST_SPAN, LARGEST_SPAN = 5.0, 400.0
LONGEST_NAME = 48
LONGEST_TITLE = 72
#: Fewest figures of a plot of all of them.
FEWEST_METRICS = 8
#: Most numbers along the plot of all figures.
MOST_TICKS = 14
#: Fewest levels of a sweep; the plots over sizes show two levels.
FEWEST_LEVELS = 3
#: Most sizes with a line of their own.
MOST_SIZES = 2
#: Most plots of sweeps on one page.
MOST_PLOTTED = 24


def better_is(quantity: Quantity) -> str:
    return "less is better" if quantity in LESS_IS_BETTER else "more is better"


def change(share: float, quantity: Quantity) -> str:
    """Return a change as a share of A, in percent and with its direction: ``+12.0 % (better)``."""
    better = (share < 0) == (quantity in LESS_IS_BETTER)
    equal = round(share * 100, 1) == 0
    return f"{signed(share)} ({'equal' if equal else 'better' if better else 'worse'})"


#: Below this speed, as a share of A's, a curve is called slower.
_SLOWER = 0.995


def describe_change(pairs: Sequence[Pair]) -> str:
    """Return ``B is 2.0 % faster``: the median over the curves of their medians over sizes.

    Of an even number of curves it is the slower one in the middle.
    """
    typical = sorted(pairs, key=_whole_speed)[(len(pairs) - 1) // 2]
    return f"B is {_describe_ratio(1.0 + typical.summary.median_change, typical.a.quantity)}"


def describe_loss(pairs: Sequence[Pair]) -> str:
    """Describe how much slower B is: over all sizes, or at its worst size if the others hide it.

    If no size is slower, return the reason why the first pair is a regression or in doubt.
    """
    chance = "" if pairs[0].regression else ", and chance may explain it"
    if all(_whole_speed(pair) < _SLOWER for pair in pairs):
        return f"{describe_change(pairs)}{chance}"
    points = ((point, pair.a.quantity) for pair in pairs for point in pair.differences)
    worst, quantity = min(points, key=lambda item: _speed(item[0].ratio, item[1]))
    if _speed(worst.ratio, quantity) >= _SLOWER:
        return pairs[0].regression or pairs[0].doubt
    size_words = "" if worst.message_bytes is None else f"at {size(worst.message_bytes)} "
    return f"{size_words}B is {_describe_ratio(worst.ratio, quantity)}{chance}"


def _whole_speed(pair: Pair) -> float:
    return _speed(1.0 + pair.summary.median_change, pair.a.quantity)


def _speed(ratio: float, quantity: Quantity) -> float:
    return 1.0 / ratio if quantity in LESS_IS_BETTER else ratio


def _describe_ratio(ratio: float, quantity: Quantity) -> str:
    """Return ``10.0 % slower`` if a bandwidth, or a time, changed by 10 %, as in the tables."""
    if abs(ratio - 1.0) < 0.0005:
        return "as fast as A"
    speed = _speed(ratio, quantity)
    word, factor = ("faster", speed) if speed > 1.0 else ("slower", 1.0 / speed)
    return (
        f"{times(factor)} times {word}" if factor >= 2.0 else f"{abs(ratio - 1) * 100:.1f} % {word}"
    )


def interval(change_value: Difference | Effect) -> str:
    """Return ``−1.2 % to +3.4 %``; a difference has the ends of a ratio."""
    low, high = change_value.low, change_value.high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    equal = 1.0 if isinstance(change_value, Difference) else 0.0
    return f"{signed(low - equal)} to {signed(high - equal)}"


def _picture(
    title: str, y_label: str, series: tuple[PlotCurve, ...], span: float, **options: Any
) -> Picture:
    """Return a plot of changes in percent, with no change in the middle."""
    equal = level_line("equal", series, 0.0)
    return Picture(title, y_label, False, series, equal, span=(-span, span), **options)


def pictures(pair: Pair, tolerance: float, names: tuple[str, str]) -> tuple[Picture, ...]:
    """Return both curves, then the change; none if fewer than two points have a size."""
    if sum(difference.message_bytes is not None for difference in pair.differences) < 2:
        return ()
    quantity = pair.a.quantity
    series = tuple(
        PlotCurve(
            shortened(visible(f"{side}: {name}"), LONGEST_NAME),
            suite_marks((point for point in curve.points if point.estimate.value > 0), curve),
        )
        for side, curve, name in zip("AB", (pair.a, pair.b), names, strict=True)
    )
    label = f"{SHOWN[quantity][0]}, {better_is(quantity)}"
    curves = Picture("Both curves", label, quantity in ("time", "message_rate"), series)
    return curves, _against(pair, tolerance)


def _against(pair: Pair, tolerance: float) -> Picture:
    sized = [
        (difference.message_bytes, difference)
        for difference in pair.differences
        if difference.message_bytes is not None
    ]
    farthest = max(abs(100.0 * difference.change) for _, difference in sized) * 1.25
    least_span = max(LEAST_SPAN, BANDS * 100.0 * tolerance)
    span = min(max(farthest, least_span), max(LARGEST_SPAN, least_span))
    marks = []
    for length, difference in sized:
        ratio = difference.ratio
        ends = (difference.change, *((e or ratio) - 1.0 for e in (difference.low, difference.high)))
        y, low, high = (min(max(100.0 * end, -span), span) for end in ends)
        samples = (
            f"{side} {f'{estimate.samples:,}' if estimate.samples else 'unknown'}"
            for side, estimate in (("A", difference.a), ("B", difference.b))
        )
        marks.append(Mark(
            position(length), y, low, high, size(length),
            change(difference.change, pair.a.quantity),
            interval(difference), STANDINGS[difference.standing], ", ".join(samples),
        ))  # fmt: skip
    band = (-100.0 * tolerance, 100.0 * tolerance)
    label = f"B against A, %, {better_is(pair.a.quantity)}"
    title = f"B against A; tinted: ± {tolerance * 100:g} %"
    return _picture(title, label, (PlotCurve("B against A", marks),), span, band=band)


def over_sizes(curve_effect: CurveEffect) -> Picture | None:
    """Plot the change over the sizes; None if fewer than two have an interval."""
    name = visible(f"{curve_effect.level} against {curve_effect.base}")
    marks = [
        _mark(effect, position(effect.message_bytes), size(effect.message_bytes))
        for effect in curve_effect.sizes
        if effect.message_bytes is not None and _is_known(effect)
    ]
    if len(marks) < 2:
        return None
    return _effects(f"{curve_effect.factor}: {name}", "change, %", (PlotCurve(name, marks),))


def _is_known(effect: Effect) -> bool:
    return math.isfinite(effect.low) and math.isfinite(effect.high)


def _mark(effect: Effect, x: float, place: str) -> Mark:
    return Mark(
        x, 100.0 * effect.change, 100.0 * effect.low, 100.0 * effect.high, place,
        signed(effect.change), interval(effect), "clear" if effect.clear else "may be chance",
        f"{effect.blocks} blocks",
    )  # fmt: skip


def _effects(title: str, y_label: str, series: tuple[PlotCurve, ...], **options: Any) -> Picture:
    ends = (abs(end) for series in series for mark in series.marks for end in (mark.low, mark.high))
    return _picture(title, y_label, series, 1.15 * max(1.0, *ends), **options)


class Metric(NamedTuple):
    """Hold one figure of B against A: a share of A's, positive if B is better.

    ``low`` and ``high`` are equal to it without an interval.
    """

    name: str
    quantity: Quantity
    better: float
    low: float
    high: float


def metric(
    name: str, message_bytes: int | None, quantity: Quantity, change_value: float, low: float,
    high: float,
) -> Metric:  # fmt: skip
    """Return a change as a metric: the less a time, the better it is."""
    ends = (low, high) if math.isfinite(low) and math.isfinite(high) else (change_value,) * 2
    where = name if message_bytes is None else f"{name}, {size(message_bytes)}"
    if quantity in LESS_IS_BETTER:
        return Metric(where, quantity, -change_value, -ends[1], -ends[0])
    return Metric(where, quantity, change_value, *ends)


def metric_blocks(metrics: Sequence[Metric], a: str, b: str) -> tuple[doc.Block, ...]:
    """Return one plot of all metrics, latency and bandwidth apart, and their mean and range.

    None of fewer than FEWEST_METRICS: their rows are as short.
    """
    if len(metrics) < FEWEST_METRICS:
        return ()
    numbered = [*enumerate(metrics, 1)]
    kinds = group_by(
        numbered, lambda pair: "latency" if pair[1].quantity in LESS_IS_BETTER else "bandwidth"
    )
    rows, series = [], []
    for kind, of_kind in (*sorted(kinds.items(), reverse=True), ("all", numbered)):
        shares = [metric.better for _, metric in of_kind]
        # Rounded: the difference of equal shares is no mean of its own.
        mean = signed(round(math.fsum(shares) / len(shares), 9))
        ends = f"{signed(min(shares))} to {signed(max(shares))}"
        rows.append((kind, f"{len(shares):,}", mean, signed(median(shares)), ends))
        if kind != "all":
            marks = [_metric_mark(*pair) for pair in of_kind]
            series.append(PlotCurve(f"{kind}: mean {mean}, {ends}", marks))
    farthest = max(
        abs(end) for metric in metrics for end in (metric.low, metric.better, metric.high)
    )
    steps = chain((1,), (digits * 10**power for power in count() for digits in (5, 10, 25)))
    step = next(step for step in steps if len(metrics) < MOST_TICKS * step)
    ticks = {float(n): str(n) for n in range(step, len(metrics) + 1, step)} | {1.0: "1"}
    title = shortened(visible(f"All metrics: {b} against {a}"), LONGEST_TITLE)
    picture = _picture(
        title, "B better than A, %", tuple(series), 115.0 * max(0.01, farthest),
        x_label="number of the metric", ticks=ticks, joined=False,
    )  # fmt: skip
    heads = doc.heads("metrics", ">number", ">mean", ">median", ">range")
    note = f"Shares of A ({a}), positive if B ({b}) is better."
    return (
        doc.side_by_side((picture,)), doc.Table(heads, tuple(rows)),
        doc.Paragraph(note, kind="soft"),
    )  # fmt: skip


def _metric_mark(number: int, metric: Metric) -> Mark:
    y, low, high = (100.0 * share for share in (metric.better, metric.low, metric.high))
    ends = f"{signed(metric.low)} to {signed(metric.high)}" if low != high else "no interval"
    name, better = f"{number}: {metric.name}", signed(metric.better)
    return Mark(float(number), y, low, high, name, better, ends, "", "")


def plot_sweeps(varied: Varied) -> tuple[Picture, ...]:
    """Return a plot for each curve of each factor with three levels or more."""
    swept = (factor for factor in varied.design.factors if len(factor.levels) >= FEWEST_LEVELS)
    plots = (picture for factor in swept for picture in _plot_factor(varied, factor))
    return tuple(islice(plots, MOST_PLOTTED))


def plot_levels(varied: Varied) -> tuple[Picture, ...]:
    """Return figures over the levels of numbers: a rate's sum, and its average of one part.

    Times of three sizes and more are plotted over the sizes, too, with a line for each level.
    """
    pictures = []
    by_curve = group_by(varied.levels, lambda level: (level.factor, level.title, level.quantity))
    for (factor, title, quantity), figures in by_curve.items():
        unit = SHOWN[quantity][0]
        is_sum = any(level.parts > 1 for level in figures)
        kinds = (("sum", False), ("average of one", True)) if is_sum else (("", False),)
        for kind, divided in kinds:
            series = tuple(_level_series(figures, divided))
            ticks = {float(math.log2(int(level.level))): level.level for level in figures}
            name = f"{title}{f', {kind}' if kind else ''}"
            pictures.append(Picture(
                shortened(visible(name), LONGEST_TITLE), f"{unit}, {better_is(quantity)}",
                quantity == "time", series, x_label=visible(factor), ticks=ticks,
            ))  # fmt: skip
        sized = [level for level in figures if level.message_bytes is not None]
        if quantity == "time" and len({level.message_bytes for level in sized}) >= FEWEST_LEVELS:
            pictures.append(_times_over_sizes(title, factor, sized))
    return tuple(pictures[:MOST_PLOTTED])


def _times_over_sizes(title: str, factor: str, figures: Sequence[LevelFigure]) -> Picture:
    ordered = sorted(figures, key=lambda level: (int(level.level), level.message_bytes or 0))
    series = []
    for name, levels in group_by(ordered, lambda level: level.level).items():
        sized = ((level, level.message_bytes or 0) for level in levels)
        marks = [_level_mark(level, position(length), size(length)) for level, length in sized]
        series.append(PlotCurve(visible(f"{factor} {name}"), marks))
    name = shortened(visible(f"{title}, over sizes"), LONGEST_TITLE)
    return Picture(name, f"{SHOWN['time'][0]}, {better_is('time')}", True, tuple(series))


def level_tables(varied: Varied) -> Iterator[doc.Table]:
    """Yield a table for each factor of numbers: a row for each size of each curve."""
    for name, of_factor in group_by(varied.levels, lambda level: level.factor).items():
        numbers = sorted({int(level.level) for level in of_factor})
        rows = []
        by_row = group_by(of_factor, lambda at: (at.title, at.quantity, at.message_bytes))
        for (title, _, length), figures in by_row.items():
            cells = {int(level.level): _level_cell(level) for level in figures}
            length_words = "" if length is None else size(length)
            rows.append((title, length_words, *(cells.get(number, "–") for number in numbers)))
        figure_heads = doc.figure_heads(*(f"{name} {number}" for number in numbers))
        yield doc.Table((*doc.heads("curve", "size"), *figure_heads), tuple(rows))


def _level_cell(level: LevelFigure) -> str:
    """Return ``234 MB/s (58.5 MB/s)``: the sum, and the average of one of several parts."""
    unit = UNITS[level.quantity]
    total = with_unit(level.figure.value, unit)
    if level.parts == 1:
        return total
    return f"{total} ({with_unit(level.figure.value / level.parts, unit)})"


def _level_series(figures: Sequence[LevelFigure], divided: bool) -> Iterator[PlotCurve]:
    for length, of_size in group_by(figures, lambda level: level.message_bytes).items():
        marks = [
            _level_mark(level, math.log2(int(level.level)), level.level, divided)
            for level in sorted(of_size, key=lambda level: int(level.level))
        ]
        yield PlotCurve("all" if length is None else size(length), marks)


def _level_mark(level: LevelFigure, x: float, place: str, divided: bool = False) -> Mark:
    """Return the sum of a level, or the average of one of its parts."""
    parts = level.parts if divided else 1
    ends = [end / parts for end in (level.figure.value, level.figure.low, level.figure.high)]
    y, low, high = (end * SHOWN[level.quantity][1] for end in ends)
    value, least, most = (with_unit(end, UNITS[level.quantity]) for end in ends)
    count, blocks = f"{level.parts} at once", f"{level.figure.samples} blocks"
    return Mark(x, y, low, high, place, value, f"{least} to {most}", count, blocks)


def _plot_factor(varied: Varied, factor: Factor) -> Iterator[Picture]:
    words = tuple(map(visible, factor.levels))
    ticks = {float(place): word for place, word in enumerate(words)}
    effects_of_factor = (effect for effect in varied.effects if effect.factor == factor.name)
    curves = group_by(effects_of_factor, lambda effect: (effect.title, effect.quantity))
    for (title, _), effects in curves.items():
        if series := tuple(_series(words, effects)):
            name, label = visible(f"{factor.name}: {title}"), f"change against {words[0]}, %"
            yield _effects(name, label, series, x_label=visible(factor.name), ticks=ticks)


def _series(words: Sequence[str], effects: Sequence[CurveEffect]) -> Iterator[PlotCurve]:
    """Yield all sizes together, then the sizes whose effects are least likely chance."""
    lines: list[tuple[str, Sequence[Effect]]] = [
        ("all sizes", [effect.whole for effect in effects])
    ]
    each_size = (size_effect for effect in effects for size_effect in effect.sizes)
    by_size = group_by(each_size, lambda size_effect: size_effect.message_bytes)
    chances = {
        length: min(filter(math.isfinite, (effect.chance for effect in of_size)), default=math.inf)
        for length, of_size in by_size.items()
    }
    clearest_sizes = sorted(by_size, key=lambda length: chances[length])[:MOST_SIZES]
    for length, of_size in by_size.items():
        if length in clearest_sizes and len(by_size) > 1:
            lines.append(("all sizes" if length is None else size(length), of_size))
    first = Mark(0.0, 0.0, 0.0, 0.0, words[0], "the first", "–", "", "")
    for label, line in lines:
        marks = [
            _mark(effect, float(place), words[place])
            for place, effect in enumerate(line, start=1)
            if _is_known(effect)
        ]
        if marks:
            yield PlotCurve(label, [first, *marks])
