"""Signs that a host, and not the network, sets the pace of a stream; what that does to an outcome.

MPI ranks poll, so a busy processor alone says nothing: ranks on a link that was
negotiated down are as busy as ranks on a sound one. A sign counts only if it cannot
come from polling, and only if it can account for as much as is missing.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.evidence.connections import held_by_receiver
from fabricgauge.evidence.processors import unseen_waits, waits
from fabricgauge.judge.causes import lower_rate, proved
from fabricgauge.judge.host_case import HostCase, busy, is_slow_wire, is_wire, medians, ranks
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.model.absence import Skipped
from fabricgauge.model.verdict import Outcome
from fabricgauge.stats.launches import relative_half_width
from fabricgauge.stats.series import node_of, series_of
from fabricgauge.words import figures

#: How near the ceiling of a lower link rate a figure must be to be taken for it, whatever else.
EXACTLY = (0.97, 1.01)

#: What other work on a node leaves a program of its processors at the least, by our reckoning: a
#: link that carries less is slow for another reason, though the node is busy as well.
LEAST_SHARE = 0.25


class Signs(msgspec.Struct, frozen=True):
    """``limiting`` signs each suffice to hold the host responsible; ``others`` do not.

    ``unseen`` is a sentence on what might have held the host responsible, but could not be seen.
    """

    limiting: tuple[str, ...]
    others: tuple[str, ...]
    unseen: str = ""


def excused(outcome: Outcome, by_host: bool) -> Outcome:
    """The one rule of what a host's limit does: a FAIL becomes INCONCLUSIVE, nothing else changes.

    The figure says then how fast the host is, and nothing of the network. What could not fail
    anyway, such as streams in both directions at once, stays the remark that it is.
    """
    return Outcome.INCONCLUSIVE if by_host and outcome is Outcome.FAIL else outcome


def signs(context: Context, stream: Stream) -> Signs:
    """What the processors, the connections and the loopback reference say of one figure."""
    case = HostCase(context, stream)
    link = (*_proved(case), *_slower_link(case))
    every = (*case.measurements, *case.tournaments)
    limiting = () if link else tuple(sign for look in _LIMITING for sign in look(case))
    unseen = "" if link or limiting or is_slow_wire(case) else unseen_waits(every)
    return Signs(limiting, (*link, *(sign for look in _OTHERS for sign in look(case))), unseen)


def _proved(case: HostCase) -> Iterable[str]:
    """A fault of the network that shows by itself is not excused by a busy host."""
    slow_hosts = any(_loopback(case))
    for cause in proved(case.context, case.stream, slow_hosts):
        yield f"{cause.evidence}: that is the network's fault, whatever the hosts do"


def _slower_link(case: HostCase) -> Iterable[str]:
    """A link that runs at a lower standard rate explains the figure, whatever the hosts do."""
    network = case.stream.subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return
    rate = lower_rate(network.rate_bit_s, case.stream.fraction, EXACTLY)
    if rate is not None and is_wire(case):
        yield (
            f"the figure is as steady as a wire, and what a {figures.link_rate(rate)} link carries:"
            " a link sets the pace, not a host"
        )


def _loopback(case: HostCase) -> Iterable[str]:
    """The same MPI over loopback TCP on one node, a path without any network."""
    reach = loopback_access(case)
    if reach is None:
        return
    node, best = reach
    enough = case.limit("headroom") * case.stream.ceiling.payload_bytes_per_s
    carried = case.stream.best.bandwidth.value * case.stream.directions
    if best < enough and carried >= _left_by_a_network(case) * best:
        yield (
            f"over TCP loopback on {node} alone, without a network, the same MPI reaches"
            f" {figures.rate(best)}, less than {case.limit('headroom'):g} times the ceiling of"
            f" {figures.rate(case.stream.ceiling.payload_bytes_per_s)}: it can't fill that besides"
            " the work that a network makes"
        )


def _left_by_a_network(case: HostCase) -> float:
    """The least share of the loopback's bandwidth that a host alone leaves to a network."""
    steady = relative_half_width(case.stream.best.bandwidth) <= case.limit("steady")
    return case.limit("loopback" if steady else "loopback_unsteady")


def loopback_access(case: HostCase) -> tuple[str, float] | None:
    """Node and bytes/s of the best stream of the reference launches, if there are any."""
    best = [
        (series.origin, point.bandwidth.value)
        for series in series_of(case.stream.subject.loopbacks)
        if series.pattern == "bandwidth"
        for point in [series.best(case.context.limit("fraction.from"))]
        if point is not None
    ]
    return max(best, key=lambda one: one[1], default=None)


def _bottom_halves(case: HostCase) -> Iterable[str]:
    for node, share in medians(case, lambda use: use.busiest_softirq_share):
        if share >= case.limit("softirq_cpu"):
            yield (
                f"one processor of {node} spent {figures.percent(share)} of its time in"
                " interrupts' bottom halves"
            )


def _no_processor_left(case: HostCase) -> Iterable[str]:
    if is_wire(case):  # a slow link has packets, and ranks that poll leave nothing idle
        return
    idles = medians(case, lambda use: use.node_idle_share)
    softirqs = medians(case, lambda use: use.node_softirq_share)
    for (node, idle), (_, softirq) in zip(idles, softirqs, strict=True):
        if idle <= case.limit("idle") and softirq >= case.limit("softirq"):
            yield (
                f"the processors of {node} were idle for {figures.percent(idle)} of the time and"
                f" spent {figures.percent(softirq)} on packets in interrupts' bottom halves"
            )


def _waiting_ranks(case: HostCase) -> Iterable[str]:
    for node, rank in ranks(case):
        shares = waits(case.measurements, rank)
        delay = min(1.0, float(np.median(shares))) if shares else 0.0
        # Half as slow again as the lost time: a larger loss has another cause.
        accounts = case.stream.fraction >= 0.5 * (1.0 - delay)
        if delay >= case.limit("delay") and accounts and not is_slow_wire(case):
            yield (
                f"rank {rank} on {node} was ready to run but had to wait for a processor for"
                f" {figures.percent(delay)} of the time (steal included)"
            )


def _idle_connection(case: HostCase) -> Iterable[str]:
    share = busy(case)
    if share <= case.limit("busy"):
        yield (
            f"the connections of {case.stream.series.origin} had data under way for only"
            f" {figures.percent(share)} of the time: the sender did not fill the link"
        )


def _closed_window(case: HostCase) -> Iterable[str]:
    """No sign by itself: a deep queue in front of a slow link fills the window as well."""
    for share in map(held_by_receiver, case.measurements[:1]):
        if share >= 0.3:
            yield (
                f"the receiver's window held {case.stream.series.origin} back for"
                f" {figures.percent(share)} of the time that data were waiting"
            )


def _busy_processors(case: HostCase) -> Iterable[str]:
    for node, idle in medians(case, lambda use: use.node_idle_share):
        yield (
            f"the processors of {node} were idle for {figures.percent(idle)} of the time"
            " (MPI ranks poll, so this alone proves nothing)"
        )


def _waiting_everywhere(case: HostCase) -> Iterable[str]:
    """Half of the ranks waited for processors: so did about half of the pairs, or more."""
    shares = waits(case.tournaments)
    delay = min(1.0, float(np.median(shares))) if shares else 0.0
    if delay < case.limit("delay") or is_slow_wire(case):
        return
    # Pairs of which both ends wait in turns lose more than the time, but not all alike.
    unsteady = relative_half_width(case.stream.best.bandwidth) > case.context.limit(
        "stability.interval"
    )
    if unsteady or case.stream.fraction >= 0.5 * (1.0 - delay):
        yield (
            "half of the ranks were ready to run but had to wait for a processor for"
            f" {figures.percent(delay)} of the time or more (steal included)"
        )


def _nothing_idle(case: HostCase) -> Iterable[str]:
    """Programs that sleep while they wait leave processors idle, unless these limit them."""
    if not case.surrounded or any(around.polls for _, around in case.surrounded):
        return
    idles = medians(case, lambda use: use.node_idle_share)
    steals = medians(case, lambda use: use.node_steal_share)
    for (node, idle), (_, steal) in zip(idles, steals, strict=True):
        accounts = case.stream.fraction >= LEAST_SHARE * (1.0 - steal)
        if idle <= case.limit("idle") and accounts:
            yield (
                f"the processors of {node} were idle for {figures.percent(idle)} of the time,"
                " although the program does not poll"
            )


def _crowded(case: HostCase) -> Iterable[str]:
    """Some process of the node waited for a processor; the ranks' own delay is not known."""
    for launch, around in case.surrounded:
        for use in around.processors:
            if isinstance(use.run_delay_s, Skipped) or isinstance(use.node_steal_share, Skipped):
                continue
            waited = use.run_delay_s / around.wall_s if around.wall_s > 0 else 0.0
            steal = use.node_steal_share
            delay = min(1.0, waited + steal)
            least = max(LEAST_SHARE * (1.0 - steal), 0.5 * (1.0 - delay))
            if delay >= case.limit("delay") and case.stream.fraction >= least:
                yield (
                    f"on {node_of(launch, use.rank)} some process was ready to run but had to wait"
                    f" for a processor for {figures.percent(delay)} of the time (steal included)"
                )


_Look = Callable[[HostCase], Iterable[str]]
_LIMITING: tuple[_Look, ...] = (
    _loopback, _bottom_halves, _no_processor_left, _waiting_ranks, _idle_connection,
    _waiting_everywhere, _nothing_idle, _crowded,
)  # fmt: skip
_OTHERS: tuple[_Look, ...] = (_closed_window, _busy_processors)


def waiting_beside(own: Sequence[HostCase], good: Sequence[HostCase], left: float) -> Iterable[str]:
    """Waiting for processors slowed at least half of the accused pairs ``own``.

    ``left`` is how fast they are, a share of how fast the pairs ``good`` are, which wait as
    well where all hosts are busy. A pair with a fault that shows by itself, or as steady as
    only a wire is, is not excused.
    """
    usual = float(np.median([_longest(case)[0] for case in good])) if good else 0.0
    excused = [case for case in own if _accounts(case, usual, left)]
    if not excused or 2 * len(excused) < len(own):
        yield from _unseen_beside(own)
        return
    share, node = max(map(_longest, excused))
    yield (
        f"a rank on {node} was ready to run but had to wait for a processor for"
        f" {figures.percent(share)} of the time (steal included), those of good pairs for"
        f" {figures.percent(usual)}"
    )


def _unseen_beside(own: Sequence[HostCase]) -> Iterable[str]:
    """Waiting that cannot be seen may account for anything but what is shown otherwise."""
    shown = [
        case
        for case in own
        if _is_slow_stream(case) or any(proved(case.context, case.stream, True))
    ]
    unseen = unseen_waits(one for case in own for one in case.measurements)
    if unseen and 2 * len(shown) < len(own):
        yield unseen


def _is_slow_stream(case: HostCase) -> bool:
    return not case.stream.series.is_latency and is_slow_wire(case)


def _accounts(case: HostCase, usual: float, left: float) -> bool:
    if _is_slow_stream(case) or not accounts_beside(case.context, _longest(case)[0], usual, left):
        return False
    return not any(proved(case.context, case.stream, True))


def accounts_beside(context: Context, delay: float, usual: float, left: float) -> bool:
    """Whether waiting for ``delay`` of the time leaves no more than ``left`` of what good ones do.

    These wait for ``usual``. Half as slow again as the lost time, as of a figure alone: more has
    another cause.
    """
    expected = min(1.0, (1.0 - delay) / (1.0 - usual)) if usual < 1.0 else 1.0
    return delay >= context.limit("host-limited.delay") and left >= 0.5 * expected


def _longest(case: HostCase) -> tuple[float, str]:
    """Share of the time that the end which waited longest did so, and its node."""
    waited = [
        (min(1.0, float(np.median(shares))), node)
        for node, rank in ranks(case)
        if (shares := waits(case.measurements, rank))
    ]
    return max(waited, default=(0.0, ""))
