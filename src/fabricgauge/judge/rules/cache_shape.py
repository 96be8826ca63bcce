"""Has a bandwidth curve the shape of a cache instead of that of a medium?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.rules.above_ceiling import exceeds
from fabricgauge.judge.rules.floor import too_quick
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
_FALLS = "large messages outgrow the hosts' caches or buffers, or meet a congested or paced network"
_LARGE = (
    "measure large messages again with fewer under way (osu_bw -W 8), and look at the MPI's"
    " rendezvous protocol, registration cache and NUMA placement"
)
_SAY_HOSTS = "say where the ranks ran with --hosts; a curve's shape alone proves no shared memory"


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
        and (series.foreign is None or series.foreign.pairs == 1)  # so do several pairs
        for peak in [cache_peak(series.at_least(least), context.limit("cache-shape.loss"), cap)]
        if peak
    ]
    if not subject.series:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was measured")
    if not peaks:
        return verdict_on(ID, Outcome.PASS, subject.about, "no curve has a peak like a cache's")
    return _verdict(context, subject, peaks)


def _verdict(context: Context, subject: Subject, peaks: list[tuple[Series, Peak]]) -> Verdict:
    series, peak = max(peaks, key=lambda one: one[1].share)
    outcome, said, cause, remedy = _meaning(context, subject, series)
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=_sentence(series, peak) + said,
        figure=Figure(peak.share, "share", "of the peak's bandwidth is lost at larger messages"),
        threshold=context.thresholds.threshold("cache-shape.loss", "at most"),
        evidence=tuple(_sentence(*one) for one in peaks),
        cause=cause,
        remedy=remedy,
    )


def _meaning(context: Context, subject: Subject, series: Series) -> tuple[Outcome, str, str, str]:
    """Outcome, the end of the sentence, cause and remedy: what is known of the hosts decides.

    Networks fall as well, where large messages meet a limit that small ones do not. So the shape
    alone condemns nothing: it takes ends on one host, or a figure that no network can have.
    """
    if is_proved(context, subject):
        return Outcome.WARN, "", _CAUSE, _REMEDY
    apart = series.apart if subject.imported else False
    if apart:
        return Outcome.WARN, "; its ends are on different hosts", _FALLS, _LARGE
    known = apart is False or too_quick(context, subject) or exceeds(context, subject)
    outcome = Outcome.INVALID if known else Outcome.INCONCLUSIVE
    if not subject.claimed:
        outcome = Outcome.WARN
    if known:
        return outcome, "; a medium does not, and the path is not proved", _CAUSE, _REMEDY
    return outcome, "; where its ends ran is not known", f"{_CAUSE}; or {_FALLS}", _SAY_HOSTS


def _sentence(series: Series, peak: Peak) -> str:
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): bandwidth peaks at"
        f" {figures.size(peak.message_bytes)} and is {figures.percent(peak.share)} lower at"
        f" {figures.size(peak.lowest_bytes)}"
    )
