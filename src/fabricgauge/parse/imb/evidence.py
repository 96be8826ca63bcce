"""What one row tells of its unit: bandwidth beside the time or the message rate."""

import math

import msgspec

from fabricgauge.parse.imb.benchmarks import Benchmark
from fabricgauge.parse.imb.layout import Role
from fabricgauge.parse.imb.rows import Row

_SMALLEST_TIME_US = 1e-9


class Evidence(msgspec.Struct, frozen=True):
    """Least and most of the bandwidth as printed, and of the bytes/s that its row tells."""

    printed: tuple[float, float]
    told: tuple[float, float]

    def allows(self, megabyte: float) -> bool:
        """Whether rounding alone can explain the difference."""
        low, high = self.printed
        return low * megabyte <= self.told[1] and self.told[0] <= high * megabyte


def evidence_of(row: Row, benchmark: Benchmark, part: str) -> Evidence | None:
    """What the row tells; None if nothing.

    The message rate goes before the time: IMB-P2P's bandwidth is over the slowest rank's
    time and its time the mean. IMB-MT has the message rate over the mean instead.
    """
    words, figures = row.words, row.figures
    if not row.size or not _is_figure(figures.get("bandwidth", -1.0)):
        return None
    if "rate" in figures:
        known = part != "MT" and _is_figure(figures["rate"])
        return of_rate(words["bandwidth"], row.size, words["rate"]) if known else None
    time: Role = "time" if "time" in figures else "most"
    if not benchmark.counted or figures.get(time) == 0.0 or not _is_figure(figures.get(time, -1.0)):
        return None
    return of_time(words["bandwidth"], benchmark.counted * row.size, words[time])


def _is_figure(value: float) -> bool:
    return 0.0 <= value < math.inf


def of_time(bandwidth: str, counted_bytes: int, time_us: str) -> Evidence:
    """Evidence of a time in which that many bytes moved."""
    low, high = _span(time_us)
    micro = counted_bytes * 1e6
    told = (micro / max(high, _SMALLEST_TIME_US), micro / max(low, _SMALLEST_TIME_US))
    return Evidence(_span(bandwidth), told)


def of_rate(bandwidth: str, message_bytes: int, rate: str) -> Evidence:
    """Evidence of a message rate."""
    low, high = _span(rate)
    return Evidence(_span(bandwidth), (low * message_bytes, high * message_bytes))


def _span(printed: str) -> tuple[float, float]:
    """What a number may have been before it was rounded to its printed decimals."""
    value, half = float(printed), 0.5 * 0.1 ** len(printed.partition(".")[2])
    return value - half, value + half
