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
    found: dict[_Alike, list[_Found]] = {}
    for launch in run.launches:
        for one in launch.measurements:
            if one.status == "ok" and one.times is not None and one.together is not None:
                of = one.together
                alike = (
                    launch.network or "", one.pattern, of.ranks, of.pairs, one.load != "none",
                    one.load, one.message_bytes, one.window,
                )  # fmt: skip
                found.setdefault(alike, []).append((launch, one, one.times, of))
    return tuple(_joined(found[alike]) for alike in sorted(found))


def _joined(found: Sequence[_Found]) -> Joint:
    launches, cases, times, together = zip(*found, strict=True)
    case, of = cases[0], together[0]
    timed = list(zip(cases, times, strict=True))
    messages_per_s = statistics.median(one.messages_per_s for one in together)
    overlaps = [one.overlap for one in together if one.overlap is not None]
    clocks = {one.clock for one in together}
    return Joint(
        network=launches[0].network, pattern=case.pattern, ranks=of.ranks, pairs=of.pairs,
        load=case.load, message_bytes=case.message_bytes, window=case.window,
        median_s=statistics.median(one.median_s for one in times),
        low_s=min(one.low_s for one in times),
        high_s=max(one.high_s for one in times),
        confidence=min(one.confidence for one in times),
        p90_s=max(one.p90_s for one in times),
        p99_s=max((t.p99_s for one, t in timed if one.samples >= P99_SAMPLES), default=None),
        p999_s=max((t.p999_s for one, t in timed if one.samples >= P999_SAMPLES), default=None),
        minimum_s=min(one.minimum_s for one in times),
        maximum_s=max(one.maximum_s for one in times),
        samples=sum(one.samples for one in cases),
        launches=len({one.number for one in launches}),
        clock=next(one for one in _CLOCKS if one in clocks),
        clock_error_s=max(one.clock_error_s for one in together),
        late_starts=sum(one.late_starts for one in together),
        overlap=statistics.median(overlaps) if overlaps else None,
        compute_s=statistics.median(one.compute_s for one in together),
        messages_per_s=messages_per_s,
        bytes_per_s=messages_per_s * case.message_bytes,
        load_bytes_per_s=statistics.median(one.load_bytes_per_s for one in together),
    )  # fmt: skip


#: The least trustworthy first: a bias in one launch is a bias of all.
_CLOCKS = ("barrier", "origin", "synchronised")


def of_pattern(cases: Sequence[Joint], *patterns: str) -> tuple[Joint, ...]:
    return tuple(one for one in cases if one.pattern in patterns)


def idle(cases: Sequence[Joint], loaded: Joint) -> Joint | None:
    """The same victims without a load, if that was measured."""
    same = attrgetter("network", "pattern", "ranks", "pairs", "message_bytes", "window")
    found = (one for one in cases if one.load == "none" and same(one) == same(loaded))
    return next(found, None)


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


SIZES = Axis("message size", lambda one: position(one.message_bytes))
RANKS = Axis("ranks", lambda one: math.log2(one.ranks), lambda one: f"{one.ranks:,}")
PAIRS = Axis(
    "pairs at once", lambda one: math.log2(max(1, one.pairs)), lambda one: f"{one.pairs:,}"
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
RATE = Ordinate("MB/s", lambda one: _millions(one, one.bytes_per_s))
MESSAGES = Ordinate("M messages/s", lambda one: _millions(one, one.messages_per_s))
OVERLAP = Ordinate("%", _overlap, (0.0, 105.0))


def curves(
    cases: Sequence[Joint], title: str, y_label: str, axis: Axis, figure: Ordinate, by: CurveName
) -> Picture | None:
    """A curve for each value of ``by``; None where no curve has two points."""
    groups = grouped(cases, by)
    if all(len({axis.place(one) for one in group}) < 2 for group in groups.values()):
        return None
    drawn = []
    for name in spread(list(groups), MOST_SERIES):
        ordered = ((one, figure.of(one)) for one in sorted(groups[name], key=axis.place))
        marks = [
            _mark(one, axis.place(one), values, f"{digits(values[0])} {figure.unit}")
            for one, values in ordered
        ]
        drawn.append(PlotCurve(canvas_text(name), marks))
    ticks = {axis.place(one): axis.tick(one) for one in cases} if axis.tick else {}
    return Picture(
        title, y_label, figure.span is None, tuple(drawn), span=figure.span, x_label=axis.label,
        ticks=ticks,
    )  # fmt: skip


def few_sizes(cases: Sequence[Joint]) -> list[Joint]:
    """The cases of at most ``MOST_SIZES`` message sizes, from the smallest to the largest."""
    sizes = spread(sorted({one.message_bytes for one in cases}), MOST_SIZES)
    return [one for one in cases if one.message_bytes in sizes]


def ladder(cases: Sequence[Joint], title: str) -> Picture | None:
    """Median, p90, p99 and p99.9 of each load beside those without: how far the tails reach."""
    steps = ("median", "p90", "p99", "p99.9")
    drawn = []
    for case in cases:
        values = enumerate((case.median_s, case.p90_s, case.p99_s, case.p999_s))
        marks = [
            _mark(case, place, (v * 1e6, v * 1e6, v * 1e6, None), f"{steps[place]} {duration(v)}")
            for place, v in values
            if v is not None
        ]
        drawn.append(PlotCurve(canvas_text(load(case)), marks))
    if len(drawn) < 2:
        return None
    return Picture(
        title, "half round trip, µs", True, tuple(drawn), x_label="of the samples",
        ticks={float(place): step for place, step in enumerate(steps)},
    )  # fmt: skip


def _mark(case: Joint, x: float, drawn: Drawn, median: str) -> Mark:
    y, low, high, tail = drawn
    pairs = f", {case.pairs:,} pairs" if case.pairs else ""
    p99 = f"p99 {duration(case.p99_s)}" if case.p99_s is not None else "too few samples for a p99"
    hidden = f", overlap {percent(case.overlap)}" if case.overlap is not None else ""
    late = f", {case.late_starts:,} late starts" if case.late_starts else ""
    return Mark(
        float(x), y, low, high, f"{size(case.message_bytes)}, {case.ranks:,} ranks{pairs}", median,
        f"{duration(case.low_s)} to {duration(case.high_s)}", f"{p99}{hidden}{late}",
        f"{case.samples:,} in {case.launches} launches", tail,
    )  # fmt: skip
