"""Curves of cases of many ranks: over message size, over ranks, over pairs, under load."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fabricgauge.report.content.fabric_cases import Joint
from fabricgauge.report.picture import Mark, Picture, PlotCurve, canvas_text, plot_curve, position
from fabricgauge.words.figures import digits, duration, percent, size
from fabricgauge.words.patterns import LOADS

#: A legend with more cannot be read; the tables have the rest.
MOST_SERIES = 12
#: So many message sizes at most stand beside each other over ranks or pairs.
MOST_SIZES = 5

#: Value, low, high, and the tail above it if there is one.
Drawn = tuple[float, float, float, float | None]
Place = Callable[[Joint], float]


class Ordinate(NamedTuple):
    """What of a case stands along y, in which unit."""

    unit: str
    of: Callable[[Joint], Drawn]


class Axis(NamedTuple):
    """Where a case stands along x, and in what words."""

    label: str
    place: Place
    tick: Callable[[Joint], str] | None


SIZES = Axis("message size", lambda one: position(one.message_bytes), None)
RANKS = Axis("ranks", lambda one: math.log2(one.ranks), lambda one: f"{one.ranks:,}")
PAIRS = Axis("pairs at once", lambda one: math.log2(max(1, one.pairs)),
             lambda one: f"{one.pairs:,}")  # fmt: skip


def _time_us(case: Joint) -> Drawn:
    """Median with its interval; the tail is the 99th percentile."""
    tail = case.p99_s if case.p99_s is not None else case.high_s
    return case.median_s * 1e6, case.low_s * 1e6, case.high_s * 1e6, tail * 1e6


def _rate_mb(case: Joint) -> Drawn:
    """Payload of all pairs in MB/s; its interval is that of the time, turned over."""
    rate = case.bytes_per_s / 1e6
    return rate, rate * case.median_s / case.high_s, rate * case.median_s / case.low_s, None


def _messages(case: Joint) -> Drawn:
    """Messages of all pairs in 10^6 per second."""
    rate = case.messages_per_s / 1e6
    return rate, rate * case.median_s / case.high_s, rate * case.median_s / case.low_s, None


def _overlap(case: Joint) -> Drawn:
    """The share of the operation that computing hid, in percent."""
    share = 100 * (case.overlap or 0.0)
    return share, share, share, None


TIME = Ordinate("µs", _time_us)
RATE = Ordinate("MB/s", _rate_mb)
MESSAGES = Ordinate("M messages/s", _messages)
OVERLAP = Ordinate("%", _overlap)


def curves(
    cases: Sequence[Joint], title: str, y_label: str, axis: Axis, figure: Ordinate,
    by: Callable[[Joint], Hashable], named: Callable[[Joint], str], log: bool = True,
    span: tuple[float, float] | None = None,
) -> Picture | None:  # fmt: skip
    """A curve for each value of ``by``; None where no curve has two points."""
    groups: dict[Hashable, list[Joint]] = {}
    for case in cases:
        groups.setdefault(by(case), []).append(case)
    kept = [sorted(group, key=axis.place) for group in groups.values()]
    if all(len({axis.place(one) for one in group}) < 2 for group in kept):
        return None
    drawn = tuple(_series(group, named(group[0]), axis, figure) for group in spread(kept))
    ticks = _ticks(cases, axis)
    return Picture(title, y_label, log, drawn, (), None, span=span, x_label=axis.label, ticks=ticks)


def spread(groups: Sequence[list[Joint]], most: int = MOST_SERIES) -> list[list[Joint]]:
    """All of them, or so many from the first to the last."""
    if len(groups) <= most:
        return list(groups)
    return [groups[place * (len(groups) - 1) // (most - 1)] for place in range(most)]


def few_sizes(cases: Sequence[Joint]) -> list[Joint]:
    """The cases of at most ``MOST_SIZES`` message sizes, from the smallest to the largest."""
    sizes = sorted({one.message_bytes for one in cases})
    if len(sizes) > MOST_SIZES:
        last = len(sizes) - 1
        sizes = [sizes[place * last // (MOST_SIZES - 1)] for place in range(MOST_SIZES)]
    return [one for one in cases if one.message_bytes in sizes]


def ladder(cases: Sequence[Joint], title: str) -> Picture | None:
    """Median, p90, p99 and p99.9 of each load beside those without: how far the tails reach."""
    steps = ("median", "p90", "p99", "p99.9")
    drawn = []
    for case in cases:
        values = (case.median_s, case.p90_s, case.p99_s, case.p999_s)
        marks = [
            _mark(case, float(place), (v * 1e6, v * 1e6, v * 1e6, None),
                  f"{steps[place]} {duration(v)}")
            for place, v in enumerate(values) if v is not None
        ]  # fmt: skip
        drawn.append(plot_curve(canvas_text(LOADS.get(case.load, case.load)), marks))
    if len(drawn) < 2:
        return None
    ticks = dict(enumerate(steps))
    return Picture(
        title, "half round trip, µs", True, tuple(drawn), (), None, x_label="of the samples",
        ticks={float(x): word for x, word in ticks.items()},
    )  # fmt: skip


def _series(group: Sequence[Joint], name: str, axis: Axis, figure: Ordinate) -> PlotCurve:
    found = ((one, figure.of(one)) for one in group)
    marks = [
        _mark(one, axis.place(one), drawn, f"{digits(drawn[0])} {figure.unit}")
        for one, drawn in found
    ]
    return plot_curve(canvas_text(name), marks)


def _mark(case: Joint, x: float, drawn: Drawn, median: str) -> Mark:
    y, low, high, tail = drawn
    return Mark(
        x, y, low, high, ", ".join(_where(case)), median,
        f"{duration(case.low_s)} to {duration(case.high_s)}", _also(case),
        f"{case.samples:,} in {case.launches} launches", tail,
    )  # fmt: skip


def _where(case: Joint) -> Iterator[str]:
    yield size(case.message_bytes)
    yield f"{case.ranks:,} ranks"
    if case.pairs:
        yield f"{case.pairs:,} pairs"


def _also(case: Joint) -> str:
    tail = f"p99 {duration(case.p99_s)}" if case.p99_s is not None else "too few samples for a p99"
    hidden = f", overlap {percent(case.overlap)}" if case.overlap is not None else ""
    late = f", {case.late_starts:,} late starts" if case.late_starts else ""
    return f"{tail}{hidden}{late}"


def _ticks(cases: Sequence[Joint], axis: Axis) -> Mapping[float, str]:
    tick = axis.tick
    return {axis.place(one): tick(one) for one in cases} if tick is not None else {}
