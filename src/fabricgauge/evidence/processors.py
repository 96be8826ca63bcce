"""What the processors of a case's nodes did: waiting ranks, and what could not be seen."""

from collections.abc import Iterable

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement, ProcessorUse


def waits(measurements: Iterable[Measurement], rank: int | None = None) -> list[float]:
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


def unseen_waits(measurements: Iterable[Measurement]) -> str:
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
