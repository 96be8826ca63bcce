"""How steady an estimate is: its interval, its launches, its tail."""

from collections.abc import Sequence

from fabricgauge.model.estimate import Estimate
from fabricgauge.stats.launches import Observed, launch_medians


def relative_half_width(estimate: Estimate) -> float:
    """The farther end's distance from the value, as a share of the value.

    1 where too few samples were taken for an interval: then nothing is known of it.
    """
    if estimate.value <= 0:
        return 0.0
    if not estimate.supported:
        return 1.0
    return max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value


def launch_spread(observed: Sequence[Observed]) -> float:
    """Slowest launch's median over the fastest's, less 1; 0 for a single launch."""
    medians = launch_medians(observed)
    return max(medians) / min(medians) - 1.0


def tail_ratio(observed: Sequence[Observed]) -> float:
    """The worst launch's 99th percentile as a multiple of its median; 1 where none is known."""
    known = [one.p99_s / one.median_s for one in observed if one.p99_s is not None]
    return max(known, default=1.0)
