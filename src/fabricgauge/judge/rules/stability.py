"""Are the figures that decide steady enough to decide anything?"""

import msgspec

from fabricgauge.judge.interface import Context, verdict_on, worst
from fabricgauge.judge.streams import streams
from fabricgauge.judge.subject import Subject
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.launches import launch_spread, relative_half_width, tail_ratio
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns

ID = "stability"
TITLE = "The deciding figures are steady"

_CAUSE = "other load on the hosts or the link, power saving, or a run that was too short"
_REMEDY = "measure again when nodes and network are quiet: fabricgauge check --profile full"


class _Finding(msgspec.Struct, frozen=True):
    outcome: Outcome
    threshold: str
    value: float
    what: str


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        reason = "the logs have means only: how steady the figures were is not known"
        return verdict_on(ID, Outcome.SKIPPED, subject.about, reason)
    deciding = [(one.series, one.best) for one in streams(context, subject)]
    smallest = [(one, one.points[0]) for one in subject.series if one.is_latency]
    if not deciding and not smallest:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "no deciding figure was measured")
    points = [point for _, point in (*deciding, *smallest)]
    if all(not one.time.supported and one.time.launches == 1 for one in points) and not any(
        one.measurements for one in points
    ):
        reason = "one launch, and means only: nothing can be said; --profile standard has three"
        return verdict_on(ID, Outcome.SKIPPED, subject.about, reason)
    findings = [finding for one in deciding for finding in _bandwidth(context, *one)]
    findings += [finding for one in smallest for finding in _latency(context, *one)]
    if not findings:
        return verdict_on(
            ID, Outcome.PASS, subject.about,
            "intervals, launches and tails of the deciding figures are within their limits",
        )  # fmt: skip
    return _verdict(context, subject, findings)


def _verdict(context: Context, subject: Subject, findings: list[_Finding]) -> Verdict:
    outcome = worst((one.outcome for one in findings), empty=Outcome.PASS)
    first = next(one for one in findings if one.outcome is outcome)
    threshold = context.thresholds.threshold(first.threshold, "at most")
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=first.what,
        figure=Figure(first.value, threshold.unit, first.what),
        threshold=threshold,
        evidence=tuple(one.what for one in findings),
        cause=_CAUSE,
        remedy=_REMEDY,
    )


def _bandwidth(context: Context, series: Series, point: Point) -> list[_Finding]:
    found = []
    width = relative_half_width(point.bandwidth)
    means_only = not point.measurements and not point.bandwidth.supported
    if not means_only and width > context.limit("stability.interval"):
        # Both directions at once decide nothing, see fraction.
        both = series.pattern == "bidirectional_bandwidth"
        found.append(_Finding(
            Outcome.WARN if both else Outcome.INCONCLUSIVE, "stability.interval", width,
            f"{_where(series, point)}: the interval is ± {figures.percent(width)} wide",
        ))  # fmt: skip
    spread = launch_spread(point.observed)
    if spread > context.limit("stability.launches"):
        found.append(_spread("stability.launches", spread, series, point))
    return found


def _latency(context: Context, series: Series, point: Point) -> list[_Finding]:
    found = []
    spread = launch_spread(point.observed)
    if spread > context.limit("stability.latency_launches"):
        found.append(_spread("stability.latency_launches", spread, series, point))
    ratio = tail_ratio(point.observed)
    if ratio > context.limit("stability.tail"):
        found.append(_Finding(
            Outcome.WARN, "stability.tail", ratio,
            f"{_where(series, point)}: the 99th percentile is {ratio:.1f} times the median",
        ))  # fmt: skip
    return found


def _spread(threshold: str, spread: float, series: Series, point: Point) -> _Finding:
    return _Finding(
        Outcome.WARN, threshold, spread,
        f"{_where(series, point)}: launches differ by {figures.percent(spread)}",
    )  # fmt: skip


def _where(series: Series, point: Point) -> str:
    return (
        f"{series.name}, {patterns.sentence(series.pattern)}"
        f" {figures.at(point.message_bytes, point.sized)}"
    )
