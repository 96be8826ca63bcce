"""Is the latency one that the medium can have?"""

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.traffic import over_tcp
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.series import Point, Series

ID = "floor"
TITLE = "Latency is not below what the medium allows"

#: Thresholds; RoCE runs on Ethernet as TCP does, so the technology does not tell.
TCP = "floor.tcp"
OTHERWISE = "floor.rdma"

_CAUSE = "the ranks exchanged messages through shared memory: they ran on one node"
_REMEDY = "look at placement and path; start one rank per node and measure again"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    found = [
        (point, series)
        for series in subject.series
        if series.is_latency
        for point in series.points
        if crosses(series, point)
    ]
    if not found:
        return Verdict(ID, Outcome.SKIPPED, subject.name, "no latency was measured")
    point, series = min(found, key=lambda one: one[0].time.high)
    return _verdict(context, subject, series, point)


def crosses(series: Series, point: Point) -> bool:
    """Whether a sample has to cross the network: an MPI_Put of nothing need not."""
    return series.pattern != "put_latency" or point.message_bytes > 0


def _verdict(context: Context, subject: Subject, series: Series, point: Point) -> Verdict:
    name = floor_name(subject)
    fine = point.time.high >= context.limit(name)
    what = f"{wording.PATTERNS[series.pattern]} at {wording.size(point.message_bytes)}"
    return Verdict(
        rule=ID,
        outcome=Outcome.PASS if fine else Outcome.INVALID,
        subject=subject.name,
        summary=f"{wording.duration(point.time.value)} ({what}) is"
        f" {'not below' if fine else 'below'} the {wording.duration(context.limit(name))} that the"
        " medium needs",
        figure=Figure(point.time.value, "s", f"median, {what}"),
        threshold=context.thresholds.threshold(name, "at least"),
        evidence=(
            f"{wording.direction(series.origin, series.target)}: median"
            f" {wording.duration(point.time.value)}, interval"
            f" {wording.duration(point.time.low)} to {wording.duration(point.time.high)},"
            f" {point.time.samples:,} samples in {point.time.launches} launches",
        ),
        cause="" if fine else _CAUSE,
        remedy="" if fine else _REMEDY,
    )


def floor_name(subject: Subject) -> str:
    """The threshold that applies: that of TCP only where its connections carried the payload."""
    return TCP if over_tcp(subject.launches) else OTHERWISE
