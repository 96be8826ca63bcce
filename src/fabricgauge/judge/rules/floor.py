"""Check that no latency is below what the medium can have."""

import math
import re
from collections.abc import Iterator

import msgspec
import numpy as np

from fabricgauge.judge.interface import STATE_NODES, UNPLACED, Subject, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns, sentences

ID = "floor"

#: Thresholds; RoCE runs on Ethernet as TCP does, so the technology does not decide.
TCP = "floor.tcp"
OTHERWISE = "floor.rdma"

#: One-sided operations that an MPI may omit if they carry no bytes.
_MAY_BE_EMPTY = ("put_latency", "get_latency", "accumulate_latency")

_SHARED = (
    "the ranks exchanged messages through shared memory: they ran on one node",
    "look at placement and path; start one rank per node and measure again",
)
_TIMES = (
    "the times themselves are wrong: each rank had a machine of its own, so none shared memory;"
    " candidates: a clock that does not tick evenly (virtual machines), or altered records",
    "look at the clock of the samples in the report (timer, clocksource of the nodes), and measure"
    " again",
)
_PAST_KERNEL = (
    "RDMA, or TCP that bypasses the kernel: its ends are on different hosts",
    'state the RDMA technology, e.g. --network "100GbE roce" or "10GbE iwarp"',
)

#: Collectives that no rank can leave before it has heard of all others (MPI 4.1, chapter 6), and
#: operations of one rank that return a value, or are flushed at the target: they take at least one
#: one-way latency. Puts have a pattern.
_ALL = re.compile(
    r"(osu_)?(all(reduce|gatherv?|toall[vw]?)|barrier)"
    r"|osu_(get|acc|get_acc|cas|fop)_latency|ib_(read|atomic)_lat"
)


class _Time(msgspec.Struct, frozen=True):
    """A time in which a message has to cross the network, and the name of its limit.

    ``message_bytes`` is None for a benchmark without a size.
    """

    origin: str
    what: str
    message_bytes: int | None
    time: Estimate
    limit: str
    apart: bool = False
    sized: bool = True

    @property
    def title(self) -> str:
        if self.message_bytes is None:
            return self.what
        return f"{self.what} {figures.at(self.message_bytes, self.sized)}"


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.medium == "memory":
        return Skipped("the medium joins memories: no floor of latency is known for it")
    times = list(_times(subject))
    if not times:
        return Skipped("no latency was measured")
    if unplaced := subject.shared_nodes:
        return Verdict(Outcome.INCONCLUSIVE, unplaced, cause=UNPLACED, remedy=STATE_NODES)

    def margin(time: _Time) -> float:
        least_s = subject.limit(time.limit)
        return time.time.high / least_s if least_s > 0 else math.inf

    lowest = min(times, key=margin)
    fine, time = margin(lowest) >= 1.0, lowest.time
    duration, threshold = figures.duration(time.value), subject.threshold(lowest.limit, "at least")
    by_rdma = lowest.apart and lowest.limit == TCP and time.high >= subject.limit(OTHERWISE)
    bad = Outcome.INCONCLUSIVE if by_rdma else Outcome.INVALID
    interval = "no interval"
    if time.supported:
        interval = f"interval {figures.duration(time.low)} to {figures.duration(time.high)}"
    return Verdict(
        # If the figures may not be a network's, this is only a warning.
        Outcome.PASS if fine else bad if subject.claimed else Outcome.WARN,
        f"{f'{lowest.origin}: ' if subject.imported else ''}{duration} ({lowest.title}) is"
        f" {'not below' if fine else 'below'} the {figures.duration(threshold.value)} that the"
        " medium needs",
        Figure(time.value, "s", lowest.title),
        threshold,
        (
            f"{lowest.origin}: {duration}, {interval}, {time.samples:,} samples in"
            f" {sentences.counted(time.launches, 'launch', 'launches')}",
        ),
        *(("", "") if fine else _PAST_KERNEL if by_rdma else _explain(subject)),
    )


def _explain(subject: Subject) -> tuple[str, str]:
    """Return shared memory and its remedy, unless each rank had a machine of its own."""
    placed = [launch.placed for launch in subject.evidence.launches if launch.figures]
    apart = not subject.imported and all(
        len(launch.machines) == len(launch.ranks) and not launch.misplaced for launch in placed
    )
    return _TIMES if apart and placed else _SHARED


def has_impossible_latency(subject: Subject) -> bool:
    """Check whether a latency is below what any network needs."""
    least_s = subject.limit(OTHERWISE)
    return any(time.time.high < least_s for time in _times(subject))


def _times(subject: Subject) -> Iterator[_Time]:
    """Yield all ping-pongs, and other suites' one-sided operations and collectives."""
    for series in subject.series:
        if not series.is_latency:
            continue
        limit = f"floor.{subject.crossed_medium(series.foreign)}"
        apart = subject.imported and series.apart is True
        name, what = series.name, patterns.sentence(series.pattern)
        for point in series.points:
            if series.pattern in _MAY_BE_EMPTY and point.message_bytes == 0:
                continue  # it need not cross the network
            at_bytes = point.message_bytes
            yield _Time(name, what, at_bytes, point.time, limit, apart, point.sized)
    for analysis in () if subject.imported else subject.pairs:
        matrix = analysis.matrix
        if matrix.quantity != "latency" or not matrix.message_bytes or not matrix.coverage:
            continue
        slow_ends = matrix.values * (1.0 + matrix.spread)
        first, second = np.unravel_index(np.nanargmin(slow_ends), matrix.values.shape)
        best, high = (float(table[first, second]) for table in (matrix.values, slow_ends))
        ends = f"{matrix.nodes[first]} and {matrix.nodes[second]}"
        yield _Time(
            ends, f"half round trip of {ends}", matrix.message_bytes,
            Estimate(best, best, high, 0.0, len(matrix.repeats), 0),
            f"floor.{subject.crossed_medium(None)}",
        )  # fmt: skip
    for curve in subject.curves:
        name = curve.benchmark.lower()
        if curve.quantity != "time" or curve.ranks == 1 or not _ALL.fullmatch(name):
            continue
        limit = f"floor.{subject.crossed_medium(curve)}"
        for row in curve.points:
            size = row.message_bytes
            if size == 0 and "barrier" not in name:
                continue  # a collective of 0 bytes sends no message; a barrier always does
            yield _Time(curve.name, curve.what, size, row.estimate, limit)
