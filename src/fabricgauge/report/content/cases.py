"""Cases of many ranks, over all launches that measured them alike, and their plots."""

import math
import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from fabricgauge.model.groups import grouped
from fabricgauge.model.measurement import Measurement, Times
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.together import Together
from fabricgauge.report.content.curves import P99_SAMPLES, P999_SAMPLES, spread
from fabricgauge.report.picture import Mark, Picture, PlotCurve, canvas_text, position
from fabricgauge.words.figures import digits, duration, percent, size
from fabricgauge.words.patterns import LOADS


class Joint(msgspec.Struct, frozen=True):
    """One case of many ranks: times in s per sample, rates in bytes/s and messages/s, in sum.

    It is an entry of the JSON report as it is. Rates are 0 where messages are not counted.

    The median is that of the launches' medians, ``low_s`` to ``high_s`` reaches over all
    their intervals. Percentiles and late starts are those of the worst launch and of all;
    a percentile is None where no launch had the samples for it. ``overlap`` is 0 to 1, None
    for a blocking operation.
    """

    network: str | None
    pattern: str
    ranks: int
    pairs: int
    load: str
    message_bytes: int
    window: int
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    p90_s: float
    p99_s: float | None
    p999_s: float | None
    minimum_s: float
    maximum_s: float
    samples: int
    launches: int
    clock: str
    clock_error_s: float
    late_starts: int
    overlap: float | None
    compute_s: float
    messages_per_s: float
    bytes_per_s: float
    load_bytes_per_s: float


#: What makes two cases the same, in their order: idle before loaded, since ratios are to it.
_Alike = tuple[str, str, int, int, bool, str, int, int]
#: A launch, a case of it, its times, and what is only of cases of many ranks.
_Found = tuple[Launch, Measurement, Times, Together]


def joint(run: Run) -> tuple[Joint, ...]:
    """Every case of many ranks that came to its proper end, smallest first within a pattern."""
    records: dict[_Alike, list[_Found]] = {}
    for launch in run.launches:
        for measurement in launch.measurements:
            if (
                measurement.status == "ok"
                and measurement.times is not None
                and measurement.together is not None
            ):
                ranks_result = measurement.together
                key = (
                    launch.network or "", measurement.pattern, ranks_result.ranks,
                    ranks_result.pairs, measurement.load != "none",
                    measurement.load, measurement.message_bytes, measurement.window,
                )  # fmt: skip
                records.setdefault(key, []).append(
                    (launch, measurement, measurement.times, ranks_result)
                )
    return tuple(_joined(records[key]) for key in sorted(records))


def _joined(records: Sequence[_Found]) -> Joint:
    launches, cases, times, together = zip(*records, strict=True)
    case, ranks_result = cases[0], together[0]
    timed = list(zip(cases, times, strict=True))
    messages_per_s = statistics.median(result.messages_per_s for result in together)
    overlaps = [result.overlap for result in together if result.overlap is not None]
    clocks = {result.clock for result in together}
    return Joint(
        network=launches[0].network, pattern=case.pattern, ranks=ranks_result.ranks,
        pairs=ranks_result.pairs,
        load=case.load, message_bytes=case.message_bytes, window=case.window,
        median_s=statistics.median(launch_times.median_s for launch_times in times),
        low_s=min(launch_times.low_s for launch_times in times),
        high_s=max(launch_times.high_s for launch_times in times),
        confidence=min(launch_times.confidence for launch_times in times),
        p90_s=max(launch_times.p90_s for launch_times in times),
        p99_s=max((t.p99_s for case, t in timed if case.samples >= P99_SAMPLES), default=None),
        p999_s=max((t.p999_s for case, t in timed if case.samples >= P999_SAMPLES), default=None),
        minimum_s=min(launch_times.minimum_s for launch_times in times),
        maximum_s=max(launch_times.maximum_s for launch_times in times),
        samples=sum(case.samples for case in cases),
        launches=len({launch.number for launch in launches}),
        clock=next(clock for clock in _CLOCKS if clock in clocks),
        clock_error_s=max(result.clock_error_s for result in together),
        late_starts=sum(result.late_starts for result in together),
        overlap=statistics.median(overlaps) if overlaps else None,
        compute_s=statistics.median(result.compute_s for result in together),
        messages_per_s=messages_per_s,
        bytes_per_s=messages_per_s * case.message_bytes,
        load_bytes_per_s=statistics.median(result.load_bytes_per_s for result in together),
    )  # fmt: skip


#: The least trustworthy first: a bias in one launch is a bias of all.
_CLOCKS = ("barrier", "origin", "synchronised")


def of_pattern(cases: Sequence[Joint], *patterns: str) -> tuple[Joint, ...]:
    return tuple(case for case in cases if case.pattern in patterns)


def idle(cases: Sequence[Joint], loaded: Joint) -> Joint | None:
    """The same victims without a load, if that was measured."""
    same = attrgetter("network", "pattern", "ranks", "pairs", "message_bytes", "window")
    baselines = (case for case in cases if case.load == "none" and same(case) == same(loaded))
    return next(baselines, None)


def ratio(loaded: float | None, without: float | None) -> float | None:
    """How many times longer under load; None where either was not measured."""
    return loaded / without if loaded is not None and without else None


def is_biased(case: Joint) -> bool:
    """Whether its time is taken after a barrier, whose exit no two ranks leave together."""
    return case.clock == "barrier"


def load(case: Joint) -> str:
    """What the other ranks did meanwhile, in words."""
    return LOADS.get(case.load, case.load)


#: A legend with more cannot be read; the tables have the rest.
MOST_SERIES = 12
#: Most message sizes beside each other over ranks or pairs.
MOST_SIZES = 5

#: Value, low, high, and the tail above it if there is one.
Drawn = tuple[float, float, float, float | None]
#: What the cases of one curve have in common, as its name.
CurveName = Callable[[Joint], str]


class Ordinate(NamedTuple):
    """What of a case stands along y, in which unit, and the range if it is a linear axis."""

    unit: str
    of: Callable[[Joint], Drawn]
    span: tuple[float, float] | None = None


class Axis(NamedTuple):
    """Where a case stands along x, and in what words."""

    label: str
    place: Callable[[Joint], float]
    tick: Callable[[Joint], str] | None = None


SIZES = Axis("message size", lambda case: position(case.message_bytes))
RANKS = Axis("ranks", lambda case: math.log2(case.ranks), lambda case: f"{case.ranks:,}")
PAIRS = Axis(
    "pairs at once", lambda case: math.log2(max(1, case.pairs)), lambda case: f"{case.pairs:,}"
)


def _time_us(case: Joint) -> Drawn:
    """Median with its interval; the tail is the 99th percentile."""
    tail = case.p99_s if case.p99_s is not None else case.high_s
    return case.median_s * 1e6, case.low_s * 1e6, case.high_s * 1e6, tail * 1e6


def _millions(case: Joint, per_s: float) -> Drawn:
    """A sum over all pairs in 10^6/s; its interval is that of the time, turned over."""
    rate = per_s / 1e6
    return rate, rate * case.median_s / case.high_s, rate * case.median_s / case.low_s, None


def _overlap(case: Joint) -> Drawn:
    """The share of the operation that computing hid, in percent."""
    share = 100 * (case.overlap or 0.0)
    return share, share, share, None


TIME = Ordinate("µs", _time_us)
RATE = Ordinate("MB/s", lambda case: _millions(case, case.bytes_per_s))
MESSAGES = Ordinate("M messages/s", lambda case: _millions(case, case.messages_per_s))
OVERLAP = Ordinate("%", _overlap, (0.0, 105.0))


def curves(
    cases: Sequence[Joint], title: str, y_label: str, axis: Axis, figure: Ordinate, by: CurveName
) -> Picture | None:
    """A curve for each value of ``by``; None where no curve has two points."""
    groups = grouped(cases, by)
    if all(len({axis.place(case) for case in group}) < 2 for group in groups.values()):
        return None
    plot_curves = []
    for name in spread(list(groups), MOST_SERIES):
        ordered = ((case, figure.of(case)) for case in sorted(groups[name], key=axis.place))
        marks = [
            _mark(case, axis.place(case), values, f"{digits(values[0])} {figure.unit}")
            for case, values in ordered
        ]
        plot_curves.append(PlotCurve(canvas_text(name), marks))
    ticks = {axis.place(case): axis.tick(case) for case in cases} if axis.tick else {}
    return Picture(
        title, y_label, figure.span is None, tuple(plot_curves), span=figure.span,
        x_label=axis.label,
        ticks=ticks,
    )  # fmt: skip


def few_sizes(cases: Sequence[Joint]) -> list[Joint]:
    """The cases of at most ``MOST_SIZES`` message sizes, from the smallest to the largest."""
    sizes = spread(sorted({case.message_bytes for case in cases}), MOST_SIZES)
    return [case for case in cases if case.message_bytes in sizes]


def ladder(cases: Sequence[Joint], title: str) -> Picture | None:
    """Median, p90, p99 and p99.9 of each load beside those without: how far the tails reach."""
    steps = ("median", "p90", "p99", "p99.9")
    plot_curves = []
    for case in cases:
        values = enumerate((case.median_s, case.p90_s, case.p99_s, case.p999_s))
        marks = [
            _mark(case, place, (v * 1e6, v * 1e6, v * 1e6, None), f"{steps[place]} {duration(v)}")
            for place, v in values
            if v is not None
        ]
        plot_curves.append(PlotCurve(canvas_text(load(case)), marks))
    if len(plot_curves) < 2:
        return None
    return Picture(
        title, "half round trip, µs", True, tuple(plot_curves), x_label="of the samples",
        ticks={float(place): step for place, step in enumerate(steps)},
    )  # fmt: skip


def _mark(case: Joint, x: float, ordinate: Drawn, median: str) -> Mark:
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
