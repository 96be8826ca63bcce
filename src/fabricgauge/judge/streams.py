"""The best sustained bandwidth of each direction against the ceiling."""

import msgspec

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.measurement import Pattern
from fabricgauge.model.verdict import Outcome
from fabricgauge.stats.series import Point, Series

STREAMS: tuple[Pattern, ...] = ("bandwidth", "put_bandwidth", "bidirectional_bandwidth")


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
    def directions(self) -> int:
        """In how many directions bytes moved at once."""
        return 2 if self.series.pattern == "bidirectional_bandwidth" else 1

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
    def name(self) -> str:
        return f"{self.subject.name}, {self.series.name}"

    @property
    def sentence(self) -> str:
        return (
            f"{wording.rate(self.best.bandwidth.value)} per direction"
            f" {wording.at(self.best.message_bytes, self.best.sized)}"
            f" ({wording.PATTERNS[self.series.pattern]})"
            f" = {wording.percent(self.fraction)} of"
            f" {wording.rate(self.ceiling.payload_bytes_per_s)}"
        )


def streams(context: Context, subject: Subject, *patterns: Pattern) -> tuple[Stream, ...]:
    """One stream per direction and pattern with large enough messages and a ceiling."""
    if isinstance(subject.ceiling, Skipped):
        return ()
    found = []
    for series in subject.of(*(patterns or STREAMS)):
        best = series.best(_from_bytes(context, subject.ceiling, series))
        if best is not None:
            found.append(Stream(subject, subject.ceiling, series, best))
    return tuple(found)


#: A message this many times a token bucket's burst is sped up by it by 1.6 % at the most.
BURSTS = 64


def _from_bytes(context: Context, ceiling: Ceiling, series: Series) -> float:
    """The least message that shows a sustained rate.

    A stream empties a token bucket once; to a ping-pong it gives its burst each time.
    """
    least = context.limit("fraction.from")
    return max(least, BURSTS * ceiling.burst_bytes) if series.is_latency else least


def decides(context: Context, stream: Stream, all_streams: tuple[Stream, ...]) -> bool:
    """Whether a low figure of this stream counts against the network.

    Both directions at once do not: hosts and acknowledgements share them. Nor does
    MPI_Put where plain messages fill the same direction: then it is MPI's own path.
    """
    if stream.series.pattern == "bidirectional_bandwidth":
        return False
    ends = (stream.series.origin, stream.series.target)
    return stream.series.pattern == "bandwidth" or not any(
        (one.series.origin, one.series.target) == ends
        and one.series.pattern == "bandwidth"
        and one.fraction >= context.limit("fraction.warn")
        for one in all_streams
    )


def plain_outcome(context: Context, stream: Stream) -> Outcome:
    """What the figure, its interval and the launches say by themselves."""
    enough, least = context.limit("fraction.pass"), context.limit("fraction.warn")
    if stream.fraction >= enough:
        steady = stream.low >= least and min(stream.launches) >= enough
        return Outcome.PASS if steady else Outcome.WARN
    if stream.fraction >= least:
        return Outcome.WARN
    return Outcome.INCONCLUSIVE if stream.high >= least else Outcome.FAIL
