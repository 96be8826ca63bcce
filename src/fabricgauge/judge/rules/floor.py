"""Is the latency one that the medium can have?"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.medium import FLOORS, Floor
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns

ID = "floor"
TITLE = "Latency is not below what the medium allows"

#: Thresholds; RoCE runs on Ethernet as TCP does, so the technology does not tell.
TCP = "floor.tcp"
OTHERWISE = "floor.rdma"

#: One-sided operations that an MPI may leave out where they carry nothing.
_MAY_BE_EMPTY = ("put_latency", "get_latency", "accumulate_latency")

_CAUSE = "the ranks exchanged messages through shared memory: they ran on one node"
_REMEDY = "look at placement and path; start one rank per node and measure again"
_PAST_KERNEL = "RDMA, or TCP that passes the kernel by: its ends are on different hosts"
_STATE_RDMA = 'state what RDMA used it as, e.g. --network "100GbE roce" or "10GbE iwarp"'

#: Collectives that no rank can leave before it has heard of all others (MPI 4.1, chapter 6).
_ALL = re.compile(r"(osu_)?(all(reduce|gatherv?|toall[vw]?)|barrier)")


class _Time(msgspec.Struct, frozen=True):
    """A time in which a message has to cross the network, and the limit that it has."""

    who: str
    what: str
    time: Estimate
    limit: str
    limit_s: float
    apart: bool = False

    @property
    def margin(self) -> float:
        """How many times the limit it takes at the most, by the slow end of its interval."""
        return self.time.high / self.limit_s if self.limit_s > 0 else float("inf")


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if medium(subject) == "memory":
        reason = "the medium joins memories: no floor of latency is known for it"
        return verdict_on(ID, Outcome.SKIPPED, subject.about, reason)
    found = _times(context, subject)
    if not found:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "no latency was measured")
    return _verdict(context, subject, min(found, key=lambda one: one.margin))


def too_quick(context: Context, subject: Subject) -> bool:
    """Whether a latency is below what any network needs."""
    least_s = context.limit(OTHERWISE)
    return any(one.time.high < least_s for one in _times(context, subject))


def _times(context: Context, subject: Subject) -> tuple[_Time, ...]:
    return (*_ping_pongs(context, subject), *_collectives(context, subject))


def _ping_pongs(context: Context, subject: Subject) -> Iterator[_Time]:
    for series in subject.series:
        limit = floor_name(subject, series.foreign)
        for point in series.points if series.is_latency else ():
            if crosses(series, point):
                at = figures.at(point.message_bytes, point.sized)
                what = f"{patterns.sentence(series.pattern)} {at}"
                apart = subject.imported and series.apart is True
                yield _Time(series.name, what, point.time, limit, context.limit(limit), apart)


def _collectives(context: Context, subject: Subject) -> Iterator[_Time]:
    """What others measured of two and more ranks, if these are said to be on a network."""
    for curve in subject.curves:
        name = curve.benchmark.lower()
        if curve.quantity != "time" or curve.ranks == 1 or not _ALL.fullmatch(name):
            continue
        limit = floor_name(subject, curve)
        who = f"{curve.source}:{curve.first_line} {curve.benchmark}"
        for point in curve.points:
            size = point.message_bytes
            if size == 0 and "barrier" not in name:
                continue  # a collective of nothing sends nothing; a barrier always does
            what = curve.what if size is None else f"{curve.what} {figures.at(size)}"
            yield _Time(who, what, point.estimate, limit, context.limit(limit))


def crosses(series: Series, point: Point) -> bool:
    """Whether a sample has to cross the network: an MPI_Put of nothing need not."""
    return series.pattern not in _MAY_BE_EMPTY or point.message_bytes > 0


def _verdict(context: Context, subject: Subject, found: _Time) -> Verdict:
    fine = found.margin >= 1.0
    told_by = f"{found.who}: " if subject.imported else ""
    by_rdma = found.apart and found.limit == TCP and found.time.high >= context.limit(OTHERWISE)
    bad = Outcome.INCONCLUSIVE if by_rdma else Outcome.INVALID
    cause, remedy = (_PAST_KERNEL, _STATE_RDMA) if by_rdma else (_CAUSE, _REMEDY)
    return verdict_on(
        rule=ID,
        # Of figures that nobody takes for a network's it is but a remark.
        outcome=Outcome.PASS if fine else bad if subject.claimed else Outcome.WARN,
        about=subject.about,
        summary=f"{told_by}{figures.duration(found.time.value)} ({found.what}) is"
        f" {'not below' if fine else 'below'} the {figures.duration(found.limit_s)} that the"
        " medium needs",
        figure=Figure(found.time.value, "s", found.what),
        threshold=context.thresholds.threshold(found.limit, "at least"),
        evidence=(
            f"{found.who}: {figures.duration(found.time.value)}, {_interval(found.time)},"
            f" {found.time.samples:,} samples in {found.time.launches} launches",
        ),
        cause="" if fine else cause,
        remedy="" if fine else remedy,
    )


def _interval(time: Estimate) -> str:
    if not time.supported:
        return "no interval"
    return f"interval {figures.duration(time.low)} to {figures.duration(time.high)}"


def floor_name(subject: Subject, foreign: SuiteCurve | None) -> str:
    """The threshold that applies: that of TCP only where its connections carried the payload.

    Other suites show no connections: there the log's own word counts, or else what the
    network is usually used with. One log's word does not count for the others.
    """
    through = medium(subject)
    if foreign is None:
        if subject.evidence.over_tcp:
            return TCP
        return OTHERWISE if through == "tcp" else f"floor.{through}"
    if foreign.transport == "tcp":
        return TCP
    by_rdma = through == "tcp" and foreign.transport == "rdma"
    return OTHERWISE if by_rdma else f"floor.{through}"


def medium(subject: Subject) -> Floor:
    """What a message passes in the subject's network; the quickest adapter where none is known."""
    network = subject.network
    return "rdma" if isinstance(network, Skipped) else FLOORS.get(network.technology, "rdma")
