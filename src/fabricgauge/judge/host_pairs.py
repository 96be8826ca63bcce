"""Signs that hosts limit the median over many pairs, which no single pair's case tells of."""

from collections.abc import Iterable

import numpy as np

from fabricgauge.judge.host_case import HostCase, delays
from fabricgauge.judge.wire import is_slow_wire
from fabricgauge.stats.spread import relative_half_width
from fabricgauge.words import figures


def waiting_everywhere(case: HostCase) -> Iterable[str]:
    """Half of the ranks waited for processors: so did about half of the pairs, or more."""
    shares = delays(case.tournaments)
    delay = min(1.0, float(np.median(shares))) if shares else 0.0
    if delay < case.limit("delay") or is_slow_wire(case):
        return
    # Pairs of which both ends wait in turns lose more than the time, but not all alike.
    unsteady = relative_half_width(case.stream.best.bandwidth) > case.context.limit(
        "stability.interval"
    )
    if unsteady or case.stream.fraction >= 0.5 * (1.0 - delay):
        yield (
            "half of the ranks were ready to run but had to wait for a processor for"
            f" {figures.percent(delay)} of the time or more (steal included)"
        )
