"""One low figure with all that is known of the hosts behind it, and whether a wire set its pace."""

from collections.abc import Callable, Iterable, Sequence

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


class HostCase(msgspec.Struct, frozen=True):
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

    @property
    def tournaments(self) -> tuple[Measurement, ...]:
        """The cases behind a median over many pairs, in which every rank took part."""
        series, size = self.stream.series, self.stream.best.message_bytes
        if not series.of_pairs:
            return ()
        return tuple(
            one
            for launch in self.stream.subject.launches
            for one in launch.measurements
            if one.pattern == f"all_pairs_{series.pattern}" and one.message_bytes == size
        )

    def limit(self, name: str) -> float:
        return self.context.limit(f"host-limited.{name}")

    def node(self, measurement: Measurement, rank: int) -> str:
        series = self.stream.series
        return series.origin if rank == measurement.origin else series.target


def ranks(case: HostCase) -> Sequence[tuple[str, int]]:
    """Node and rank of both ends, as far as their processor use is known."""
    return sorted({(node, use.rank) for node, use in case.uses})


def medians(
    case: HostCase, share: Callable[[ProcessorUse], float | Skipped]
) -> Iterable[tuple[str, float]]:
    """Node and median share of each rank of which the share was seen."""
    for node, rank in ranks(case):
        each = [share(use) for _, use in case.uses if use.rank == rank]
        if seen := [one for one in each if not isinstance(one, Skipped)]:
            yield node, float(np.median(seen))


def is_wire(case: HostCase) -> bool:
    """As steady as only a wire is, with data under way all the time, whatever the size."""
    steady = relative_half_width(case.stream.best.bandwidth) <= case.limit("steady")
    return steady and busy(case) >= WIRE_BUSY and _is_held(case)


def _is_held(case: HostCase) -> bool:
    """Whether no larger message is surely slower than the figure."""
    best = case.stream.best
    return all(
        point.bandwidth.high >= HELD * best.bandwidth.low
        for point in case.stream.series.points
        if point.message_bytes > best.message_bytes and point.sized
    )


def is_slow_wire(case: HostCase) -> bool:
    """Whether a lower link rate may set the pace: steady, and not just below the ceiling."""
    return case.stream.fraction < NEAREST_RATE and is_wire(case)


def busy(case: HostCase) -> float:
    """Share of the time with data under way from the sender; 1 where it is not known."""
    shares = [share for one in case.measurements if (share := busy_share(one)) is not None]
    return float(np.median(shares)) if shares else 1.0
