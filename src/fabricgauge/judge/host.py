"""Find signs that a host, not the network, limits a stream, and excuse outcomes by them.

MPI ranks poll, so a busy processor alone proves nothing: ranks on a link that was
negotiated down are as busy as ranks on a sound one. A sign counts only if it cannot
come from polling, and only if it explains the missing rate.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

import msgspec

from fabricgauge.judge import foreign
from fabricgauge.judge.causes import find_lower_rate, prove_causes
from fabricgauge.judge.evidence.connections import held_by_receiver
from fabricgauge.judge.evidence.placement import throttles, unseen_waits, waits
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.stats.series import node_of, series_of
from fabricgauge.judge.streams import WIRE_BUSY, Stream, carry_the_same
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words import figures

#: A figure within these shares of a lower link rate's ceiling is taken for that rate.
EXACTLY = (0.97, 1.01)

#: Other work on a node leaves a program at least this share of its processors, by our reckoning.
#: A stream that carries less is slow for another reason, even if the node is busy.
LEAST_SHARE = 0.25

#: Waiting for processors leaves a part of the rate. Ends that wait for each other lose half of that
#: part at most. A stream that carries less has another cause.
LEAST_REST = 0.5

#: A receiver's closed window is reported from this share of the time on.
CLOSED = 0.3

#: What to do about a figure that a host limits, and about that host.
REMEDY = (
    "end other work on the nodes, lift quotas of processor time (cpu.max), spread interrupts over"
    " the processors (RSS, RPS), set the processors' clock governor to performance, or use an MPI"
    " transport with less work per byte (RDMA, larger MTU); then measure again"
)


class Signs(msgspec.Struct, frozen=True):
    """Signs of a stream: each ``limiting`` sign proves that the host limits, ``others`` do not.

    ``unseen`` is a sentence on a sign that the node does not show.
    ``foreign`` is other traffic that takes the rest of the rate.
    """

    limiting: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    unseen: str = ""
    foreign: tuple[str, ...] = ()

    @property
    def host_signs(self) -> tuple[str, ...]:
        """Return all signs that may hold the host responsible."""
        return (*self.limiting, self.unseen) if self.unseen else self.limiting

    @property
    def against(self) -> tuple[str, ...]:
        """Return all signs that may excuse the network."""
        return (*self.foreign, *self.host_signs)


def excuse_outcome(outcome: Outcome, by_host: bool) -> Outcome:
    """Return INCONCLUSIVE instead of FAIL if a host limits the figure; others stay.

    The figure then shows how fast the host is, and not the network. A figure that cannot fail,
    such as streams in both directions at once, stays a warning.
    """
    return Outcome.INCONCLUSIVE if by_host and outcome is Outcome.FAIL else outcome


def signs(stream: Stream) -> Signs:
    """Return what processors, connections and the loopback reference show for a figure."""
    held, others_traffic = tuple(_held_ranks(stream)), tuple(foreign.accounts(stream))
    link = tuple(_link(stream, by_figure=not held))
    limiting = () if link else (*held, *(sign for check in _LIMITING for sign in check(stream)))
    unseen = ""
    if not (link or limiting or others_traffic) and not stream.is_slow_wire:
        unseen = unseen_waits((*stream.measurements, *stream.round_robins))
    other_signs = (*link, *(sign for check in _OTHERS for sign in check(stream)))
    return Signs(limiting, other_signs, unseen, others_traffic)


def _link(stream: Stream, *, by_figure: bool) -> Iterator[str]:
    """Yield proved faults of the network, and a link that runs at a lower rate."""
    slow_hosts = any(_loopback(stream))
    for cause in prove_causes(stream, slow_hosts):
        yield f"{cause.evidence}: this is a fault of the network, even if the hosts are busy"
    # A rate that the figure alone shows may be the effect of a quota of processor time.
    rate = find_lower_rate(stream, EXACTLY)
    if by_figure and rate is not None and stream.is_wire:
        yield (
            f"the figure is as steady as a wire, and equals what a {figures.link_rate(rate)} link"
            " carries: a link is the limit, not a host"
        )


def _loopback(stream: Stream) -> Iterator[str]:
    """Yield the same MPI over loopback TCP on one node, a path without any network."""
    # To RDMA ports the adapter copies, not the kernel.
    if stream.subject.has_rdma_ports:
        return
    reached = [
        (point.bandwidth.value, series.origin)
        for series in series_of(stream.subject.loopbacks)
        if series.pattern == "bandwidth"
        if (point := series.best(stream.limit("fraction.from"))) is not None
    ]
    best, node = max(reached, key=itemgetter(0), default=(math.inf, ""))
    headroom, ceiling = stream.limit("host-limited.headroom"), stream.ceiling.payload_bytes_per_s
    carried = stream.best.bandwidth.value * stream.directions
    limit_name = "host-limited.loopback" if stream.steady else "host-limited.loopback_unsteady"
    if best < headroom * ceiling and carried >= stream.limit(limit_name) * best:
        yield (
            f"over TCP loopback on {node} alone, without a network, the same MPI reaches"
            f" {figures.rate(best)}, less than {headroom:g} times the ceiling of"
            f" {figures.rate(ceiling)}: the host cannot sustain the line rate"
        )


def _bottom_halves(stream: Stream) -> Iterator[str]:
    for node, share in stream.medians("busiest_softirq_share"):
        if share >= stream.limit("host-limited.softirq_cpu"):
            yield (
                f"one processor of {node} spent {figures.percent(share)} of its time in"
                " interrupts' bottom halves"
            )


def _no_processor_left(stream: Stream) -> Iterator[str]:
    if stream.is_wire:  # a slow link has packets, and ranks that poll leave nothing idle
        return
    idles, softirqs = stream.medians("node_idle_share"), stream.medians("node_softirq_share")
    idle_most, least = stream.limit("host-limited.idle"), stream.limit("host-limited.softirq")
    for (node, idle), (_, softirq) in zip(idles, softirqs, strict=True):
        if idle <= idle_most and softirq >= least:
            yield (
                f"{_idle(node, idle)} and"
                f" spent {figures.percent(softirq)} on packets in interrupts' bottom halves"
            )


def _waiting_ranks(stream: Stream) -> Iterator[str]:
    for node, rank in stream.ranks:
        delay = _delay(stream.measurements, rank)
        accounts = explains_speed(stream.subject, delay, 0.0, stream.fraction)
        if accounts and not stream.is_slow_wire:
            yield f"rank {rank} on {node} {describe_wait(delay)}"


def _held_ranks(stream: Stream) -> Iterator[str]:
    # They keep pace with the quota's periods: a figure as steady as a wire's proves no wire.
    for node, rank in stream.ranks:
        share, sentence = _measure_quota(stream.measurements, rank)
        if explains_speed(stream.subject, share, 0.0, stream.fraction):
            yield f"rank {rank} on {node} {sentence}"


def _measure_quota(measurements: Sequence[Measurement], rank: int) -> tuple[float, str]:
    """Return the median share of the time that a quota stopped a rank, and a sentence's end."""
    share = median_or_zero(throttles(measurements, rank))
    uses = (use for case in measurements for use in case.processors if use.rank == rank)
    quotas = [quota for use in uses if not isinstance(quota := use.quota_processors, Skipped)]
    allowed = f" of {min(quotas):g} processors" if quotas else ""
    return share, (
        f"was stopped for {figures.percent(share)} of the time: its control group had used up its"
        f" quota{allowed} (cpu.max, cpu.stat)"
    )


def _idle_connection(stream: Stream) -> Iterator[str]:
    if stream.busy <= stream.limit("host-limited.busy"):
        yield (
            f"the connections of {stream.series.way[0]} had data under way for only"
            f" {figures.percent(stream.busy)} of the time: the sender did not fill the link"
        )


def _closed_window(stream: Stream) -> Iterator[str]:
    """Yield a receiver whose window was closed; a deep queue before a slow link closes it too."""
    for share in map(held_by_receiver, stream.measurements[:1]):
        if share >= CLOSED:
            yield (
                f"the receiver's window stopped {stream.series.way[0]} for"
                f" {figures.percent(share)} of the time that data were waiting"
            )


def _busy_processors(stream: Stream) -> Iterator[str]:
    for node, idle in stream.medians("node_idle_share"):
        yield f"{_idle(node, idle)} (MPI ranks poll, so this alone proves nothing)"


def _waiting_everywhere(stream: Stream) -> Iterator[str]:
    """Yield a sentence if half of the ranks waited: so did about half of the pairs, or more."""
    delay = _delay(stream.round_robins)
    # Pairs whose two ends wait in turns are not all slowed alike, even if most of them are.
    spread = max(stream.best.bandwidth.half_width, stream.best.pairs_differ_by)
    unsteady = spread > stream.limit("stability.interval")
    explained = (
        delay >= stream.limit("host-limited.delay_unsteady")
        if unsteady
        else explains_speed(stream.subject, delay, 0.0, stream.fraction)
    )
    if explained and not stream.is_slow_wire:
        yield f"half of the ranks {describe_wait(delay, 'were', 'or more ')}"


def _nothing_idle(stream: Stream) -> Iterator[str]:
    # A program that sleeps while it waits leaves processors idle unless they limit it.
    if not stream.surrounded or any(around.polls for _, around in stream.surrounded):
        return
    idles, steals = stream.medians("node_idle_share"), stream.medians("node_steal_share")
    for (node, idle), (_, steal) in zip(idles, steals, strict=True):
        accounts = stream.fraction >= LEAST_SHARE * (1.0 - steal)
        if idle <= stream.limit("host-limited.idle") and accounts:
            yield f"{_idle(node, idle)}, although the program does not poll"


def _crowded(stream: Stream) -> Iterator[str]:
    """Yield nodes on which a process waited for a processor; the ranks' own delay is unknown."""
    for launch, around in stream.surrounded:
        for use in around.processors:
            if isinstance(use.run_delay_s, Skipped) or isinstance(use.node_steal_share, Skipped):
                continue
            delay_share = use.run_delay_s / around.wall_s if around.wall_s > 0 else 0.0
            steal = use.node_steal_share
            delay = min(1.0, delay_share + steal)
            accounts = explains_speed(stream.subject, delay, 0.0, stream.fraction)
            if accounts and stream.fraction >= LEAST_SHARE * (1.0 - steal):
                yield f"on {node_of(launch, use.rank)} a process {describe_wait(delay)}"


_Check = Callable[[Stream], Iterator[str]]
_LIMITING: tuple[_Check, ...] = (
    _loopback, _bottom_halves, _no_processor_left, _waiting_ranks, _idle_connection,
    _waiting_everywhere, _nothing_idle, _crowded,
)  # fmt: skip
_OTHERS: tuple[_Check, ...] = (_closed_window, _busy_processors)


def _idle(node: str, share: float) -> str:
    return f"the processors of {node} were idle for {figures.percent(share)} of the time"


def describe_wait(share: float, were: str = "was", more: str = "") -> str:
    """Return the end of a sentence on a rank without a processor for ``share`` of the time."""
    return (
        f"{were} ready to run but had to wait for a processor for {figures.percent(share)} of the"
        f" time {more}(steal included)"
    )


def _delay(measurements: Iterable[Measurement], rank: int | None = None) -> float:
    """Return the share of the time, 0 to 1, that a rank or the median rank waited."""
    return min(1.0, median_or_zero(waits(measurements, rank)))


def waits_of_nodes(subject: Subject, pattern: Pattern) -> dict[str, float]:
    """Return the share of the time that each node's ranks waited, median over a pattern's cases."""
    by_node: dict[str, list[float]] = {}
    for node, rank, cases in _cases_by_rank(subject, pattern):
        by_node.setdefault(node, []).extend(waits(cases, rank))
    return {node: min(1.0, median_or_zero(shares)) for node, shares in by_node.items() if shares}


def waiting_nodes(subject: Subject, pattern: Pattern) -> dict[str, str]:
    """Return a sentence on each node whose ranks waited for processors or were out of quota."""
    limit, sentences_by_node = subject.limit("host-limited.delay"), dict[str, str]()
    for node, delay in waits_of_nodes(subject, pattern).items():
        if delay >= limit:
            sentences_by_node[node] = f"the rank on {node} {describe_wait(delay)}"
    for node, (share, sentence) in quotas_by_node(subject, pattern).items():
        if share >= limit:
            sentences_by_node[node] = f"the rank on {node} {sentence}"
    return sentences_by_node


def describe_common_waiting(subject: Subject, pattern: Pattern) -> str:
    """Return a sentence on half of the nodes waiting for processors; empty if they did not."""
    usual = median_or_zero(waits_of_nodes(subject, pattern).values())
    if usual < subject.limit("host-limited.delay"):
        return ""
    return f"half of the ranks {describe_wait(usual, 'were', 'or more ')}"


def quotas_by_node(subject: Subject, pattern: Pattern) -> dict[str, tuple[float, str]]:
    """Return the share of the time that a quota stopped each node's rank, and a sentence's end."""
    quotas: dict[str, tuple[float, str]] = {}
    for node, rank, cases in _cases_by_rank(subject, pattern):
        quotas[node] = max(quotas.get(node, (0.0, "")), _measure_quota(cases, rank))
    return quotas


def _cases_by_rank(
    subject: Subject, pattern: Pattern
) -> Iterator[tuple[str, int, list[Measurement]]]:
    """Yield node and rank of each launch whose processor use is known, with a pattern's cases."""
    for launch in subject.launches:
        cases = [case for case in launch.measurements if case.pattern == pattern]
        for rank in sorted({use.rank for case in cases for use in case.processors}):
            yield node_of(launch, rank), rank, cases


def explain_by_waiting(
    suspects: Sequence[Stream], good_streams: Sequence[Stream], speed_share: float
) -> Iterator[str]:
    """Yield a sentence if waiting for processors slowed at least half of the suspect pairs.

    ``speed_share`` is their speed relative to the good pairs, which wait as well if all hosts are
    busy. A pair is not excused if its fault is proved, or if it is as steady as only a wire is.
    Interrupts that fill a processor of most suspect pairs, and of no good one, are an excuse too.
    Pairs that carry the same, as only one wire makes them, are not excused either. For all other
    pairs, waiting that the nodes do not show is an excuse.
    """
    held = [
        sentence for suspect in suspects for sentence in _explain_by_quota(suspect, speed_share)
    ]
    if held and 2 * len(held) >= len(suspects):
        yield held[0]
        return
    interrupts = [next(_bottom_halves(suspect), "") for suspect in suspects]
    is_usual = any(any(_bottom_halves(stream)) for stream in good_streams)
    is_proved = any(any(prove_causes(suspect, True)) for suspect in suspects)
    if 2 * sum(map(bool, interrupts)) > len(suspects) and not (is_usual or is_proved):
        yield next(filter(None, interrupts))
        return
    usual = median_or_zero(_longest(stream)[0] for stream in good_streams)
    unshown: list[Stream] = []
    if not _is_one_wire(suspects):
        unshown = [suspect for suspect in suspects if not _shows_itself(suspect)]
    excused = [
        suspect
        for suspect in unshown
        if explains_speed(suspect.subject, _longest(suspect)[0], usual, speed_share)
    ]
    if excused and 2 * len(excused) >= len(suspects):
        share, node = max(map(_longest, excused))
        good_wait = figures.percent(usual)
        yield f"a rank on {node} {describe_wait(share)}; ranks of good pairs for {good_wait}"
        return
    unseen = unseen_waits(case for stream in suspects for case in stream.measurements)
    if unseen and 2 * len(unshown) > len(suspects):
        yield unseen


def _explain_by_quota(stream: Stream, speed_share: float) -> Iterator[str]:
    """Yield a sentence on the end of a pair whose quota explains its speed."""
    quotas = [(*_measure_quota(stream.measurements, rank), node) for node, rank in stream.ranks]
    share, sentence, node = max(quotas, default=(0.0, "", ""))
    if explains_speed(stream.subject, share, 0.0, speed_share):
        yield f"the rank on {node} {sentence}"


def _is_one_wire(pair_streams: Sequence[Stream]) -> bool:
    """Check whether these pairs had data under way all along, and carried the same."""
    if any(stream.series.is_latency or stream.busy < WIRE_BUSY for stream in pair_streams):
        return False
    fractions = [stream.fraction for stream in pair_streams]
    return bool(fractions) and carry_the_same(pair_streams[0].subject, fractions)


def _shows_itself(stream: Stream) -> bool:
    """Check whether the pair is as steady as only a slow wire is, or has a proved fault."""
    slow_wire = not stream.series.is_latency and stream.is_slow_wire
    return slow_wire or any(prove_causes(stream, True))


def explains_speed(subject: Subject, delay: float, usual: float, speed_share: float) -> bool:
    """Check whether waiting for ``delay`` of the time explains a rate of ``speed_share``.

    Good pairs wait for ``usual`` of the time; 0 if the figure is compared with the ceiling.
    """
    expected = min(1.0, (1.0 - delay) / (1.0 - usual)) if usual < 1.0 else 1.0
    return delay >= subject.limit("host-limited.delay") and speed_share >= LEAST_REST * expected


def _longest(stream: Stream) -> tuple[float, str]:
    """Return the longest wait of an end, as a share of the time, and the node of that end."""
    ends = ((node, rank) for node, rank in stream.ranks if waits(stream.measurements, rank))
    delays = ((_delay(stream.measurements, rank), node) for node, rank in ends)
    return max(delays, default=(0.0, ""))
