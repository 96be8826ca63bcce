"""Find outages and changes of rate in a log's intervals: those of iperf, the periods of perftest.

Rows of one size are perftest's periods under ``--run_infinitely``; the log has no times of them.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, compress, takewhile
from statistics import median

import msgspec

from fabricgauge.judge.stats.levels import APART, FEWEST, find_levels
from fabricgauge.judge.streams import Stream
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words import figures, sentences

LEVEL_CAUSE = (
    "a link that renegotiates its rate, a rail or path that comes and goes, a shaper, or a node"
    " that is throttled"
)
LEVEL_REMEDY = (
    "check the kernel's log and carrier_changes of both ends, and the switch port's log; exchange"
    " the cable; look for rate limits (tc qdisc), and check the processors' temperature"
)
STALL_CAUSE = (
    "the path fails for moments: a port that flaps, a bond or a route that changes over, or a"
    " switch that relearns addresses"
)

#: The name of the limit of the lower level, as a share of the higher one.
LEVEL = "stability.level"

#: An interval below half of the longest is the rest of a test and does not show the rate.
_SHORT = 0.5
#: TCP starts slowly: so many first intervals may be low, and at most this part of the test.
_FIRST, _FIRST_PART = 3, 1 / 3
#: An interval below this share of the usual rate is an outage, if usual ones carry so many bytes:
#: a sender counts what it hands to its buffer, which takes up to 4 MB at once (tcp_wmem).
_SILENT, _LEAST_BYTES = 0.01, 8 << 20
#: Each side of a single step has at least this part of the intervals.
_SIDE = 0.2
#: Fewer rows of one size may be two runs.
_FEWEST_PERIODS = 3


class UnsteadyRate(msgspec.Struct, frozen=True):
    """Outages, or a change between two levels, in bytes/s of the curve.

    ``slow`` is the share of intervals below, ``silent_s`` the time of outages, 0 for a change, and
    ``full`` is true if the higher rate fills the network.
    """

    low: float
    high: float
    slow: float
    sentence: str
    silent_s: float = 0.0
    full: bool = False

    @property
    def cause(self) -> str:
        return STALL_CAUSE if self.silent_s else LEVEL_CAUSE


def find_unsteady(stream: Stream) -> UnsteadyRate | None:
    """Return the change of rate, or else the outages, that a log's intervals show.

    Few intervals scatter. They count if the higher rate fills the network.
    """
    curve = stream.series.foreign
    rows = _intervals(curve) if curve else ()
    usual = median([rate for _, rate in rows if rate > 0] or [0.0])
    first = len([*takewhile(lambda row: row[1] < APART * usual, rows)])
    if first <= min(_FIRST, _FIRST_PART * len(rows)):
        rows = rows[first:]
    if curve is None or stream.is_above or len(rows) < 2:
        return None
    is_silent = [
        rate < _SILENT * usual and seconds * usual >= _LEAST_BYTES for seconds, rate in rows
    ]
    carrying = [
        row for row, silent in zip(rows, is_silent, strict=True) if row[1] > 0 and not silent
    ]
    # The last interval alone may be the end of the test.
    is_silent[-1] = is_silent[-1] and is_silent[-2]
    outages = [*compress([seconds for seconds, _ in rows], is_silent)]
    change = _change(carrying) or (_outages(outages, rows, usual) if outages else None)
    links = curve.directions * curve.max_links(stream.series.hosts)
    full = links * stream.ceiling.payload_bytes_per_s * stream.limit("fraction.warn")
    if change is None or change.low >= stream.limit(LEVEL) * change.high:
        return None
    if len(rows) < FEWEST and change.high < full:
        return None
    return msgspec.structs.replace(change, full=change.high >= full)


def _intervals(curve: SuiteCurve) -> Sequence[tuple[float, float]]:
    """Return seconds and bytes/s of each interval in time order; seconds are 0 if unknown."""
    periods = [(0.0, point.estimate.value) for point in curve.points]
    of_one_size = curve.suite == "perftest" and len({p.message_bytes for p in curve.points}) == 1
    if of_one_size and curve.quantity == "bandwidth" and len(periods) >= _FEWEST_PERIODS:
        return periods
    rows = [row for row in curve.evidence.intervals if all(map(math.isfinite, row))]
    longest = max((seconds for seconds, _ in rows), default=0.0)
    return [row for row in rows if row[0] >= _SHORT * longest]


def _outages(
    outages: Sequence[float], rows: Sequence[tuple[float, float]], usual: float
) -> UnsteadyRate:
    whole_s, silent_s = sum(seconds for seconds, _ in rows), sum(outages)
    sentence = (
        f"nothing passed in {sentences.counted(len(outages), 'interval')}"
        f" ({figures.duration(silent_s)} of {figures.duration(whole_s)}), {figures.rate(usual)} in"
        " the others"
    )
    return UnsteadyRate(0.0, usual, silent_s / whole_s, sentence, silent_s)


def _change(rows: Sequence[tuple[float, float]]) -> UnsteadyRate | None:
    """Return the two levels between which the rate changes, many times or once."""
    rates = [rate for _, rate in rows]
    if levels := find_levels(rates):
        low, high, limit = levels.low, levels.high, levels.middle
    elif step := _find_step(rates):
        lower, upper = sorted((rates[:step], rates[step:]))
        low, high, limit = median(lower), median(upper), min(upper)
    else:
        return None
    is_low = [rate < limit for rate in rates]
    changes = [n for n in range(1, len(rates)) if is_low[n] != is_low[n - 1]]
    slow = sum(is_low) / len(rates)
    between = f"{figures.rate(low)} and {figures.rate(high)}"
    sentence = (
        f"the rate changes {len(changes)} times between {between}"
        f" ({figures.percent(slow)} of the intervals slow)"
    )
    if len(changes) == 1:
        ends = (high, low) if is_low[-1] else (low, high)
        sentence = (
            f"the rate {'fell' if is_low[-1] else 'rose'} from {figures.rate(ends[0])} to"
            f" {figures.rate(ends[1])} {_after(rows, changes[0])}"
        )
    return UnsteadyRate(low, high, slow, sentence)


def _after(rows: Sequence[tuple[float, float]], count: int) -> str:
    before_s, whole_s = (sum(seconds for seconds, _ in part) for part in (rows[:count], rows))
    if whole_s <= 0:
        return f"after {sentences.counted(count, 'row')} of {len(rows)}"
    return f"after {figures.duration(before_s)} of {figures.duration(whole_s)}"


def _find_step(rates: Sequence[float]) -> int:
    """Return the number of rates before the only step; 0 if there is none."""
    side = math.ceil(_SIDE * len(rates))
    before = [*zip(accumulate(rates, min), accumulate(rates, max), strict=True)]
    after = [*zip(accumulate(rates[::-1], min), accumulate(rates[::-1], max), strict=True)][::-1]
    for count in range(side, len(rates) - side + 1):
        (least, most), (later_least, later_most) = before[count - 1], after[count]
        if later_most < APART * least or most < APART * later_least:
            return count
    return 0
