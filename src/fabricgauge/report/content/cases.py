"""Aggregate cases of many ranks over all launches of the same case, and plot them."""

import math
import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from fabricgauge.judge.stats.series import (
    Observation,
    find_usable,
    select_undisturbed,
    time_estimate,
)
from fabricgauge.model.groups import group_by
from fabricgauge.model.run import Run
from fabricgauge.model.words.figures import digits, duration, percent, size
from fabricgauge.model.words.patterns import LOADS, throughput
from fabricgauge.report.content.curves import P99_SAMPLES, P999_SAMPLES, spread
from fabricgauge.report.interface import ConcurrentCase
from fabricgauge.report.picture import Mark, Picture, PlotCurve, position
from fabricgauge.report.visible import visible

#: Key of equal cases, in the order of the report: idle before loaded, since ratios refer to idle.
_CaseKey = tuple[str, str, int, int, bool, str, int, int]


def concurrent_cases(run: Run) -> tuple[ConcurrentCase, ...]:
    """Return every completed case of many ranks, smallest first within a pattern."""
    observations: dict[_CaseKey, list[Observation]] = {}
    for launch in run.launches:
        for observation in find_usable(launch.number, launch.measurements):
            case = observation.measurement
            if case is not None and case.together is not None:
                key = (
                    launch.network or "", case.pattern, case.together.ranks, case.together.pairs,
                    case.load != "none", case.load, case.message_bytes, case.window,
                )  # fmt: skip
                observations.setdefault(key, []).append(observation)
    return tuple(_merge(key[0] or None, observations[key]) for key in sorted(observations))


def _merge(network: str | None, measured: Sequence[Observation]) -> ConcurrentCase:
    observations = select_undisturbed(measured)
    estimate = time_estimate(observations)
    measurements = (observation.measurement for observation in observations)
    cases = [measurement for measurement in measurements if measurement is not None]
    times = [case.times for case in cases if case.times is not None]
    together = [case.together for case in cases if case.together is not None]
    case, ranks_result = cases[0], together[0]
    timed = list(zip(cases, times, strict=True))
    messages_per_s = statistics.median(result.messages_per_s for result in together)
    bytes_per_s = messages_per_s * case.message_bytes
    rate = bytes_per_s or throughput(case.pattern, case.message_bytes, estimate.value, case.window)
    overlaps = [result.overlap for result in together if result.overlap is not None]
    clocks = {result.clock for result in together}
    return ConcurrentCase(
        network=network, pattern=case.pattern, ranks=ranks_result.ranks,
        pairs=ranks_result.pairs,
        load=case.load, message_bytes=case.message_bytes, window=case.window,
        median_s=estimate.value, low_s=estimate.low, high_s=estimate.high,
        confidence=estimate.confidence,
        p90_s=max(launch_times.p90_s for launch_times in times),
        p99_s=max((t.p99_s for case, t in timed if case.samples >= P99_SAMPLES), default=None),
        p999_s=max((t.p999_s for case, t in timed if case.samples >= P999_SAMPLES), default=None),
        minimum_s=min(launch_times.minimum_s for launch_times in times),
        maximum_s=max(launch_times.maximum_s for launch_times in times),
        samples=estimate.samples, launches=estimate.launches,
        clock=next(clock for clock in _CLOCKS if clock in clocks),
        clock_error_s=max(result.clock_error_s for result in together),
        late_starts=sum(result.late_starts for result in together),
        waiting=any(case.waiting for case in cases),
        overlap=statistics.median(overlaps) if overlaps else None,
        compute_s=statistics.median(result.compute_s for result in together),
        messages_per_s=messages_per_s,
        bytes_per_s=bytes_per_s,
        load_bytes_per_s=statistics.median(result.load_bytes_per_s for result in together),
        throughput_bytes_per_s=rate,
    )  # fmt: skip


#: The least trustworthy clock first: one biased launch biases the result.
_CLOCKS = ("barrier", "origin", "synchronised")


def select_patterns(cases: Sequence[ConcurrentCase], *patterns: str) -> tuple[ConcurrentCase, ...]:
    return tuple(case for case in cases if case.pattern in patterns)


def find_idle(cases: Sequence[ConcurrentCase], loaded: ConcurrentCase) -> ConcurrentCase | None:
    """Return the same victims without a load, None if they were not measured."""
    same = attrgetter("network", "pattern", "ranks", "pairs", "message_bytes", "window")
    baselines = (case for case in cases if case.load == "none" and same(case) == same(loaded))
    return next(baselines, None)


def ratio(loaded: float | None, without: float | None) -> float | None:
    """Return the factor by which a load lengthens a time; None if either is missing."""
    return loaded / without if loaded is not None and without else None


def is_biased(case: ConcurrentCase) -> bool:
    """Check whether its time starts after a barrier, which no two ranks leave together."""
    return case.clock == "barrier"


def load(case: ConcurrentCase) -> str:
    return LOADS.get(case.load, case.load)


#: Most curves in a readable legend; the tables have the rest.
MOST_SERIES = 12
#: Most message sizes beside each other over ranks or pairs.
MOST_SIZES = 5

#: Value, low, high, and the tail above them or None.
Drawn = tuple[float, float, float, float | None]
#: Name of a curve: what its cases have in common.
CurveName = Callable[[ConcurrentCase], str]


class Ordinate(NamedTuple):
    """Define a case's y value, its unit, and the range of a linear axis."""

    unit: str
    of: Callable[[ConcurrentCase], Drawn]
    span: tuple[float, float] | None = None


class Axis(NamedTuple):
    """Define a case's position along x, and its words."""

    label: str
    place: Callable[[ConcurrentCase], float]
    tick: Callable[[ConcurrentCase], str] | None = None


SIZES = Axis("message size", lambda case: position(case.message_bytes))
RANKS = Axis("ranks", lambda case: math.log2(case.ranks), lambda case: f"{case.ranks:,}")
PAIRS = Axis(
    "pairs at once", lambda case: math.log2(max(1, case.pairs)), lambda case: f"{case.pairs:,}"
)


def _time_us(case: ConcurrentCase) -> Drawn:
    tail = case.p99_s if case.p99_s is not None else case.high_s
    return case.median_s * 1e6, case.low_s * 1e6, case.high_s * 1e6, tail * 1e6


def _millions(case: ConcurrentCase, per_s: float) -> Drawn:
    """Return a sum over all pairs in 10^6/s; its interval is that of the time, inverted."""
    rate = per_s / 1e6
    return rate, rate * case.median_s / case.high_s, rate * case.median_s / case.low_s, None


def _overlap(case: ConcurrentCase) -> Drawn:
    """Return the share of the operation that computing hid, in percent."""
    share = 100 * (case.overlap or 0.0)
    return share, share, share, None


TIME = Ordinate("µs", _time_us)
RATE = Ordinate("MB/s", lambda case: _millions(case, case.bytes_per_s))
MESSAGES = Ordinate("M messages/s", lambda case: _millions(case, case.messages_per_s))
THROUGHPUT = Ordinate("MB/s", lambda case: _millions(case, case.throughput_bytes_per_s or 0.0))
OVERLAP = Ordinate("%", _overlap, (0.0, 105.0))


def curves(
    cases: Sequence[ConcurrentCase],
    title: str,
    y_label: str,
    axis: Axis,
    figure: Ordinate,
    by: CurveName,
) -> Picture | None:
    """Return a curve for each value of ``by``; None if no curve has two points."""
    groups = group_by(cases, by)
    if all(len({axis.place(case) for case in group}) < 2 for group in groups.values()):
        return None
    plot_curves = []
    for name in spread(list(groups), MOST_SERIES):
        ordered = ((case, figure.of(case)) for case in sorted(groups[name], key=axis.place))
        marks = [
            _mark(case, axis.place(case), values, f"{digits(values[0])} {figure.unit}")
            for case, values in ordered
        ]
        plot_curves.append(PlotCurve(visible(name), marks))
    ticks = {axis.place(case): axis.tick(case) for case in cases} if axis.tick else {}
    return Picture(
        title, y_label, figure.span is None, tuple(plot_curves), span=figure.span,
        x_label=axis.label,
        ticks=ticks,
    )  # fmt: skip


def few_sizes(cases: Sequence[ConcurrentCase]) -> list[ConcurrentCase]:
    """Return the cases of at most ``MOST_SIZES`` sizes, with the smallest and the largest."""
    sizes = spread(sorted({case.message_bytes for case in cases}), MOST_SIZES)
    return [case for case in cases if case.message_bytes in sizes]


def ladder(cases: Sequence[ConcurrentCase], title: str) -> Picture | None:
    """Plot median, p90, p99 and p99.9 of each load beside the idle ones: the reach of the tails."""
    steps = ("median", "p90", "p99", "p99.9")
    plot_curves = []
    for case in cases:
        values = enumerate((case.median_s, case.p90_s, case.p99_s, case.p999_s))
        marks = [
            _mark(case, place, (v * 1e6, v * 1e6, v * 1e6, None), f"{steps[place]} {duration(v)}")
            for place, v in values
            if v is not None
        ]
        plot_curves.append(PlotCurve(visible(load(case)), marks))
    if len(plot_curves) < 2:
        return None
    return Picture(
        title, "half round trip, µs", True, tuple(plot_curves), x_label="of the samples",
        ticks={float(place): step for place, step in enumerate(steps)},
    )  # fmt: skip


def _mark(case: ConcurrentCase, x: float, ordinate: Drawn, median: str) -> Mark:
    y, low, high, tail = ordinate
    pairs = f", {case.pairs:,} pairs" if case.pairs else ""
    p99 = f"p99 {duration(case.p99_s)}" if case.p99_s is not None else "too few samples for a p99"
    hidden = f", overlap {percent(case.overlap)}" if case.overlap is not None else ""
    late = f", {case.late_starts:,} late starts" if case.late_starts else ""
    return Mark(
        float(x), y, low, high, f"{size(case.message_bytes)}, {case.ranks:,} ranks{pairs}", median,
        f"{duration(case.low_s)} to {duration(case.high_s)}", f"{p99}{hidden}{late}",
        f"{case.samples:,} in {case.launches} launches", tail,
    )  # fmt: skip
