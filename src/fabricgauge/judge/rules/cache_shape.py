"""Check whether a bandwidth curve has the shape of a cache instead of that of a medium."""

from collections.abc import Sequence
from typing import NamedTuple

from fabricgauge.judge.interface import NO_SERIES, Subject, judge_networks
from fabricgauge.judge.rules.above_ceiling import exceeds
from fabricgauge.judge.rules.floor import has_impossible_latency
from fabricgauge.judge.rules.path import is_proved
from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.judge.streams import BURSTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns

ID = "cache-shape"

#: If one of these was measured, two directions at once are not judged.
ONE_WAY = ("bandwidth", "put_bandwidth", "get_bandwidth", "latency")

#: A peak at smaller messages comes from software, not from a cache.
FROM_BYTES = 16384

_CAUSE = "messages that fit a processor's cache are copied faster: memory is part of the path"
_REMEDY = "look at placement and path; if the path is proved, the hosts' memory limits the rate"
_FALLS = "large messages outgrow the hosts' caches or buffers, or the network is congested or paced"
_LARGE = (
    "measure large messages again with fewer under way (osu_bw -W 8), and check the MPI's"
    " rendezvous protocol, registration cache and NUMA placement"
)
NAME_HOSTS = (
    "name the ranks' hosts with --hosts; a curve's shape alone does not prove shared memory"
)


class Peak(NamedTuple):
    """A maximum with a lower bandwidth at larger sizes; ``share`` is the deepest loss."""

    message_bytes: int
    lowest_bytes: int
    share: float


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    peaks = [(series, peak) for series in subject.series if (peak := _peak(subject, series))]
    if not subject.series:
        return Skipped(NO_SERIES)
    if not peaks:
        return Verdict(Outcome.PASS, "no curve has a peak like a cache's")
    series, peak = max(peaks, key=lambda series_and_peak: series_and_peak[1].share)
    outcome, sentence, cause, remedy = _meaning(subject, series)
    return Verdict(
        outcome,
        _sentence(series, peak) + sentence,
        Figure(peak.share, "share", "of the peak's bandwidth is lost at larger messages"),
        subject.threshold("cache-shape.loss", "at most"),
        tuple(_sentence(*item) for item in peaks),
        cause,
        remedy,
    )


def may_be_memory(subject: Subject, series: Series) -> bool:
    """Check whether a curve has memory's shape, and the hosts of its ends are unknown."""
    unknown = subject.imported and series.apart is None
    return unknown and _peak(subject, series) is not None


def _peak(subject: Subject, series: Series) -> Peak | None:
    """Return the peak of a curve that falls, None if it does not.

    Several pairs, and both directions at once, contend and fall as well. Both directions are judged
    only if no one-way stream was measured.
    """
    several = series.foreign is not None and series.foreign.pairs != 1
    is_two_way = series.pattern == "bidirectional_bandwidth"
    if several or (is_two_way and any(series.pattern in ONE_WAY for series in subject.series)):
        return None
    points = series.at_least(max(FROM_BYTES, BURSTS * subject.burst_bytes))
    return cache_peak(points, subject.limit("cache-shape.loss"), subject.burst_cap_bytes_per_s)


def cache_peak(points: Sequence[Point], more_than: float, cap: float) -> Peak | None:
    """Return a peak like that of a cache; None if the curve saturates as a medium's does.

    The lower end of the peak's interval, at most ``cap`` bytes/s, must be above the
    upper end of a larger size's by more than ``more_than`` (0 to 1).
    """
    top = max(points, key=lambda point: point.bandwidth.value, default=None)
    if top is None or top.bandwidth.low <= 0:
        return None
    after = [point for point in points if point.message_bytes > top.message_bytes]
    lowest = min(after, key=lambda point: point.bandwidth.high, default=None)
    if lowest is None:
        return None
    share = 1.0 - lowest.bandwidth.high / min(top.bandwidth.low, cap)
    return Peak(top.message_bytes, lowest.message_bytes, share) if share > more_than else None


def _meaning(subject: Subject, series: Series) -> tuple[Outcome, str, str, str]:
    """Return outcome, the end of the sentence, cause and remedy, by what is known of the hosts."""
    if is_proved(subject):
        return Outcome.WARN, "", _CAUSE, _REMEDY
    apart = series.apart if subject.imported else False
    if apart:
        return Outcome.WARN, "; its ends are on different hosts", _FALLS, _LARGE
    # Networks fall as well if large messages meet a limit that small ones do not. So the shape
    # alone does not invalidate a curve.
    is_memory = apart is False or has_impossible_latency(subject) or exceeds(subject)
    outcome = Outcome.INVALID if is_memory else Outcome.INCONCLUSIVE
    if not subject.claimed:
        outcome = Outcome.WARN
    if is_memory:
        return outcome, "; no network falls like this, and the path is unproven", _CAUSE, _REMEDY
    return outcome, "; the hosts of its ends are unknown", f"{_CAUSE}; or {_FALLS}", NAME_HOSTS


def _sentence(series: Series, peak: Peak) -> str:
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): bandwidth peaks at"
        f" {figures.size(peak.message_bytes)} and is {figures.percent(peak.share)} lower at"
        f" {figures.size(peak.lowest_bytes)}"
    )
