"""Find the best sustained bandwidth of each direction, and compare it with the ceiling."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Literal

import msgspec
from msgspec.structs import replace

from fabricgauge.judge.ceiling.technologies import find_limits
from fabricgauge.judge.evidence.connections import acknowledged, busy_share
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.stats.series import Point, Series, node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PATH_MTUS
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import OVER_TCP
from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import CountersAround, Launch
from fabricgauge.model.verdict import Outcome, VerdictSubject
from fabricgauge.model.words import figures, patterns

STREAMS: tuple[Pattern, ...] = ("bandwidth", "put_bandwidth", "bidirectional_bandwidth")

#: A token bucket's burst speeds up a message of this many times its size by 1.6 % at most.
BURSTS = 64

#: From this rate on, one TCP connection, which one processor serves, need not fill a link.
FAST_BIT_S = 25e9

#: Suites whose stream over TCP is one connection, and whose message size is that of one call. TCP
#: fills its segments from many calls, so their streams count from netperf's usual 16 KiB on.
ONE_CONNECTION = ("netperf", "qperf")
#: Least size of such a call whose stream is judged.
LEAST_CALL_BYTES = 16384

#: Share of the time with data under way at which a sender keeps a link full.
WIRE_BUSY = 0.9

#: A little above the largest ratio of neighbouring standard rates: 40 to 50 Gb/s.
NEAREST_RATE = 0.85

#: This many pairs or sizes with the same rate prove one wire: two may agree by chance.
AGREEING = 3

#: A wire carries large messages at least as well as smaller ones; a host's caches do not.
HELD = 0.9

#: A wire's rate is the same at all large sizes; a size this much faster disproves a wire.
FASTER = 1.05

#: Shares of a node's processor time, by their names in ``ProcessorUse``.
Share = Literal[
    "busiest_softirq_share", "node_idle_share", "node_softirq_share", "node_steal_share"
]


class Stream(msgspec.Struct, frozen=True):
    """A pattern's best point in one direction, with its ceiling.

    Bandwidth is per direction for every pattern, as the ceiling is.
    """

    subject: Subject
    ceiling: Ceiling
    series: Series
    best: Point

    def limit(self, name: str) -> float:
        return self.subject.limit(name)

    @property
    def rate_bit_s(self) -> float | Skipped:
        """Return the network's nominal rate."""
        network = self.subject.network
        return network if isinstance(network, Skipped) else network.rate_bit_s

    @property
    def fraction(self) -> float:
        return self.best.bandwidth.value / self.ceiling.payload_bytes_per_s

    @property
    def low(self) -> float:
        return self.best.bandwidth.low / self.ceiling.payload_bytes_per_s

    @property
    def high(self) -> float:
        return self.best.bandwidth.high / self.ceiling.payload_bytes_per_s

    @property
    def is_above(self) -> bool:
        """Check whether it is more than the network carries for one stream on a link."""
        most = _sharing(self.subject, self.series)
        return self.fraction > most * (1.0 + self.limit("above-ceiling.tolerance"))

    @property
    def launches(self) -> tuple[float, ...]:
        """Each launch's own fraction of the ceiling, in the launches' order."""
        return tuple(
            observation.payload_bytes / observation.median_s / self.ceiling.payload_bytes_per_s
            for observation in self.best.observed
        )

    @property
    def directions(self) -> int:
        """Return the number of directions in which bytes moved at once."""
        return 2 if self.series.pattern == "bidirectional_bandwidth" else 1

    @property
    def enough(self) -> str:
        """Return the name of the threshold from which the stream passes."""
        if self.directions == 1:
            return "fraction.pass"
        slingshot = self.subject.technology == "slingshot"
        return "fraction.slingshot_both_pass" if slingshot else "fraction.both_pass"

    @property
    def least(self) -> str:
        """Return the name of the threshold below which the stream fails."""
        return "fraction.warn" if self.directions == 1 else "fraction.both_warn"

    @property
    def about(self) -> VerdictSubject:
        return replace(self.series.about, network=self.subject.name)

    @property
    def sentence(self) -> str:
        return (
            f"{figures.rate(self.best.bandwidth.value)} per direction"
            f" {figures.at(self.best.message_bytes, self.best.sized)}"
            f" ({patterns.sentence(self.series.pattern)})"
            f" = {figures.percent(self.fraction)} of {self._ceiling_words}"
        )

    @property
    def _ceiling_words(self) -> str:
        """Return the ceiling, or a stream's part of it; a stream has more while others pause."""
        sharing = _sharing(self.subject, self.series)
        ceiling_rate = figures.rate(sharing * self.ceiling.payload_bytes_per_s)
        if sharing == 1:
            return ceiling_rate
        pauses = ", not all of the time" if self.fraction > 1.0 else ""
        return f"one stream's part, as {sharing} streams share {ceiling_rate}{pauses}"

    def decides(self, one_way_streams: "tuple[Stream, ...]") -> bool:
        """Check whether a low figure counts against the network.

        Both directions at once do not: hosts and acknowledgements share them. MPI_Put, MPI_Get and
        a single TCP connection do not if another stream fills the same direction: then MPI or one
        processor limits them.
        """
        if self.directions == 2:
            return False
        if self.series.pattern == "bandwidth" and not _alone(self.series):
            return True
        return not any(
            _ends(stream.series) == _ends(self.series)
            and stream.series.pattern == "bandwidth"
            and stream.fraction >= self.limit("fraction.warn")
            for stream in one_way_streams
        )

    @property
    def cannot_fill(self) -> bool:
        """Check whether it is one connection on a link too fast for one connection."""
        rate = self.rate_bit_s
        return not isinstance(rate, Skipped) and _alone(self.series) and rate >= FAST_BIT_S

    @property
    def plain_outcome(self) -> Outcome:
        """Return the outcome of the figure, its interval and its launches alone."""
        passing, usable = self.limit(self.enough), self.limit(self.least)
        if self.is_above:
            return Outcome.WARN
        if self.fraction >= passing:
            steady = self.low >= usable and min(self.launches) >= passing
            return Outcome.PASS if steady else Outcome.WARN
        if self.fraction >= usable:
            return Outcome.WARN
        return Outcome.INCONCLUSIVE if self.high >= usable else Outcome.FAIL

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.best.measurements

    @property
    def uses(self) -> Iterator[tuple[str, ProcessorUse]]:
        """Yield node and processor use of both ends in the cases behind the figure.

        For another suite's programs only the processor use of the whole launch is known.
        """
        for case in self.measurements:
            ends = {case.target: self.series.target, case.origin: self.series.origin}
            yield from ((ends[use.rank], use) for use in case.processors if use.rank in ends)
        for launch, around in self.surrounded:
            yield from ((node_of(launch, use.rank), use) for use in around.processors)

    @property
    def ranks(self) -> Sequence[tuple[str, int]]:
        """Return node and rank of the ends whose processor use is known."""
        return sorted({(node, use.rank) for node, use in self.uses})

    @property
    def surrounded(self) -> tuple[tuple[Launch, CountersAround], ...]:
        return self.subject.around(self.best)

    @property
    def round_robins(self) -> tuple[Measurement, ...]:
        """Return the cases behind a median over many pairs, in which every rank took part."""
        return self.subject.round_robins(self.series, self.best.message_bytes)

    def medians(self, share: Share) -> Iterable[tuple[str, float]]:
        """Yield node and median of the share, for each rank whose share is known."""
        for node, rank in self.ranks:
            all_shares = (getattr(use, share) for _, use in self.uses if use.rank == rank)
            if shares := [share for share in all_shares if not isinstance(share, Skipped)]:
                yield node, median(shares)

    @property
    def busy(self) -> float:
        """Return the share of the time with data under way from the sender; 1 if unknown."""
        shares = [share for case in self.measurements if (share := busy_share(case)) is not None]
        return median(shares) if shares else 1.0

    @property
    def steady(self) -> bool:
        # The median of many pairs has a narrow interval, however much the pairs differ.
        spread = max(self.best.bandwidth.half_width, self.best.pairs_differ_by)
        return spread <= self.limit("host-limited.steady")

    @property
    def same_at_all_sizes(self) -> bool:
        """Check whether each large size carries the same, as sizes over a wire do."""
        large = self.series.at_least(self.limit("fraction.from"))
        ceiling = self.ceiling.payload_bytes_per_s
        return carry_the_same(self.subject, [point.bandwidth.value / ceiling for point in large])

    @property
    def is_wire(self) -> bool:
        """Check whether it is as steady as only a wire is, with data under way all the time.

        No larger message may be surely slower than the figure, and none faster.
        """
        best = self.best
        held = all(
            point.bandwidth.high >= HELD * best.bandwidth.low
            for point in self.series.points
            if point.message_bytes > best.message_bytes and point.sized
        )
        steady = (self.steady or self.same_at_all_sizes) and not self._carries_more
        return held and steady and self.busy >= WIRE_BUSY

    @property
    def _carries_more(self) -> bool:
        """Check whether another large size carries more, without a token bucket's burst."""
        least = FASTER * self.best.bandwidth.value
        for point in self.series.at_least(self.limit("fraction.from")):
            sample_bytes = min(observation.payload_bytes for observation in point.observed)
            shaped_bytes = sample_bytes - self.subject.burst_bytes
            if point.sized and point.bandwidth.value * shaped_bytes > least * sample_bytes:
                return True
        return False

    @property
    def is_slow_wire(self) -> bool:
        """Check whether a lower link rate may set the pace: steady, and far below the ceiling."""
        return self.fraction < NEAREST_RATE and self.is_wire


def carry_the_same(subject: Subject, fractions: Sequence[float]) -> bool:
    """Check whether several pairs or sizes carry the same, well below the ceiling, as on a wire.

    Waiting for processors would slow each by another share.
    """
    if len(fractions) < AGREEING or max(fractions) >= NEAREST_RATE:
        return False
    return max(fractions) <= (1.0 + subject.limit("host-limited.steady")) * min(fractions)


def streams(subject: Subject, *patterns: Pattern) -> tuple[Stream, ...]:
    """Return one stream per direction and pattern with large enough messages and a ceiling.

    Series of several pairs over an unknown number of links are left out.
    """
    if isinstance(subject.ceiling, Skipped):
        return ()
    judged_streams = []
    for series in subject.of(*(patterns or STREAMS)):
        best = series.best(from_bytes(subject, series))
        if best is not None and series.links_known and not is_rdma_on_tcp(subject, series):
            limit = _ceiling_of(subject, subject.ceiling, series, best)
            judged_streams.append(Stream(subject, limit, series, best))
    return tuple(judged_streams)


def small_streams(subject: Subject) -> Iterator[Stream]:
    """Yield one-way streams of RDMA that end below 64 KiB, and fill the link with 16 KiB or more.

    A smaller message fills it less, so such a figure needs no larger one beside it; a figure below
    shows nothing. TCP's buffers and a token bucket's burst take small messages before the link.
    """
    over_tcp = subject.technology in OVER_TCP or subject.evidence.over_tcp
    if isinstance(subject.ceiling, Skipped) or subject.burst_bytes or over_tcp:
        return
    for series in subject.of("bandwidth", "put_bandwidth", "get_bandwidth"):
        best, least = series.best(LEAST_CALL_BYTES), from_bytes(subject, series)
        is_judged = series.links_known and not _is_tcp(series)
        if best is None or series.best(least) is not None or not is_judged:
            continue
        limit = _ceiling_of(subject, subject.ceiling, series, best)
        stream = Stream(subject, limit, series, best)
        if stream.plain_outcome is Outcome.PASS and not rails_if_one_used(subject, series):
            yield stream


def rechecked_streams(subject: Subject, pattern: Pattern, least_bytes: float) -> Iterator[Stream]:
    """Yield the streams of pairs that were measured again, with messages of at least that size."""
    if isinstance(subject.ceiling, Skipped):
        return
    for series in subject.again:
        best = series.best(least_bytes) if series.pattern == pattern else None
        if best is not None:
            yield Stream(subject, subject.ceiling, series, best)


def from_bytes(subject: Subject, series: Series) -> float:
    """Return the least message that shows a sustained rate.

    A stream empties a token bucket once; a ping-pong gets the burst each time.
    """
    least = subject.limit("fraction.from")
    if series.is_latency:
        return max(least, BURSTS * subject.burst_bytes)
    return min(least, LEAST_CALL_BYTES) if is_sized_by_call(series) and _is_tcp(series) else least


def is_sized_by_call(series: Series) -> bool:
    """Check whether the log's message size, if any, is that of a call."""
    return series.foreign is not None and series.foreign.suite in ONE_CONNECTION


def rails_if_one_used(subject: Subject, series: Series) -> int:
    """Return the number of rails if a log's program used one of them; 0 if it may have used all.

    perftest measures the device that it names.
    """
    foreign, network = series.foreign, subject.network
    if foreign is None or isinstance(network, Skipped) or foreign.suite != "perftest":
        return 0
    return network.rails if network.rails > 1 and len(foreign.evidence.devices) == 1 else 0


def count_unstated_ports(subject: Subject, series: Series) -> int:
    """Return how many ports a log of perftest sums if fewer rails are stated; 0 otherwise."""
    foreign = series.foreign
    ports = len(foreign.evidence.devices) if foreign and foreign.suite == "perftest" else 0
    return ports if ports > subject.rails else 0


def _sharing(subject: Subject, series: Series) -> int:
    """Return the number of streams that share a link in one direction; 1 except for medians."""
    return subject.sharing if series.of_pairs and not series.is_latency else 1


def _ceiling_of(subject: Subject, ceiling: Ceiling, series: Series, best: Point) -> Ceiling:
    """Return a stream's part of the ceiling, with the log's RDMA MTU if none was stated."""
    mtu = (series.foreign.evidence.mtu_bytes if series.foreign else None) or 0
    limits = ceiling.by_mtu
    is_small = limits and mtu in PATH_MTUS and mtu not in limits
    if is_small and not isinstance(subject.network, Skipped):
        limits = find_limits(subject.network, (mtu,))
    if limit := limits.get(mtu):
        step = "by the log's own MTU", str(mtu), limit, "bytes/s per direction"
        steps = (*ceiling.steps, CeilingStep(*step))
        ceiling = replace(ceiling, payload_bytes_per_s=limit, steps=steps, by_mtu={})
    if rails := rails_if_one_used(subject, series):
        ceiling = ceiling.divide_by_rails(rails)
    if (sharing := _sharing(subject, series)) > 1:
        return ceiling.shared_by(sharing)
    if series.pattern != "bidirectional_bandwidth":
        return ceiling
    # With both directions under way acknowledgements take a part.
    counted = [share for case in best.measurements if (share := acknowledged(case)) is not None]
    return ceiling.subtract_acknowledgements(median(counted)) if counted else ceiling


def is_rdma_on_tcp(subject: Subject, series: Series) -> bool:
    """Check whether RDMA was measured on a network for TCP, whose headers differ."""
    network, foreign = subject.network, series.foreign
    if foreign is None or isinstance(network, Skipped):
        return False
    return foreign.transport == "rdma" and network.technology in OVER_TCP


def _ends(series: Series) -> tuple[str, ...]:
    """Return the nodes at both ends; for an imported log its hosts, or its file if it has none."""
    if not series.source:
        return series.way
    hosts = series.foreign.hosts if series.foreign else ()
    return (*hosts, *series.ends) if hosts else (series.source,)


def _is_tcp(series: Series) -> bool:
    return series.foreign is not None and series.foreign.transport == "tcp"


def _alone(series: Series) -> bool:
    """Check whether one TCP connection made the figure, by iperf's settings or by netperf."""
    foreign = series.foreign
    if foreign is None or not _is_tcp(series):
        return False
    return is_sized_by_call(series) or foreign.settings.get("streams") == "1"
