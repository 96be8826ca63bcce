"""Whether other work on the hosts accounts for pairs that are slower than good ones beside them."""

from collections.abc import Iterable, Sequence

import numpy as np

from fabricgauge.judge.causes import proved
from fabricgauge.judge.host_case import HostCase, delays, ranks, unseen_delays
from fabricgauge.judge.wire import is_slow_wire
from fabricgauge.words import figures


def waiting_beside(own: Sequence[HostCase], good: Sequence[HostCase], left: float) -> Iterable[str]:
    """Waiting for processors slowed at least half of the accused pairs ``own``.

    ``left`` is how fast they are, a share of how fast the pairs ``good`` are, which wait as
    well where all hosts are busy. A pair with a fault that shows by itself, or as steady as
    only a wire is, is not excused.
    """
    usual = float(np.median([_longest(case)[0] for case in good])) if good else 0.0
    excused = [case for case in own if _accounts(case, usual, left)]
    if not excused or 2 * len(excused) < len(own):
        yield from _unseen(own)
        return
    share, node = max(map(_longest, excused))
    yield (
        f"a rank on {node} was ready to run but had to wait for a processor for"
        f" {figures.percent(share)} of the time (steal included), those of good pairs for"
        f" {figures.percent(usual)}"
    )


def _unseen(own: Sequence[HostCase]) -> Iterable[str]:
    """Waiting that cannot be seen may account for anything but what is shown otherwise."""
    shown = [case for case in own if _is_wire(case) or any(proved(case.context, case.stream, True))]
    unseen = unseen_delays(one for case in own for one in case.measurements)
    if unseen and 2 * len(shown) < len(own):
        yield unseen


def _is_wire(case: HostCase) -> bool:
    return not case.stream.series.is_latency and is_slow_wire(case)


def _accounts(case: HostCase, usual: float, left: float) -> bool:
    delay, _ = _longest(case)
    if delay < case.limit("delay") or _is_wire(case):
        return False
    # Half as slow again as the lost time, as of a figure alone: more has another cause.
    expected = min(1.0, (1.0 - delay) / (1.0 - usual)) if usual < 1.0 else 1.0
    return left >= 0.5 * expected and not any(proved(case.context, case.stream, True))


def _longest(case: HostCase) -> tuple[float, str]:
    """Share of the time that the end which waited longest did so, and its node."""
    waited = [
        (min(1.0, float(np.median(shares))), node)
        for node, rank in ranks(case)
        if (shares := delays(case.measurements, rank))
    ]
    return max(waited, default=(0.0, ""))
