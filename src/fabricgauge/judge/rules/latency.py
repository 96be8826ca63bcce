"""Check whether the latency is usual for the medium."""

import re
from collections.abc import Iterator

import numpy as np

from fabricgauge.judge.evidence.placement import unseen_waits, waits
from fabricgauge.judge.host import describe_wait, excuse_outcome
from fabricgauge.judge.interface import Subject, judge_networks, worst_verdict
from fabricgauge.judge.stats.series import Point, Series, node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.model.words import figures, patterns

ID = "latency"

_LONGER_PATH = "a longer path than intended (routers, tunnels, another site)"
_CAUSES = {
    "tcp": (
        "candidates: interrupts that the adapter delays, processors in deep sleep"
        f" (C-states), {_LONGER_PATH}, or a busy host",
        "compare with ping between the nodes; look at ethtool -c IFACE (rx-usecs), at"
        " cpupower idle-info, and at the path: tracepath NODE",
    ),
    "rdma": (
        "candidates: TCP carried the messages instead of RDMA (usually 10 to 50 µs), processors"
        f" in deep sleep (C-states), {_LONGER_PATH}, or a busy host",
        "look which transport MPI chose (UCX_LOG_LEVEL=info, FI_LOG_LEVEL=info,"
        " OMPI_MCA_btl_base_verbose=100); compare with ib_send_lat between the nodes; look at"
        " cpupower idle-info",
    ),
}
_FAR = (
    f"{_LONGER_PATH}, a configured delay (tc qdisc: netem), or a queue that other traffic keeps"
    " full",
    "compare with ping between the nodes; look at the path (tracepath NODE) and at the queues of"
    " both nodes (tc -s qdisc show) and of the switch",
)
_HOST = (
    "the ranks waited for processors: other work on the nodes",
    "end other work on the nodes, or give each rank a processor; then measure again",
)


#: Calls of one side in others' logs, and how many times a one-way latency their limits are: a read
#: is a round trip, and MPI's lock, call and flush are up to two.
_ONE_SIDED = (
    (re.compile(r"ib_(read|atomic)_lat"), 2),
    (re.compile(r"osu_(passive_)?(put|get|acc|get_acc|cas|fop)_latency"), 4),
)


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.medium == "memory":
        return Skipped("the medium joins memories: no usual latency is known for it")
    if subject.technology == "simulated":
        return Skipped("a simulated cluster has the latency that its platform states")
    if not subject.claimed:
        return Skipped("the logs do not name the network that was measured")
    largest_bytes, verdicts = subject.limit("latency.up_to"), []
    for series in subject.of("latency"):
        sized = (point for point in series.points if point.sized)
        if small := [point for point in sized if point.message_bytes <= largest_bytes]:
            quickest = min(small, key=lambda point: point.time.value)
            verdicts.append(_judge_figure(subject, series, quickest))
    verdicts += _judge_one_sided(subject, largest_bytes)
    return worst_verdict(verdicts) or Skipped(
        f"no latency of messages up to {largest_bytes:g} B was measured"
    )


def _judge_one_sided(subject: Subject, largest_bytes: float) -> Iterator[Verdict]:
    """Yield verdicts on others' one-sided calls that take longer than their trips."""
    for curve in subject.curves:
        trips = next((n for name, n in _ONE_SIDED if name.fullmatch(curve.benchmark)), 0)
        small = [row for row in curve.points if (row.message_bytes or 0) <= largest_bytes]
        if not trips or curve.quantity != "time" or curve.ranks == 1 or not small:
            continue
        medium = subject.crossed_medium(curve)
        row = min(small, key=lambda row: row.estimate.value)
        times = row.estimate.value / trips / subject.limit(f"latency.{medium}")
        if times <= 1.0:
            continue
        far = row.estimate.value > trips * subject.limit("latency.fail")
        at = f"{curve.what} {figures.at(row.message_bytes)}" if row.message_bytes else curve.what
        duration = figures.duration(row.estimate.value)
        yield Verdict(
            Outcome.FAIL if far else Outcome.WARN,
            f"{curve.name}: {duration} ({at}) is"
            f" {figures.times(times)} times the limit for {trips} trips through the network",
            Figure(row.estimate.value / trips, "s", f"{at}, each of {trips} trips"),
            subject.threshold("latency.fail" if far else f"latency.{medium}", "at most"),
            (), *_by_network(medium, far),
        )  # fmt: skip


def _by_network(medium: str, far: bool) -> tuple[str, str]:
    """Return the likely cause in the network and its remedy."""
    return _CAUSES["rdma"] if medium != "tcp" else _FAR if far else _CAUSES["tcp"]


def _judge_figure(subject: Subject, series: Series, point: Point) -> Verdict:
    medium = subject.crossed_medium(series.foreign)
    if series.foreign is None and subject.medium in (None, "tcp"):
        medium = "tcp"  # unrecorded connections may have carried it
    name = f"latency.{medium}"
    # A mean has no interval: its value is both ends.
    least_s = min(point.time.low, point.time.value)
    far, slow = least_s > subject.limit("latency.fail"), least_s > subject.limit(name)
    outcome = Outcome.FAIL if far else Outcome.WARN if slow else Outcome.PASS
    usual = subject.threshold("latency.fail" if far else name, "at most")
    at = f"{patterns.sentence(series.pattern)} {figures.at(point.message_bytes, point.sized)}"
    sentence = f"{series.name}: {figures.duration(point.time.value)} ({at})"
    figure = Figure(point.time.value, "s", at)
    if outcome is Outcome.PASS:
        summary = f"{sentence} is not above the usual {figures.duration(usual.value)}"
        return Verdict(outcome, summary, figure, usual)
    times = point.time.value / subject.limit(name)
    summary = (
        f"{sentence} is {figures.times(times)} times the limit: {_WORDS[medium]} without a fault"
        f" takes at most {figures.duration(subject.limit(name))}"
    )
    hosts = tuple(_hosts(subject, series, point))
    outcome = excuse_outcome(outcome, bool(hosts))
    cause_and_remedy = _HOST if hosts else _by_network(medium, far)
    return Verdict(outcome, summary, figure, usual, hosts, *cause_and_remedy)


_WORDS = {
    "tcp": "TCP through the kernel",
    "rdma": "RDMA",
    "iwarp": "iWARP",
    "slingshot": "Slingshot",
    "efa": "EFA",
}


def _hosts(subject: Subject, series: Series, point: Point) -> Iterator[str]:
    """Yield sentences on waiting for processors, which may have added to the latency."""
    cases = point.measurements or subject.round_robins(series, point.message_bytes)
    if any(case.waiting for case in cases):
        yield "ranks waited for a processor in half of the samples or more"
    limit = subject.limit("host-limited.delay")
    for rank in sorted({use.rank for case in cases for use in case.processors}):
        shares = waits(cases, rank)
        if shares and (delay := min(1.0, float(np.median(shares)))) >= limit:
            yield f"rank {rank} {describe_wait(delay)}"
    for launch, around in subject.around(point):
        for use in around.processors:
            idle = use.node_idle_share
            if not isinstance(idle, Skipped) and idle <= subject.limit("host-limited.idle"):
                yield f"the processors of {node_of(launch, use.rank)} had no idle time"
    if unseen := unseen_waits(cases):
        yield unseen
