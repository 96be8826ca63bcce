"""One low figure with all that is known of the hosts behind it."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.interface import Context
from fabricgauge.judge.streams import Stream
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.run import Around, Launch
from fabricgauge.stats.series import node_of


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


def delays(measurements: Iterable[Measurement], rank: int | None = None) -> list[float]:
    """Share of each case's time that a rank, or each of them, waited for a processor.

    Of a rank with several threads it is their mean. Steal is counted as waiting as well:
    nobody told the node's kernel of it. Where only one of the two was seen, it is the least
    that a rank waited; a case in which neither was seen has no share.
    """
    return [
        sum(shares)
        for one in measurements
        for use in one.processors
        if rank in (None, use.rank) and one.wall_s > 0 and (shares := _waited(one, use))
    ]


def _waited(one: Measurement, use: ProcessorUse) -> list[float]:
    own = use.run_delay_s
    shares = [] if isinstance(own, Skipped) else [own / (one.wall_s * one.threads)]
    steal = use.node_steal_share
    return shares if isinstance(steal, Skipped) else [*shares, steal]


def unseen_delays(measurements: Iterable[Measurement]) -> str:
    """A sentence on ranks whose waiting for processors was not seen; empty if there are none."""
    found = {
        use.rank: use.run_delay_s.reason
        for one in measurements
        for use in one.processors
        if isinstance(use.run_delay_s, Skipped)
    }
    if not found:
        return ""
    rank, reason = min(found.items())
    others = f" (nor of {len(found) - 1} other ranks)" if len(found) > 1 else ""
    return f"whether rank {rank} waited for a processor could not be seen{others}: {reason}"


def medians(
    case: HostCase, share: Callable[[ProcessorUse], float | Skipped]
) -> Iterable[tuple[str, float]]:
    """Node and median share of each rank of which the share was seen."""
    for node, rank in ranks(case):
        each = [share(use) for _, use in case.uses if use.rank == rank]
        if seen := [one for one in each if not isinstance(one, Skipped)]:
            yield node, float(np.median(seen))
