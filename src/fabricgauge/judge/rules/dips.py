"""Find sizes at which a larger message takes less time, or bandwidth falls or stays low."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from fabricgauge.judge.interface import NO_SERIES, Subject, judge_networks
from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, patterns, sentences

ID = "dips"

_CAUSE = (
    "MPI changes its protocol at this size (eager to rendezvous, inline to copied), a segment no"
    " longer fits a packet or a buffer, or other work disturbed the host during the case"
)
_REMEDY = (
    "measure the neighbouring sizes again; if the dip stays, move the protocol's threshold (MPICH:"
    " MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD; Open MPI: btl_tcp_eager_limit; UCX: UCX_RNDV_THRESH)"
)

#: One disturbed sample changes the mean of one size, not of several.
LASTING_SIZES = 2
#: The first sizes of a ping-pong may find cold caches or connect, not three of them.
SLOW_SIZES = 3
#: A single size that falls by more than this share is named: a lost segment costs a mean less, and
#: one sample of hundreds would have to take a hundred times as long.
LONE_CLIFF = 0.9
#: A log may have smaller falls than the limits; from this share on they are named.
NAMED = 0.01
#: From this multiple of ``fraction.from`` on a stream no longer grows with its messages.
GROWN = 4


class Fall(NamedTuple):
    """A fall of the curve by ``share`` (0 to 1) between two neighbouring sizes.

    The curve stays below the level before it over ``sizes`` sizes.
    """

    smaller_bytes: int
    larger_bytes: int
    share: float
    sizes: int = 1


#: A fall, and the name of its limit.
_JudgedFall = tuple[Fall, str]


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    all_dips = [(series, *fall) for series in subject.series for fall in _falls(subject, series)]
    dips = [dip for dip in all_dips if _came_back(subject, dip[0], dip[1])]
    lines = tuple(_sentence(*dip) for dip in dips or all_dips)
    slight = tuple(_slight(subject, {(dip[0].about, dip[1].larger_bytes) for dip in all_dips}))
    if not subject.series:
        return Skipped(NO_SERIES)
    if low := list(_stays_low(subject)):
        share, sentence = max(low)
        return Verdict(
            Outcome.WARN, sentence, Figure(share, "share", sentence),
            subject.threshold("dips.low", "at most"), (*(summary for _, summary in low), *lines),
            _CAUSE, _REMEDY,
        )  # fmt: skip
    if not all_dips:
        return Verdict(Outcome.PASS, "no curve dips beyond its intervals", evidence=slight)
    if not dips:
        dip_count = sentences.counted(len(all_dips), "dip")
        summary = f"{dip_count} did not come back in a second measurement"
        return Verdict(Outcome.PASS, summary, evidence=tuple(f"once: {dip}" for dip in lines))
    # One disturbed sample may change a mean, so a mean alone does not prove a dip.
    sure = [dip for dip in dips if _is_sure(subject, *dip)]
    if not sure:
        summary = (
            f"{sentences.counted(len(dips), 'dip')}, but the log has only means, so one disturbed"
            f" sample may explain each dip: {sentences.listed((*lines, *slight), 3)}"
        )
        return Verdict(Outcome.SKIPPED, summary, evidence=(*lines, *slight))
    series, fall, limit = max(sure, key=lambda dip: dip[1].share)
    worst = _sentence(series, fall, limit)
    return Verdict(
        Outcome.WARN, worst, Figure(fall.share, "share", worst),
        subject.threshold(limit, "at most"), (*lines, *slight), _CAUSE, _REMEDY,
    )  # fmt: skip


def _slight(subject: Subject, known: set[tuple[VerdictSubject, int]]) -> Iterator[str]:
    """Yield a sentence on each fall of a log's bandwidth at large messages below the limits."""
    for series in subject.series if subject.imported else ():
        points = series.at_least(subject.limit("fraction.from"))
        for fall in falls(points, NAMED, subject.burst_cap_bytes_per_s):
            if (series.about, fall.larger_bytes) not in known:
                limit = "dips.cliff" if series.is_latency else "dips.bandwidth"
                yield (
                    f"{_sentence(series, fall, limit)}, less than the"
                    f" {figures.percent(subject.limit(limit))} of {limit}"
                )


def _is_sure(subject: Subject, series: Series, fall: Fall, limit: str) -> bool:
    """Check whether intervals show the fall, or means do: a cliff that lasts over several sizes."""
    if any(point.time.supported for point in series.points):
        return True
    if limit == "dips.time":  # what falls is the time after sizes that were disturbed
        return fall.share > LONE_CLIFF and _count_slow(series, fall) >= SLOW_SIZES
    lasts = fall.share > subject.limit("dips.cliff") and fall.sizes >= LASTING_SIZES
    is_large = fall.larger_bytes >= subject.limit("fraction.from")
    return is_large and (lasts or fall.share > LONE_CLIFF)


def _count_slow(series: Series, fall: Fall) -> int:
    """Return how many sizes in a row, up to the fall, take as much longer than the next one."""
    later = next(p.time.high for p in series.points if p.message_bytes == fall.larger_bytes)
    before = [p.time.low for p in series.points if p.message_bytes <= fall.smaller_bytes]
    is_slow = (low > later / (1.0 - LONE_CLIFF) for low in reversed(before))
    return len([*takewhile(bool, is_slow)])


def _stays_low(subject: Subject) -> Iterator[tuple[float, str]]:
    """Yield share and sentence of streams with several large sizes far below a larger one."""
    cap, least = subject.burst_cap_bytes_per_s, subject.limit("dips.low")
    for series in subject.series:
        settings = series.foreign.settings if series.foreign else {}
        of_host = settings.get("memory", "host") == "host" and not any(
            "DEVICE" in setting for setting in settings.values()
        )
        best = series.best(subject.limit("fraction.from"))
        # Streams from GPU memory or over several rails still grow at these sizes.
        if series.is_latency or best is None or subject.rails > 1 or not of_host:
            continue
        level = min(best.bandwidth.low, cap)
        low = [
            point
            for point in series.at_least(GROWN * subject.limit("fraction.from"))
            if point.message_bytes < best.message_bytes
            and point.bandwidth.high < (1.0 - least) * level
        ]
        if len(low) < LASTING_SIZES:
            continue
        worst = min(point.bandwidth.value for point in low)
        sizes = sentences.listed([figures.size(point.message_bytes) for point in low], 4)
        sentence = (
            f"{series.name} ({patterns.sentence(series.pattern)}): {sizes}"
            f" reach as little as {figures.percent(worst / level)} of the"
            f" {figures.rate(best.bandwidth.value)} at {figures.size(best.message_bytes)}"
        )
        yield 1.0 - worst / level, sentence


def _came_back(subject: Subject, series: Series, fall: Fall) -> bool:
    """Check whether a second measurement shows the dip as well, or there is none."""
    second = next((again for again in subject.again if again.about == series.about), None)
    sizes = fall.smaller_bytes, fall.larger_bytes
    return second is None or any(
        (again.smaller_bytes, again.larger_bytes) == sizes for again, _ in _falls(subject, second)
    )


def to_recheck(subject: Subject) -> Iterator[Point]:
    """Yield the sizes around each dip: only a dip that comes back is the network's."""
    for series in subject.series:
        for fall, _ in _falls(subject, series):
            around = fall.smaller_bytes, fall.larger_bytes
            yield from (point for point in series.points if point.message_bytes in around)


def _falls(subject: Subject, series: Series) -> list[_JudgedFall]:
    """Return the falls of a curve beyond their limits, with intervals that do not overlap."""
    pace, cap = subject.limit("fraction.from"), subject.burst_cap_bytes_per_s
    if series.is_latency:
        time_falls = falls(series.points, subject.limit("dips.time"), times=True)
        # A ping-pong's time may grow with each size, and its bandwidth still fall.
        large = series.at_least(pace / 2) if series.pattern == "latency" else ()
        cliffs = falls(large, subject.limit("dips.cliff"), cap)
        return [
            *((fall, "dips.time") for fall in time_falls),
            *((fall, "dips.cliff") for fall in cliffs),
        ]
    small = tuple(point for point in series.points if point.message_bytes <= pace)
    parts = (small, "dips.small_bandwidth"), (series.at_least(pace), "dips.bandwidth")
    return [
        (fall, limit)
        for points, limit in parts
        for fall in falls(points, subject.limit(limit), cap)
    ]


def falls(
    points: Sequence[Point], more_than: float, cap: float = math.inf, *, times: bool = False
) -> tuple[Fall, ...]:
    """Return sizes whose bandwidth, or time, is below the next smaller size's.

    The intervals must not overlap. Values above ``cap`` bytes/s count as ``cap``: the burst of a
    token bucket is no level to fall from.
    """
    all_falls = []
    estimates = [point.time if times else point.bandwidth for point in points]
    for place, (before, after) in enumerate(pairwise(estimates)):
        low, high = min(before.low, cap), min(after.high, cap)
        share = 1.0 - high / low if low > 0 else 0.0
        if share > more_than:
            later = enumerate(estimates[place + 1 :])
            ended = (sizes for sizes, estimate in later if estimate.high >= low)
            lasting = next(ended, len(points) - place - 1)
            ends = points[place].message_bytes, points[place + 1].message_bytes
            all_falls.append(Fall(*ends, share, lasting))
    return tuple(all_falls)


def _sentence(series: Series, fall: Fall, limit: str) -> str:
    quantity = "time" if limit == "dips.time" else "bandwidth"
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): {quantity} falls by"
        f" {figures.percent(fall.share)} from {figures.size(fall.smaller_bytes)} to"
        f" {figures.size(fall.larger_bytes)}"
    )
