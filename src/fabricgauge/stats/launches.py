"""From the launches' own medians and intervals to one estimate, and how steady it is.

Launches differ by more than the samples within one do, and a run has too few of
them for an interval of their own. The estimate is therefore the median of the
launches' medians, and its interval is the hull of the launches' intervals: it is
wider than it need be, never narrower.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Measurement


class Observed(msgspec.Struct, frozen=True):
    """One usable measurement of one launch: seconds per sample, and what a sample carries.

    ``median_s`` is the mean where another suite says nothing else; then ``confidence`` is
    0 and the interval has no width. ``p99_s`` is None where it is not known.
    ``measurement`` is None for another suite's figure.
    """

    launch: int
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    samples: int
    payload_bytes: float
    p99_s: float | None
    measurement: Measurement | None


def usable_of(launch: int, measurements: Iterable[Measurement]) -> Iterator[Observed]:
    """Those that ended well, with times that are positive, finite and in order."""
    for one in measurements:
        times = one.times
        if one.status != "ok" or times is None or one.samples < 1:
            continue
        numbers = (times.low_s, times.median_s, times.high_s)
        fine = all(math.isfinite(number) and number > 0 for number in numbers)
        if fine and times.low_s <= times.high_s:
            yield Observed(
                launch, times.median_s, times.low_s, times.high_s, times.confidence, one.samples,
                one.sample_payload_bytes, times.p99_s, one,
            )  # fmt: skip


def time_estimate(observed: Sequence[Observed]) -> Estimate:
    """Seconds per sample over at least one usable measurement of the same case."""
    return Estimate(
        value=float(np.median([one.median_s for one in observed])),
        low=min(min(one.low_s, one.median_s) for one in observed),
        high=max(max(one.high_s, one.median_s) for one in observed),
        confidence=min(one.confidence for one in observed),
        launches=len({one.launch for one in observed}),
        samples=sum(one.samples for one in observed),
    )


def bandwidth_estimate(observed: Sequence[Observed]) -> Estimate:
    """Payload bytes/s per direction; a time's upper end gives the lower end here."""
    time = time_estimate(observed)
    payload = [one.payload_bytes for one in observed]
    return msgspec.structs.replace(
        time,
        value=float(np.median([one.payload_bytes / one.median_s for one in observed])),
        low=min(payload) / time.high,
        high=max(payload) / time.low,
    )


def relative_half_width(estimate: Estimate) -> float:
    """The farther end's distance from the value, as a share of the value.

    1 where too few samples were taken for an interval: then nothing is known of it.
    """
    if estimate.value <= 0:
        return 0.0
    if not estimate.supported:
        return 1.0
    return max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value


def launch_medians(observed: Iterable[Observed]) -> tuple[float, ...]:
    """Median seconds per sample of each launch, in the launches' order."""
    by_launch: dict[int, list[float]] = {}
    for one in observed:
        by_launch.setdefault(one.launch, []).append(one.median_s)
    return tuple(float(np.median(by_launch[launch])) for launch in sorted(by_launch))


def launch_spread(observed: Sequence[Observed]) -> float:
    """Slowest launch's median over the fastest's, less 1; 0 for a single launch."""
    medians = launch_medians(observed)
    return max(medians) / min(medians) - 1.0


def tail_ratio(observed: Sequence[Observed]) -> float:
    """The worst launch's 99th percentile as a multiple of its median; 1 where none is known."""
    known = [one.p99_s / one.median_s for one in observed if one.p99_s is not None]
    return max(known, default=1.0)
