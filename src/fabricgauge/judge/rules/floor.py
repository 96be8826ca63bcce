"""Is the latency one that the medium can have?"""

import re
from collections.abc import Iterator

import msgspec

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.medium import Floor
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Figure, Outcome
from fabricgauge.words import figures, patterns

ID = "floor"

#: Thresholds; RoCE runs on Ethernet as TCP does, so the technology does not decide.
TCP = "floor.tcp"
OTHERWISE = "floor.rdma"

#: One-sided operations that an MPI may leave out where they carry nothing.
_MAY_BE_EMPTY = ("put_latency", "get_latency", "accumulate_latency")

_SHARED = (
    "the ranks exchanged messages through shared memory: they ran on one node",
    "look at placement and path; start one rank per node and measure again",
)
_PAST_KERNEL = (
    "RDMA, or TCP that passes the kernel by: its ends are on different hosts",
    'state what RDMA used it as, e.g. --network "100GbE roce" or "10GbE iwarp"',
)

#: Collectives that no rank can leave before it has heard of all others (MPI 4.1, chapter 6), and
#: operations of one rank that bring something back, or are flushed at the target: they take at
#: least one way. Puts have a pattern.
_ALL = re.compile(
    r"(osu_)?(all(reduce|gatherv?|toall[vw]?)|barrier)"
    r"|osu_(get|acc|get_acc|cas|fop)_latency|ib_(read|atomic)_lat"
)


class _Time(msgspec.Struct, frozen=True):
    """A time in which a message has to cross the network, and the limit that it has."""

    who: str
    what: str
    time: Estimate
    limit: str
    apart: bool = False


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    if subject.medium == "memory":
        return Skipped("the medium joins memories: no floor of latency is known for it")
    margins = []
    for time in _times(subject):
        least_s = subject.limit(time.limit)
        margins.append((time.time.high / least_s if least_s > 0 else float("inf"), time))
    if not margins:
        return Skipped("no latency was measured")
    margin, lowest = min(margins, key=lambda each: each[0])
    return _judge_time(subject, lowest, fine=margin >= 1.0)


def too_quick(subject: Subject) -> bool:
    """Check whether a latency is below what any network needs."""
    least_s = subject.limit(OTHERWISE)
    return any(time.time.high < least_s for time in _times(subject))


def _times(subject: Subject) -> Iterator[_Time]:
    """All ping-pongs, and what others measured of one-sided operations and of many ranks."""
    for series in subject.series:
        limit = f"floor.{crossed(subject, series.foreign)}"
        apart = subject.imported and series.apart is True
        for point in series.points if series.is_latency else ():
            if series.pattern in _MAY_BE_EMPTY and point.message_bytes == 0:
                continue  # it need not cross the network
            at = figures.at(point.message_bytes, point.sized)
            what = f"{patterns.sentence(series.pattern)} {at}"
            yield _Time(series.name, what, point.time, limit, apart)
    for curve in subject.curves:
        name = curve.benchmark.lower()
        if curve.quantity != "time" or curve.ranks == 1 or not _ALL.fullmatch(name):
            continue
        limit = f"floor.{crossed(subject, curve)}"
        who = f"{curve.source}:{curve.first_line} {curve.benchmark}"
        for row in curve.points:
            size = row.message_bytes
            if size == 0 and "barrier" not in name:
                continue  # a collective of nothing sends nothing; a barrier always does
            what = curve.what if size is None else f"{curve.what} {figures.at(size)}"
            yield _Time(who, what, row.estimate, limit)


def _judge_time(subject: Subject, lowest: _Time, *, fine: bool) -> Said:
    time, told = lowest.time, figures.duration(lowest.time.value)
    threshold = subject.threshold(lowest.limit, "at least")
    by_rdma = lowest.apart and lowest.limit == TCP and time.high >= subject.limit(OTHERWISE)
    bad = Outcome.INCONCLUSIVE if by_rdma else Outcome.INVALID
    interval = "no interval"
    if time.supported:
        interval = f"interval {figures.duration(time.low)} to {figures.duration(time.high)}"
    return Said(
        # Where figures are not taken for a network's, this is only a remark.
        Outcome.PASS if fine else bad if subject.claimed else Outcome.WARN,
        f"{f'{lowest.who}: ' if subject.imported else ''}{told} ({lowest.what}) is"
        f" {'not below' if fine else 'below'} the {figures.duration(threshold.value)} that the"
        " medium needs",
        Figure(time.value, "s", lowest.what),
        threshold,
        (
            f"{lowest.who}: {told}, {interval}, {time.samples:,} samples in {time.launches}"
            " launches",
        ),
        *(("", "") if fine else _PAST_KERNEL if by_rdma else _SHARED),
    )


def crossed(subject: Subject, foreign: SuiteCurve | None) -> Floor:
    """Return what a message passed: TCP only where its connections carried the payload.

    Other suites show no connections: there the log's own word counts, or else what the
    network is usually used with. One log's word does not count for the others.
    """
    medium = subject.medium or "rdma"  # the quickest adapter where none is known
    if foreign is None:
        if subject.evidence.over_tcp:
            return "tcp"
        return "rdma" if medium == "tcp" else medium
    if foreign.transport == "tcp":
        return "tcp"
    return "rdma" if (medium, foreign.transport) == ("tcp", "rdma") else medium
