"""The best sustained bandwidth of each direction against the ceiling."""

import msgspec
import numpy as np

from fabricgauge.evidence.connections import acknowledged
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.measurement import Pattern
from fabricgauge.model.verdict import Outcome, VerdictSubject
from fabricgauge.stats.series import Point, Series
from fabricgauge.words import figures, patterns

STREAMS: tuple[Pattern, ...] = ("bandwidth", "put_bandwidth", "bidirectional_bandwidth")

#: A message this many times a token bucket's burst is sped up by it by 1.6 % at the most.
BURSTS = 64

#: From this rate on one TCP connection, which one processor serves, need not fill a link.
FAST_BIT_S = 25e9

#: Suites whose stream over TCP is one connection, and whose message is what one call sends: TCP
#: fills its segments from many. Theirs count from netperf's usual 16 KiB on.
ONE_CONNECTION = ("netperf", "qperf")
LEAST_CALL_BYTES = 16384


class Stream(msgspec.Struct, frozen=True):
    """A pattern's best point in one direction, and the ceiling that it is held against.

    Bandwidth is per direction for every pattern, as the ceiling is.
    """

    subject: Subject
    ceiling: Ceiling
    series: Series
    best: Point

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
    def launches(self) -> tuple[float, ...]:
        """Each launch's own fraction of the ceiling, in the launches' order."""
        return tuple(
            one.payload_bytes / one.median_s / self.ceiling.payload_bytes_per_s
            for one in self.best.observed
        )

    @property
    def directions(self) -> int:
        """In how many directions bytes moved at once."""
        return 2 if self.series.pattern == "bidirectional_bandwidth" else 1

    @property
    def enough(self) -> str:
        """The name of the threshold from which the stream passes."""
        return "fraction.pass" if self.directions == 1 else "fraction.both_pass"

    @property
    def least(self) -> str:
        """The name of the threshold below which the stream fails."""
        return "fraction.warn" if self.directions == 1 else "fraction.both_warn"

    @property
    def about(self) -> VerdictSubject:
        return msgspec.structs.replace(self.series.about, network=self.subject.name)

    @property
    def sentence(self) -> str:
        return (
            f"{figures.rate(self.best.bandwidth.value)} per direction"
            f" {figures.at(self.best.message_bytes, self.best.sized)}"
            f" ({patterns.sentence(self.series.pattern)})"
            f" = {figures.percent(self.fraction)} of"
            f" {figures.rate(self.ceiling.payload_bytes_per_s)}"
        )


def streams(context: Context, subject: Subject, *patterns: Pattern) -> tuple[Stream, ...]:
    """One stream per direction and pattern with large enough messages and a ceiling.

    What several pairs made together, over nobody knows how many links, is none.
    """
    if isinstance(subject.ceiling, Skipped):
        return ()
    found = []
    for series in subject.of(*(patterns or STREAMS)):
        best = series.best(from_bytes(context, subject.ceiling, series))
        if best is not None and series.links_known and not unlike(subject, series):
            found.append(Stream(subject, _ceiling_of(subject.ceiling, series, best), series, best))
    return tuple(found)


def from_bytes(context: Context, ceiling: Ceiling, series: Series) -> float:
    """The least message that shows a sustained rate.

    A stream empties a token bucket once; to a ping-pong it gives its burst each time.
    """
    least, foreign = context.limit("fraction.from"), series.foreign
    if series.is_latency:
        return max(least, BURSTS * ceiling.burst_bytes)
    by_call = foreign is not None and foreign.suite in ONE_CONNECTION and _is_tcp(series)
    return min(least, LEAST_CALL_BYTES) if by_call else least


def _ceiling_of(ceiling: Ceiling, series: Series, best: Point) -> Ceiling:
    """That of the network, by the RDMA MTU that the log says where nobody stated one.

    It is less what acknowledgements take where both directions are under way.
    """
    said = series.foreign.evidence.mtu_bytes if series.foreign else None
    if limit := ceiling.by_mtu.get(said or 0):
        step = CeilingStep("by the log's own MTU", str(said), limit, "bytes/s per direction")
        steps = (*ceiling.steps, step)
        ceiling = msgspec.structs.replace(ceiling, payload_bytes_per_s=limit, steps=steps)
    if series.pattern != "bidirectional_bandwidth":
        return ceiling
    counted = [share for one in best.measurements if (share := acknowledged(one)) is not None]
    return ceiling.beside_acknowledgements(float(np.median(counted))) if counted else ceiling


def unlike(subject: Subject, series: Series) -> bool:
    """Whether RDMA was measured on what is a network for TCP: other headers."""
    network, foreign = subject.network, series.foreign
    if foreign is None or isinstance(network, Skipped):
        return False
    return foreign.transport == "rdma" and network.technology in ("ethernet", "ipoib")


def decides(context: Context, stream: Stream, all_streams: tuple[Stream, ...]) -> bool:
    """Whether a low figure of this stream counts against the network.

    Both directions at once do not: hosts and acknowledgements share them. Nor does
    MPI_Put or MPI_Get, or a single TCP connection, where others fill the same direction: then it is
    MPI's own path, or one processor's.
    """
    if stream.series.pattern == "bidirectional_bandwidth":
        return False
    if stream.series.pattern == "bandwidth" and not _alone(stream.series):
        return True
    return not any(
        _ends(one.series) == _ends(stream.series)
        and one.series.pattern == "bandwidth"
        and one.fraction >= context.limit("fraction.warn")
        for one in all_streams
    )


def _ends(series: Series) -> tuple[str, ...]:
    """From where to where bytes go: nodes; of others' logs the hosts named there, or themselves."""
    if not series.source:
        ends = series.origin, series.target
        return ends[::-1] if series.pattern == "get_bandwidth" else ends
    hosts = series.foreign.hosts if series.foreign else ()
    return (*hosts, series.origin, series.target) if hosts else (series.source,)


def _is_tcp(series: Series) -> bool:
    return series.foreign is not None and series.foreign.transport == "tcp"


def _alone(series: Series) -> bool:
    """Whether one TCP connection made the figure, as iperf says, and as netperf always does."""
    foreign = series.foreign
    if foreign is None or not _is_tcp(series):
        return False
    return foreign.suite in ONE_CONNECTION or foreign.settings.get("streams") == "1"


def cannot_fill(stream: Stream) -> bool:
    """Whether the stream is one connection on a link so fast that it proves nothing if low."""
    network = stream.subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return False
    return _alone(stream.series) and network.rate_bit_s >= FAST_BIT_S


def plain_outcome(context: Context, stream: Stream) -> Outcome:
    """What the figure, its interval and the launches say by themselves."""
    passing, usable = context.limit(stream.enough), context.limit(stream.least)
    if stream.fraction > 1.0 + context.limit("above-ceiling.tolerance"):
        return Outcome.WARN
    if stream.fraction >= passing:
        steady = stream.low >= usable and min(stream.launches) >= passing
        return Outcome.PASS if steady else Outcome.WARN
    if stream.fraction >= usable:
        return Outcome.WARN
    return Outcome.INCONCLUSIVE if stream.high >= usable else Outcome.FAIL
