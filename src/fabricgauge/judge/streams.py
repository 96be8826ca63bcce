"""The best sustained bandwidth of each direction against the ceiling."""

import msgspec

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.measurement import Pattern
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
    def low(self) -> float:
        return self.best.bandwidth.low / self.ceiling.payload_bytes_per_s

    @property
    def high(self) -> float:
        return self.best.bandwidth.high / self.ceiling.payload_bytes_per_s

    @property
    def launches(self) -> tuple[float, ...]:
        """Each launch's own fraction of the ceiling, in the launches' order."""
        return tuple(
            one.measurement.sample_payload_bytes
            / one.times.median_s
            / self.ceiling.payload_bytes_per_s
            for one in self.best.observed
        )

    @property
    def name(self) -> str:
        direction = wording.direction(self.series.origin, self.series.target)
        return f"{self.subject.name}, {direction}"

    @property
    def sentence(self) -> str:
        return (
            f"{wording.rate(self.best.bandwidth.value)} per direction at"
            f" {wording.size(self.best.message_bytes)} ({wording.PATTERNS[self.series.pattern]})"
            f" = {wording.percent(self.fraction)} of"
            f" {wording.rate(self.ceiling.payload_bytes_per_s)}"
        )


def streams(context: Context, subject: Subject, *patterns: Pattern) -> tuple[Stream, ...]:
    """One stream per direction and pattern with large enough messages and a ceiling."""
    if isinstance(subject.ceiling, Skipped):
        return ()
    found = []
    for series in subject.of(*(patterns or STREAMS)):
        best = series.best(context.limit("fraction.from"))
        if best is not None:
            found.append(Stream(subject, subject.ceiling, series, best))
    return tuple(found)
