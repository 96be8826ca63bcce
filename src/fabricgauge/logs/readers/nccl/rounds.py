"""Turn a pair's tables of sendrecv_perf into rounds, like the round robin's of all pairs."""

from collections.abc import Iterable, Iterator

from fabricgauge.model.measurement import Round
from fabricgauge.model.suite import SuiteCurve

#: Two sizes describe a pair: the largest, and the one that is so much smaller.
SMALLER = 16


def rounds_of(curves: Iterable[SuiteCurve]) -> Iterator[Round]:
    """Yield a round of two ranks for each table and size.

    Both send at once, so both directions took one time. It is the suite's mean; the spread of its
    samples is not known.
    """
    for curve in curves:
        if curve.quantity != "time" or curve.ranks == 1:
            continue
        largest = max((point.message_bytes or 0 for point in curve.points), default=0)
        for point in curve.points:
            size, time_ps = point.message_bytes or 0, round(point.estimate.value * 1e12)
            if size and size in (largest, largest // SMALLER) and time_ps > 0:
                yield Round(
                    f"{curve.benchmark}/{size}", 0, 1, size, 1, (0, 1), (1, 0),
                    (point.estimate.samples,) * 2, (time_ps,) * 2, (time_ps,) * 2, (0, 0), 0.0,
                )  # fmt: skip
