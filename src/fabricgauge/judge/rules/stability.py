"""Are the figures that decide steady enough to decide anything?"""

from collections.abc import Iterator
from operator import itemgetter

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.streams import Stream, streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.groups import grouped
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns, sentences

ID = "stability"

_CAUSE = "other load on the hosts or the link, power saving, or a run that was too short"
_APPENDED = "a second run was appended to the log, or the network changed while it was measured"
_REMEDY_OF_LOGS = "import each run as a log of its own; measure again if it is one run"
_REMEDY = "measure again when nodes and network are quiet: fabricgauge check --profile full"

#: What a figure that is not steady gives, the limit, how far it is beyond, and that in words.
_Finding = tuple[Outcome, str, float, str]


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    every = streams(subject)
    smallest = [(one, one.points[0]) for one in subject.series if one.is_latency]
    points = [*(one.best for one in every), *(point for _, point in smallest)]
    if subject.imported:
        return _of_logs(subject)
    if not points:
        return Skipped("no deciding figure was measured")
    single = all(not one.time.supported and one.time.launches == 1 for one in points)
    if single and not any(one.measurements for one in points):
        return Skipped(
            "one launch, and means only: nothing can be said; --profile standard has three"
        )
    found = [finding for one in every for finding in _bandwidth(one, every)]
    found += [finding for one in smallest for finding in _latency(subject, *one)]
    if not found:
        said = "intervals, launches and tails of the deciding figures are within their limits"
        return Said(Outcome.PASS, said)
    outcome, limit, value, what = min(found, key=lambda one: one[0].rank)
    threshold = subject.threshold(limit, "at most")
    return Said(
        outcome, what, Figure(value, threshold.unit, what), threshold,
        tuple(one[-1] for one in found), _CAUSE, _REMEDY,
    )  # fmt: skip


def _of_logs(subject: Subject) -> Said | Skipped:
    """Rows of one size that a table has several times, as of a second run that was appended."""
    found = sorted(_repeated(subject), key=itemgetter(0), reverse=True)
    if not found:
        return Skipped("the logs have means only: how steady the figures were is not known")
    spread, limit, what = found[0]
    return Said(
        Outcome.WARN, what, Figure(spread, "share", what), subject.threshold(limit, "at most"),
        tuple(told for _, _, told in found), _APPENDED, _REMEDY_OF_LOGS,
    )  # fmt: skip


def _repeated(subject: Subject) -> Iterator[tuple[float, str, str]]:
    """The largest difference between rows of one size, its limit, and the sentence on it."""
    for curve in subject.curves:
        timed = curve.quantity == "time"
        sizes = {one.message_bytes for one in curve.points}
        if curve.pattern is None or len(sizes) == len(curve.points):
            continue
        limit = "stability.latency_launches" if timed else "stability.launches"
        name = f"{curve.source}:{curve.first_line} {curve.benchmark}"
        for size, points in grouped(curve.points, lambda one: one.message_bytes).items():
            values = [one.estimate.value for one in points]
            spread = max(values) / min(values) - 1.0
            if spread > subject.limit(limit):
                at = "" if size is None else f" {figures.at(size)}"
                lines = sentences.listed([str(one.line) for one in points], 4)
                rows = f"{len(values)} rows{at} (lines {lines})"
                yield spread, limit, f"{name}: {rows} differ by {figures.percent(spread)}"


def _bandwidth(stream: Stream, every: tuple[Stream, ...]) -> Iterator[_Finding]:
    subject, series, point = stream.subject, stream.series, stream.best
    width = point.bandwidth.half_width
    means_only = not point.measurements and not point.bandwidth.supported
    if not means_only and width > subject.limit("stability.interval"):
        outcome = Outcome.INCONCLUSIVE if stream.decides(every) else Outcome.WARN
        told = f"{_where(series, point)}: the interval is ± {figures.percent(width)} wide"
        yield outcome, "stability.interval", width, told
    yield from _spread(subject, "stability.launches", series, point)


def _latency(subject: Subject, series: Series, point: Point) -> Iterator[_Finding]:
    yield from _spread(subject, "stability.latency_launches", series, point)
    ratio = point.tail_ratio
    if ratio > subject.limit("stability.tail"):
        told = f"{_where(series, point)}: the 99th percentile is {ratio:.1f} times the median"
        yield Outcome.WARN, "stability.tail", ratio, told


def _spread(subject: Subject, limit: str, series: Series, point: Point) -> Iterator[_Finding]:
    spread = point.spread
    if spread > subject.limit(limit):
        told = f"{_where(series, point)}: launches differ by {figures.percent(spread)}"
        yield Outcome.WARN, limit, spread, told


def _where(series: Series, point: Point) -> str:
    return (
        f"{series.name}, {patterns.sentence(series.pattern)}"
        f" {figures.at(point.message_bytes, point.sized)}"
    )
