"""One low figure with all that is known of the hosts behind it, and whether a wire set its pace."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from fabricgauge.evidence.connections import busy_share
from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.run import Around, Launch
from fabricgauge.stats.launches import relative_half_width
from fabricgauge.stats.series import node_of

#: Share of the time with data under way at which a sender keeps a link full.
WIRE_BUSY = 0.9

#: A little above the share that the nearest standard rate below another has: 40 of 50 Gb/s.
NEAREST_RATE = 0.85

#: A wire carries large messages at least as well as smaller ones; a host's caches do not.
HELD = 0.9

#: What of a node's processors is looked at, by its name in ``ProcessorUse``.
Share = Literal[
    "busiest_softirq_share", "node_idle_share", "node_softirq_share", "node_steal_share"
]


class HostCase(msgspec.Struct, frozen=True):
    """One low figure, with the limits that apply."""

    context: Context
    stream: Stream

    def limit(self, name: str) -> float:
        return self.context.limit(f"host-limited.{name}")

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.stream.best.measurements

    @property
    def uses(self) -> Iterator[tuple[str, ProcessorUse]]:
        """Node and processors of both ends in the cases behind the figure.

        Of another suite's programs only those of the whole launch are known.
        """
        series = self.stream.series
        for one in self.measurements:
            for use in one.processors:
                if use.rank in (one.origin, one.target):
                    yield series.origin if use.rank == one.origin else series.target, use
        for launch, around in self.surrounded:
            yield from ((node_of(launch, use.rank), use) for use in around.processors)

    @property
    def ranks(self) -> Sequence[tuple[str, int]]:
        """Node and rank of both ends, as far as their processor use is known."""
        return sorted({(node, use.rank) for node, use in self.uses})

    @property
    def surrounded(self) -> tuple[tuple[Launch, Around], ...]:
        """Launches of another suite behind the figure, with what was read around each."""
        numbers = {one.launch for one in self.stream.best.observed if one.measurement is None}
        return tuple(
            (launch, launch.around)
            for launch in self.stream.subject.launches
            if launch.number in numbers and launch.around is not None
        )

    @property
    def tournaments(self) -> tuple[Measurement, ...]:
        """The cases behind a median over many pairs, in which every rank took part."""
        series, size = self.stream.series, self.stream.best.message_bytes
        return tuple(
            one
            for launch in (self.stream.subject.launches if series.of_pairs else ())
            for one in launch.measurements
            if one.pattern == f"all_pairs_{series.pattern}" and one.message_bytes == size
        )

    def medians(self, share: Share) -> Iterable[tuple[str, float]]:
        """Node and median of the share, of each rank of which it was seen."""
        for node, rank in self.ranks:
            each = [getattr(use, share) for _, use in self.uses if use.rank == rank]
            if seen := [one for one in each if not isinstance(one, Skipped)]:
                yield node, float(np.median(seen))

    @property
    def busy(self) -> float:
        """Share of the time with data under way from the sender; 1 where it is not known."""
        shares = [share for one in self.measurements if (share := busy_share(one)) is not None]
        return float(np.median(shares)) if shares else 1.0

    @property
    def steady(self) -> bool:
        return relative_half_width(self.stream.best.bandwidth) <= self.limit("steady")

    @property
    def is_wire(self) -> bool:
        """As steady as only a wire is, with data under way all the time, whatever the size.

        No larger message is surely slower than the figure.
        """
        best = self.stream.best
        held = all(
            point.bandwidth.high >= HELD * best.bandwidth.low
            for point in self.stream.series.points
            if point.message_bytes > best.message_bytes and point.sized
        )
        return held and self.steady and self.busy >= WIRE_BUSY

    @property
    def is_slow_wire(self) -> bool:
        """Whether a lower link rate may set the pace: steady, and not just below the ceiling."""
        return self.stream.fraction < NEAREST_RATE and self.is_wire
