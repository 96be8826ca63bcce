"""Is there a size where a larger message takes less time, or bandwidth falls?"""

from collections.abc import Iterator

import msgspec

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.series import Series
from fabricgauge.stats.shape import Fall, bandwidth_falls, time_falls
from fabricgauge.words import figures, patterns, sentences

ID = "dips"
TITLE = "Curves have no dips"

_CAUSE = (
    "MPI changes its protocol there (eager to rendezvous, inline to copied), a segment no longer"
    " fits a packet or a buffer, or the host was disturbed during that case"
)
_REMEDY = (
    "measure the sizes around it again; if the dip stays, move the protocol's threshold (MPICH:"
    " MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD; Open MPI: btl_tcp_eager_limit; UCX: UCX_RNDV_THRESH)"
)


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if not subject.series:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was measured")
    seen = [(one, fall) for one in subject.series for fall in falls(context, subject, one)]
    found = [one for one in seen if _came_back(context, subject, *one)]
    if not found:
        return _passed(subject, seen)
    if not any(point.time.supported for series, _ in found for point in series.points):
        return _named_only(subject, found)
    series, fall = max(found, key=lambda one: one[1].share)
    name = threshold_name(context, series, fall)
    return verdict_on(
        rule=ID,
        outcome=Outcome.WARN,
        about=subject.about,
        summary=_sentence(series, fall),
        figure=Figure(fall.share, "share", _sentence(series, fall)),
        threshold=context.thresholds.threshold(name, "at most"),
        evidence=tuple(_sentence(*one) for one in found),
        cause=_CAUSE,
        remedy=_REMEDY,
    )


def _came_back(context: Context, subject: Subject, series: Series, fall: Fall) -> bool:
    """Whether a second measurement shows the dip as well, or there is none."""
    second = next((one for one in subject.again if one.about == series.about), None)
    return second is None or any(
        (one.smaller_bytes, one.larger_bytes) == (fall.smaller_bytes, fall.larger_bytes)
        for one in falls(context, subject, second)
    )


def _passed(subject: Subject, gone: list[tuple[Series, Fall]]) -> Verdict:
    said = "no curve dips beyond its intervals"
    if gone:
        said = f"measured again, {sentences.counted(len(gone), 'dip')} did not come back"
    told = tuple(f"once: {_sentence(*one)}" for one in gone)
    return verdict_on(ID, Outcome.PASS, subject.about, said, evidence=told)


def again(context: Context, subject: Subject) -> Iterator[PlannedLaunch]:
    """Launches that measure the sizes around each dip of a pair once more.

    A single case tells a property of the network from a disturbance by its return only.
    """
    if subject.pairs or subject.again:
        return
    doubtful = {
        case.case
        for series in subject.series
        for fall in falls(context, subject, series)
        for point in series.points
        if point.message_bytes in (fall.smaller_bytes, fall.larger_bytes)
        for case in point.measurements
    }
    for launch in subject.planned:
        cases = tuple(case for case in launch.cases if case.name in doubtful)
        doubtful -= {case.name for case in cases}
        if cases:
            yield msgspec.structs.replace(launch, cases=cases, purpose="again")


def _named_only(subject: Subject, found: list[tuple[Series, Fall]]) -> Verdict:
    """A mean that one hiccup may own can't show that a dip is the network's."""
    told = tuple(_sentence(*one) for one in found)
    return verdict_on(
        ID, Outcome.SKIPPED, subject.about,
        f"{sentences.counted(len(found), 'dip')}, but the log has means only, so one disturbed"
        f" sample may have made each: {sentences.listed(told, 3)}",
        evidence=told,
    )  # fmt: skip


def falls(context: Context, subject: Subject, series: Series) -> tuple[Fall, ...]:
    """Where this curve goes the wrong way by more than its limit, intervals apart."""
    if series.is_latency:
        return time_falls(series.points, context.limit("dips.time"))
    pace = context.limit("fraction.from")
    small = tuple(point for point in series.points if point.message_bytes <= pace)
    cap = subject.burst_cap_bytes_per_s
    return (
        *bandwidth_falls(small, context.limit("dips.small_bandwidth"), cap),
        *bandwidth_falls(series.at_least(pace), context.limit("dips.bandwidth"), cap),
    )


def threshold_name(context: Context, series: Series, fall: Fall) -> str:
    """The limit that a fall was held against."""
    if series.is_latency:
        return "dips.time"
    small = fall.smaller_bytes < context.limit("fraction.from")
    return "dips.small_bandwidth" if small else "dips.bandwidth"


def _sentence(series: Series, fall: Fall) -> str:
    what = "time" if series.is_latency else "bandwidth"
    return (
        f"{series.name} ({patterns.sentence(series.pattern)}): {what} falls by"
        f" {figures.percent(fall.share)} from {figures.size(fall.smaller_bytes)} to"
        f" {figures.size(fall.larger_bytes)}"
    )
