"""Is a figure as steady as only a wire is?"""

from collections.abc import Iterable

import numpy as np

from fabricgauge.judge.host_case import HostCase
from fabricgauge.model.measurement import Measurement
from fabricgauge.stats.spread import relative_half_width

#: Share of the time with data under way at which a sender keeps a link full.
WIRE_BUSY = 0.9

#: A little above the share that the nearest standard rate below another has: 40 of 50 Gb/s.
NEAREST_RATE = 0.85


#: A wire carries large messages at least as well as smaller ones; a host's caches do not.
HELD = 0.9


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
    shares = [share for one in case.measurements for share in _busy_share(one)]
    return float(np.median(shares)) if shares else 1.0


def _busy_share(measurement: Measurement) -> Iterable[float]:
    if measurement.data_check.requested:  # filling and comparing take time of their own
        return
    connections = measurement.sockets_of(measurement.origin)
    busy_s = sum(one.busy_s for one in connections if one.sent_bytes > 0)
    if busy_s > 0 and measurement.wall_s > 0:
        yield busy_s / measurement.wall_s
