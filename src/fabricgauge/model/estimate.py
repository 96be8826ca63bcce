"""A number with its confidence interval, and a curve of such numbers over message size."""

import msgspec

from fabricgauge.model.pattern import Buffers, Pattern


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A median with a two-sided interval at ``confidence``, from ``launches`` launches.

    All three numbers have one unit, seconds or bytes/s; the owner's docstring names it.
    """

    value: float
    low: float
    high: float
    confidence: float
    launches: int
    samples: int

    @property
    def supported(self) -> bool:
        """True if there were enough samples for a meaningful interval.

        Order statistics of five values cover the median with 93.8 %, of four with 87.5 %.
        """
        return self.confidence >= 0.9

    @property
    def half_width(self) -> float:
        """The distance of the farther end from the value, as a share of the value.

        It is 1 if there are too few samples for an interval: the interval is then unknown.
        """
        if self.value <= 0:
            return 0.0
        if not self.supported:
            return 1.0
        return max(self.high - self.value, self.value - self.low) / self.value


class CurvePoint(msgspec.Struct, frozen=True):
    """One message size of a curve, over all launches that measured it.

    ``time`` is seconds per sample: half a round trip for ``latency``, one put with its
    flush for ``put_latency``, one window with its acknowledgement for the bandwidth
    patterns. ``bandwidth`` is bytes/s of payload per direction, for
    ``bidirectional_bandwidth`` the sum of both directions; None for a latency pattern
    and for a message without payload. Percentile, extremes and mean are over all samples of
    all launches, in seconds per sample. ``recheck`` is the time of a second measurement whose
    interval does not overlap that of ``time``: then the first figure was an accident and proves
    nothing.
    """

    message_bytes: int
    window: int
    time: Estimate
    bandwidth: Estimate | None
    p99_s: float
    minimum_s: float
    maximum_s: float
    mean_s: float
    recheck: Estimate | None = None


class Curve(msgspec.Struct, frozen=True):
    """One pattern from one node to another, points in ascending order of size.

    ``network`` is the network that the launches were pinned to, None if MPI chose it.
    ``origin_node`` is the node that sends first (and alone, for ``bandwidth`` and the put
    patterns). ``variant`` distinguishes curves of one pattern: an epoch other than flush
    (``fence``, ``pscw``) or the threads (``4 threads``). ``buffers`` are those of the messages at
    each end.
    """

    network: str | None
    pattern: Pattern
    origin_node: str
    target_node: str
    points: tuple[CurvePoint, ...]
    variant: str = ""
    buffers: Buffers = "fewest"

    @property
    def word(self) -> str:
        """The pattern in the words of a request: ``put_latency:fence``, ``threads_latency:4``."""
        return f"{self.pattern}:{self.variant.split()[0]}" if self.variant else self.pattern
