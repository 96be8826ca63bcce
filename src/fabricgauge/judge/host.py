"""Signs that a host, and not the network, sets the pace of a stream.

MPI ranks poll, so a busy processor alone says nothing: ranks on a link that was
negotiated down are as busy as ranks on a sound one. A sign counts only if it cannot
come from polling, and only if it can account for as much as is missing.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.judge import wording
from fabricgauge.judge.causes import lower_rate, proved
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.run import Around, Launch
from fabricgauge.stats.series import node_of, series_of
from fabricgauge.stats.spread import relative_half_width

#: Share of the time with data under way at which a sender keeps a link full.
WIRE_BUSY = 0.9

#: How near the ceiling of a lower link rate a figure must be to be taken for it, whatever else.
EXACTLY = (0.97, 1.01)

#: What other work on a node leaves a program of its processors at the least, by our reckoning: a
#: link that carries less is slow for another reason, though the node is busy as well.
LEAST_SHARE = 0.25


class Signs(msgspec.Struct, frozen=True):
    """``limiting`` signs each suffice to hold the host responsible; ``others`` do not."""

    limiting: tuple[str, ...]
    others: tuple[str, ...]


class _Case(msgspec.Struct, frozen=True):
    """One low figure, with the limits that apply."""

    context: Context
    stream: Stream

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.stream.best.measurements

    @property
    def uses(self) -> tuple[tuple[str, ProcessorUse], ...]:
        """Node and processors of both ends in the cases behind the figure.

        Of another suite's programs only those of the whole launch are known.
        """
        each = tuple(
            (self.node(one, use.rank), use)
            for one in self.measurements
            for use in one.processors
            if use.rank in (one.origin, one.target)
        )
        return (*each, *self._around)

    @property
    def _around(self) -> tuple[tuple[str, ProcessorUse], ...]:
        return tuple(
            (node_of(launch, use.rank), use)
            for launch, around in self.surrounded
            for use in around.processors
        )

    @property
    def surrounded(self) -> tuple[tuple[Launch, Around], ...]:
        """Launches of another suite behind the figure, with what was read around each."""
        numbers = {one.launch for one in self.stream.best.observed if one.measurement is None}
        return tuple(
            (launch, launch.around)
            for launch in self.stream.subject.launches
            if launch.number in numbers and launch.around is not None
        )

    def limit(self, name: str) -> float:
        return self.context.limit(f"host-limited.{name}")

    def node(self, measurement: Measurement, rank: int) -> str:
        series = self.stream.series
        return series.origin if rank == measurement.origin else series.target


def signs(context: Context, stream: Stream) -> Signs:
    """What the processors, the connections and the loopback reference say of one figure."""
    case = _Case(context, stream)
    link = (*_proved(case), *_slower_link(case))
    limiting = () if link else tuple(sign for look in _LIMITING for sign in look(case))
    return Signs(limiting, (*link, *(sign for look in _OTHERS for sign in look(case))))


def _is_wire(case: _Case) -> bool:
    """As steady as only a wire is, with data under way all the time."""
    steady = relative_half_width(case.stream.best.bandwidth) <= case.limit("steady")
    return steady and _busy(case) >= WIRE_BUSY


def _proved(case: _Case) -> Iterable[str]:
    """A fault of the network that shows by itself is not excused by a busy host."""
    for cause in proved(case.context, case.stream):
        yield f"{cause.evidence}: that is the network's fault, whatever the hosts do"


def _slower_link(case: _Case) -> Iterable[str]:
    """A link that runs at a lower standard rate explains the figure, whatever the hosts do."""
    network = case.stream.subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return
    rate = lower_rate(network.rate_bit_s, case.stream.fraction, EXACTLY)
    if rate is not None and _is_wire(case):
        yield (
            f"the figure is as steady as a wire, and what a {wording.link_rate(rate)} link carries:"
            " a link sets the pace, not a host"
        )


def _loopback(case: _Case) -> Iterable[str]:
    """The same MPI over loopback TCP on one node, a path without any network."""
    reach = loopback_reach(case)
    if reach is None:
        return
    node, best = reach
    enough = case.limit("headroom") * case.stream.ceiling.payload_bytes_per_s
    carried = case.stream.best.bandwidth.value * case.stream.directions
    if best < enough and carried >= case.limit("loopback") * best:
        yield (
            f"over TCP loopback on {node} alone, without a network, the same MPI reaches"
            f" {wording.rate(best)}, less than {case.limit('headroom'):g} times the ceiling of"
            f" {wording.rate(case.stream.ceiling.payload_bytes_per_s)}: it can't fill that besides"
            " the work that a network makes"
        )


def loopback_reach(case: _Case) -> tuple[str, float] | None:
    """Node and bytes/s of the best stream of the reference launches, if there are any."""
    best = [
        (series.origin, point.bandwidth.value)
        for series in series_of(case.stream.subject.loopbacks)
        if series.pattern == "bandwidth"
        for point in [series.best(case.context.limit("fraction.from"))]
        if point is not None
    ]
    return max(best, key=lambda one: one[1], default=None)


def _bottom_halves(case: _Case) -> Iterable[str]:
    for node, rank in _ranks(case):
        share = _median(case, rank, lambda use: use.busiest_softirq_share)
        if share >= case.limit("softirq_cpu"):
            yield (
                f"one processor of {node} spent {wording.percent(share)} of its time in"
                " interrupts' bottom halves"
            )


def _no_processor_left(case: _Case) -> Iterable[str]:
    if _is_wire(case):  # a slow link has packets, and ranks that poll leave nothing idle
        return
    for node, rank in _ranks(case):
        idle = _median(case, rank, lambda use: use.node_idle_share)
        softirq = _median(case, rank, lambda use: use.node_softirq_share)
        if idle <= case.limit("idle") and softirq >= case.limit("softirq"):
            yield (
                f"the processors of {node} were idle for {wording.percent(idle)} of the time and"
                f" spent {wording.percent(softirq)} on packets in interrupts' bottom halves"
            )


def _waiting_ranks(case: _Case) -> Iterable[str]:
    for node, rank in _ranks(case):
        delay = min(1.0, max(_delays(case, rank), default=0.0))
        # Half as slow again as the lost time: a larger loss has another cause.
        accounts = case.stream.fraction >= 0.5 * (1.0 - delay)
        if delay >= case.limit("delay") and accounts and not _is_wire(case):
            yield (
                f"rank {rank} on {node} was ready to run but had to wait for a processor for"
                f" {wording.percent(delay)} of the time (steal included)"
            )


def _nothing_idle(case: _Case) -> Iterable[str]:
    """Programs that sleep while they wait leave processors idle, unless these limit them."""
    if not case.surrounded or any(around.polls for _, around in case.surrounded):
        return
    for node, rank in _ranks(case):
        idle = _median(case, rank, lambda use: use.node_idle_share)
        steal = _median(case, rank, lambda use: use.node_steal_share)
        accounts = case.stream.fraction >= LEAST_SHARE * (1.0 - steal)
        if idle <= case.limit("idle") and accounts:
            yield (
                f"the processors of {node} were idle for {wording.percent(idle)} of the time,"
                " although the program does not poll"
            )


def _crowded(case: _Case) -> Iterable[str]:
    """Some process of the node waited for a processor; the ranks' own delay is not known."""
    for launch, around in case.surrounded:
        for use in around.processors:
            waited = use.run_delay_s / around.wall_s if around.wall_s > 0 else 0.0
            steal = use.node_steal_share
            delay = min(1.0, waited + steal)
            least = max(LEAST_SHARE * (1.0 - steal), 0.5 * (1.0 - delay))
            if delay >= case.limit("delay") and case.stream.fraction >= least:
                yield (
                    f"on {node_of(launch, use.rank)} some process was ready to run but had to wait"
                    f" for a processor for {wording.percent(delay)} of the time (steal included)"
                )


def _delays(case: _Case, rank: int) -> Iterable[float]:
    shares = [
        use.run_delay_s / one.wall_s + use.node_steal_share
        for one in case.measurements
        for use in one.processors
        if use.rank == rank and one.wall_s > 0
    ]
    return [float(np.median(shares))] if shares else []


def _idle_connection(case: _Case) -> Iterable[str]:
    share = _busy(case)
    if share <= case.limit("busy"):
        yield (
            f"the connections of {case.stream.series.origin} had data under way for only"
            f" {wording.percent(share)} of the time: the sender did not fill the link"
        )


def _busy(case: _Case) -> float:
    """Share of the time with data under way from the sender; 1 where it is not known."""
    busy = [share for one in case.measurements for share in _busy_share(one)]
    return float(np.median(busy)) if busy else 1.0


def _busy_share(measurement: Measurement) -> Iterable[float]:
    if measurement.data_check.requested:  # filling and comparing take time of their own
        return
    for connections in measurement.sockets[measurement.origin : measurement.origin + 1]:
        busy_s = sum(one.busy_s for one in connections if one.sent_bytes > 0)
        if busy_s > 0 and measurement.wall_s > 0:
            yield busy_s / measurement.wall_s


def _closed_window(case: _Case) -> Iterable[str]:
    """No sign by itself: a deep queue in front of a slow link fills the window as well."""
    for one in case.measurements[:1]:
        for connections in one.sockets[one.origin : one.origin + 1]:
            busy_s = sum(socket.busy_s for socket in connections)
            limited_s = sum(socket.rwnd_limited_s for socket in connections)
            if busy_s > 0 and limited_s / busy_s >= 0.3:
                yield (
                    f"the receiver's window held {case.stream.series.origin} back for"
                    f" {wording.percent(limited_s / busy_s)} of the time that data were waiting"
                )


def _busy_processors(case: _Case) -> Iterable[str]:
    for node, rank in _ranks(case):
        idle = _median(case, rank, lambda use: use.node_idle_share)
        yield (
            f"the processors of {node} were idle for {wording.percent(idle)} of the time"
            " (MPI ranks poll, so this alone proves nothing)"
        )


def _ranks(case: _Case) -> Sequence[tuple[str, int]]:
    """Node and rank of both ends, as far as their processor use is known."""
    return sorted({(node, use.rank) for node, use in case.uses})


def _median(case: _Case, rank: int, share: Callable[[ProcessorUse], float]) -> float:
    found = [share(use) for _, use in case.uses if use.rank == rank]
    return float(np.median(found))


_Look = Callable[[_Case], Iterable[str]]
_LIMITING: tuple[_Look, ...] = (
    _loopback, _bottom_halves, _no_processor_left, _waiting_ranks, _idle_connection,
    _nothing_idle, _crowded,
)  # fmt: skip
_OTHERS: tuple[_Look, ...] = (_closed_window, _busy_processors)
