"""A pair's tables of sendrecv_perf as rounds of a round robin, as those of all pairs are."""

from collections.abc import Iterable, Iterator

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.together import Round

#: Two sizes tell of a pair: the largest, and the one that is so much smaller.
SMALLER = 16


def rounds_of(curves: Iterable[SuiteCurve]) -> Iterator[Round]:
    """One for each table and size, of two ranks: both send at once, so both ways took one time.

    It is the suite's mean; nothing is known of how its samples scatter.
    """
    for curve in curves:
        if curve.quantity != "time" or curve.ranks == 1:
            continue
        largest = max((one.message_bytes or 0 for one in curve.points), default=0)
        for one in curve.points:
            size, time_ps = one.message_bytes or 0, round(one.estimate.value * 1e12)
            if size and size in (largest, largest // SMALLER) and time_ps > 0:
                yield Round(
                    f"{curve.benchmark}/{size}", 0, 1, size, 1, (0, 1), (1, 0),
                    (one.estimate.samples,) * 2, (time_ps,) * 2, (time_ps,) * 2, (0, 0), 0.0,
                )  # fmt: skip
