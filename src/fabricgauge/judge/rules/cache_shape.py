"""Has a bandwidth curve the shape of a cache instead of that of a medium?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.rules.path import is_proved
from fabricgauge.judge.streams import BURSTS
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.series import Series
from fabricgauge.stats.shape import Peak, cache_peak
from fabricgauge.words import figures, patterns

ID = "cache-shape"
TITLE = "Bandwidth saturates with message size, as a medium's does"

#: A peak at smaller messages is a matter of software, not of a cache.
FROM_BYTES = 16384

_CAUSE = "messages that fit a processor's cache are copied faster: memory is part of the path"
_REMEDY = "look at placement and path; if the path is proved, the hosts' memory is what limits"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    cap = subject.burst_cap_bytes_per_s
    least = FROM_BYTES
    if not isinstance(subject.ceiling, Skipped):
        least = max(least, BURSTS * subject.ceiling.burst_bytes)
    peaks = [
        (series, peak)
        for series in subject.series
        if series.pattern != "bidirectional_bandwidth"  # both directions contend for the hosts
        for peak in [cache_peak(series.at_least(least), context.limit("cache-shape.loss"), cap)]
        if peak
    ]
    if not subject.series:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was measured")
    if not peaks:
        return verdict_on(ID, Outcome.PASS, subject.about, "no curve has a peak like a cache's")
    return _verdict(context, subject, peaks)


def _verdict(context: Context, subject: Subject, peaks: list[tuple[Series, Peak]]) -> Verdict:
    proved = is_proved(context, subject)
    series, peak = max(peaks, key=lambda one: one[1].share)
    return verdict_on(
        rule=ID,
        outcome=Outcome.WARN if proved or not subject.claimed else Outcome.INVALID,
        about=subject.about,
        summary=_sentence(series, peak)
        + ("" if proved else "; a medium does not, and the path is not proved"),
        figure=Figure(peak.share, "share", "of the peak's bandwidth is lost at larger messages"),
        threshold=context.thresholds.threshold("cache-shape.loss", "at most"),
        evidence=tuple(_sentence(*one) for one in peaks),
        cause=_CAUSE,
        remedy=_REMEDY,
    )


def _sentence(series: Series, peak: Peak) -> str:
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): bandwidth peaks at"
        f" {figures.size(peak.message_bytes)} and is {figures.percent(peak.share)} lower at"
        f" {figures.size(peak.lowest_bytes)}"
    )
