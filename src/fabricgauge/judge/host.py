"""Signs that a host, and not the network, sets the pace of a stream.

MPI ranks poll, so a busy processor alone says nothing: ranks on a link that was
negotiated down are as busy as ranks on a sound one. A sign counts only if it cannot
come from polling, and only if it can account for as much as is missing.
"""

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from fabricgauge.judge.causes import lower_rate, proved
from fabricgauge.judge.host_around import crowded, nothing_idle
from fabricgauge.judge.host_case import HostCase, delays, medians, ranks, unseen_delays
from fabricgauge.judge.host_pairs import waiting_everywhere
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.judge.wire import busy, is_slow_wire, is_wire
from fabricgauge.model.absence import Skipped
from fabricgauge.stats.series import series_of
from fabricgauge.stats.spread import relative_half_width
from fabricgauge.words import figures

#: How near the ceiling of a lower link rate a figure must be to be taken for it, whatever else.
EXACTLY = (0.97, 1.01)


class Signs(msgspec.Struct, frozen=True):
    """``limiting`` signs each suffice to hold the host responsible; ``others`` do not.

    ``unseen`` is a sentence on what might have held the host responsible, but could not be seen.
    """

    limiting: tuple[str, ...]
    others: tuple[str, ...]
    unseen: str = ""


def signs(context: Context, stream: Stream) -> Signs:
    """What the processors, the connections and the loopback reference say of one figure."""
    case = HostCase(context, stream)
    link = (*_proved(case), *_slower_link(case))
    every = (*case.measurements, *case.tournaments)
    limiting = () if link else tuple(sign for look in _LIMITING for sign in look(case))
    unseen = "" if link or limiting or is_slow_wire(case) else unseen_delays(every)
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
        shares = delays(case.measurements, rank)
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
    for one in case.measurements[:1]:
        connections = one.sockets_of(one.origin)
        busy_s = sum(socket.busy_s for socket in connections)
        limited_s = sum(socket.rwnd_limited_s for socket in connections)
        if busy_s > 0 and limited_s / busy_s >= 0.3:
            yield (
                f"the receiver's window held {case.stream.series.origin} back for"
                f" {figures.percent(limited_s / busy_s)} of the time that data were waiting"
            )


def _busy_processors(case: HostCase) -> Iterable[str]:
    for node, idle in medians(case, lambda use: use.node_idle_share):
        yield (
            f"the processors of {node} were idle for {figures.percent(idle)} of the time"
            " (MPI ranks poll, so this alone proves nothing)"
        )


_Look = Callable[[HostCase], Iterable[str]]
_LIMITING: tuple[_Look, ...] = (
    _loopback, _bottom_halves, _no_processor_left, _waiting_ranks, _idle_connection,
    waiting_everywhere, nothing_idle, crowded,
)  # fmt: skip
_OTHERS: tuple[_Look, ...] = (_closed_window, _busy_processors)
