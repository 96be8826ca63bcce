"""Buffers on GPUs: what copies between a GPU and its host carry, by the records of placements.

A message that MPI stages is copied from the GPU to host memory, sent from there, and copied to the
other GPU: it cannot be faster than the slowest of the copies, however well they overlap.
"""

from collections.abc import Iterable, Iterator

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.memory import Copy, CopyRates
from fabricgauge.model.run import Launch
from fabricgauge.stats.series import Point, Series, node_of


def copy_rates(launches: Iterable[Launch]) -> dict[str, dict[int, CopyRates]]:
    """By node, then by size in bytes; nodes without copies are left out."""
    found: dict[str, dict[int, CopyRates]] = {}
    for launch in launches:
        for placement in launch.placements:
            for one in placement.copies:
                if min(one.to_device_s, one.to_host_s) <= 0:
                    continue
                sizes = found.setdefault(node_of(launch, placement.rank), {})
                rates = (one.bytes / one.to_device_s, one.bytes / one.to_host_s)
                known = sizes.get(one.bytes, CopyRates(0.0, 0.0))
                best = map(max, rates, (known.to_device, known.to_host))
                sizes[one.bytes] = CopyRates(*best)
    return found


def slowest_copy(
    rates: dict[str, dict[int, CopyRates]], series: Series, best: Point
) -> Copy | None:
    """The slowest copy that the messages of a stream would need if they were staged.

    None for a ping-pong, whose copies and messages take turns, and where no copy was timed.
    """
    if series.is_latency:
        return None
    copies = (copy for one in best.measurements for copy in _needed(series, one, rates))
    return min(copies, key=lambda copy: copy.bytes_per_s, default=None)


def _needed(
    series: Series, one: Measurement, rates: dict[str, dict[int, CopyRates]]
) -> Iterator[Copy]:
    both = series.pattern == "bidirectional_bandwidth"
    for end in one.memory:
        at_origin = end.rank == one.origin
        node = series.origin if at_origin else series.target
        at = rates.get(node, {}).get(one.message_bytes)
        if at is None or end.kind == "host":
            continue
        sends = at_origin != (series.pattern == "get_bandwidth")
        if sends or both:
            yield Copy(node, True, at.to_host)
        if both or not sends:
            yield Copy(node, False, at.to_device)
