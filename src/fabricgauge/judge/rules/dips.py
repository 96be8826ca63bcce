"""Is there a size where a larger message takes less time, or bandwidth falls?"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns, sentences

ID = "dips"

_CAUSE = (
    "MPI changes its protocol there (eager to rendezvous, inline to copied), a segment no longer"
    " fits a packet or a buffer, or the host was disturbed during that case"
)
_REMEDY = (
    "measure the sizes around it again; if the dip stays, move the protocol's threshold (MPICH:"
    " MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD; Open MPI: btl_tcp_eager_limit; UCX: UCX_RNDV_THRESH)"
)


class Fall(NamedTuple):
    """Between two neighbouring sizes the curve went the wrong way by ``share`` (0 to 1)."""

    smaller_bytes: int
    larger_bytes: int
    share: float


#: A fall, and the limit that it was held against.
_Held = tuple[Fall, str]


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    seen = [(one, *held) for one in subject.series for held in _falls(subject, one)]
    found = [one for one in seen if _came_back(subject, one[0], one[1])]
    told = tuple(_sentence(series, fall) for series, fall, _ in found or seen)
    if not subject.series:
        return Skipped("nothing was measured")
    if not seen:
        return Said(Outcome.PASS, "no curve dips beyond its intervals")
    if not found:
        said = f"measured again, {sentences.counted(len(seen), 'dip')} did not come back"
        return Said(Outcome.PASS, said, evidence=tuple(f"once: {one}" for one in told))
    # A mean that one hiccup may own can't show that a dip is the network's.
    if not any(point.time.supported for series, *_ in found for point in series.points):
        said = (
            f"{sentences.counted(len(found), 'dip')}, but the log has means only, so one disturbed"
            f" sample may have made each: {sentences.listed(told, 3)}"
        )
        return Said(Outcome.SKIPPED, said, evidence=told)
    series, fall, limit = max(found, key=lambda one: one[1].share)
    worst = _sentence(series, fall)
    return Said(
        Outcome.WARN, worst, Figure(fall.share, "share", worst),
        subject.threshold(limit, "at most"), told, _CAUSE, _REMEDY,
    )  # fmt: skip


def _came_back(subject: Subject, series: Series, fall: Fall) -> bool:
    """Whether a second measurement shows the dip as well, or there is none."""
    second = next((one for one in subject.again if one.about == series.about), None)
    return second is None or any(
        (one.smaller_bytes, one.larger_bytes) == (fall.smaller_bytes, fall.larger_bytes)
        for one, _ in _falls(subject, second)
    )


def to_recheck(subject: Subject) -> Iterator[Point]:
    """The sizes around each dip: only a dip that comes back is the network's."""
    for series in subject.series:
        for fall, _ in _falls(subject, series):
            around = fall.smaller_bytes, fall.larger_bytes
            yield from (point for point in series.points if point.message_bytes in around)


def _falls(subject: Subject, series: Series) -> list[_Held]:
    """Where this curve goes the wrong way by more than its limit, intervals apart."""
    if series.is_latency:
        limit = "dips.time"
        return [(one, limit) for one in falls(series.points, subject.limit(limit), times=True)]
    pace, cap = subject.limit("fraction.from"), subject.burst_cap_bytes_per_s
    small = tuple(point for point in series.points if point.message_bytes <= pace)
    return [
        (one, limit)
        for points, limit in (
            (small, "dips.small_bandwidth"),
            (series.at_least(pace), "dips.bandwidth"),
        )
        for one in falls(points, subject.limit(limit), cap)
    ]


def falls(
    points: Sequence[Point], more_than: float, cap: float = math.inf, *, times: bool = False
) -> tuple[Fall, ...]:
    """Sizes whose bandwidth, or time, is below the next smaller size's, intervals apart.

    Values above ``cap`` bytes/s count as ``cap``: what a token bucket let through early is no level
    to fall from.
    """
    found = []
    for one, other in pairwise(points):
        before, after = (one.time, other.time) if times else (one.bandwidth, other.bandwidth)
        low, high = min(before.low, cap), min(after.high, cap)
        share = 1.0 - high / low if low > 0 else 0.0
        if share > more_than:
            found.append(Fall(one.message_bytes, other.message_bytes, share))
    return tuple(found)


def _sentence(series: Series, fall: Fall) -> str:
    what = "time" if series.is_latency else "bandwidth"
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): {what} falls by"
        f" {figures.percent(fall.share)} from {figures.size(fall.smaller_bytes)} to"
        f" {figures.size(fall.larger_bytes)}"
    )
