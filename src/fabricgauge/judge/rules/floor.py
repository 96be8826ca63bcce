"""Is the latency one that the medium can have?"""

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.judge.traffic import over_tcp
from fabricgauge.model.absence import Skipped
from fabricgauge.model.medium import FLOORS, Floor
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
    if medium(subject) == "memory":
        reason = "the medium joins memories: no floor of latency is known for it"
        return Verdict(ID, Outcome.SKIPPED, subject.name, reason)
    point, series = min(found, key=lambda one: one[0].time.high)
    return _verdict(context, subject, series, point)


def _below(subject: Subject) -> Outcome:
    """Of figures that nobody takes for a network's it is but a remark."""
    return Outcome.INVALID if subject.claimed else Outcome.WARN


def crosses(series: Series, point: Point) -> bool:
    """Whether a sample has to cross the network: an MPI_Put of nothing need not."""
    return series.pattern != "put_latency" or point.message_bytes > 0


def _verdict(context: Context, subject: Subject, series: Series, point: Point) -> Verdict:
    name = floor_name(subject)
    fine = point.time.high >= context.limit(name)
    at = wording.at(point.message_bytes, point.sized)
    what = f"{wording.PATTERNS[series.pattern]} {at}"
    return Verdict(
        rule=ID,
        outcome=Outcome.PASS if fine else _below(subject),
        subject=subject.name,
        summary=f"{_told_by(series)}{wording.duration(point.time.value)} ({what}) is"
        f" {'not below' if fine else 'below'} the {wording.duration(context.limit(name))} that the"
        " medium needs",
        figure=Figure(point.time.value, "s", what),
        threshold=context.thresholds.threshold(name, "at least"),
        evidence=(
            f"{series.name}: {wording.duration(point.time.value)}, {_interval(point)},"
            f" {point.time.samples:,} samples in {point.time.launches} launches",
        ),
        cause="" if fine else _CAUSE,
        remedy="" if fine else _REMEDY,
    )


def _told_by(series: Series) -> str:
    """Which of several logs it was."""
    return f"{series.source}: " if series.source else ""


def _interval(point: Point) -> str:
    if not point.time.supported:
        return "no interval"
    return f"interval {wording.duration(point.time.low)} to {wording.duration(point.time.high)}"


def floor_name(subject: Subject) -> str:
    """The threshold that applies: that of TCP only where its connections carried the payload.

    Other suites show no connections: there the network's usual transport counts.
    """
    if any(launch.measurements for launch in subject.launches):
        return TCP if over_tcp(subject.launches) else OTHERWISE
    by_rdma = any(curve.transport == "rdma" for curve in subject.curves)
    return TCP if medium(subject) == "tcp" and not by_rdma else OTHERWISE


def medium(subject: Subject) -> Floor:
    """What a message passes in the subject's network; the quickest adapter where none is known."""
    network = subject.network
    return "rdma" if isinstance(network, Skipped) else FLOORS.get(network.technology, "rdma")
