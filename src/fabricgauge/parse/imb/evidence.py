"""What one row tells of its unit: bandwidth beside the time or the message rate."""

import math

import msgspec

from fabricgauge.parse.imb.benchmarks import Benchmark
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
    bandwidth, rate = row.words.get("bandwidth", ""), row.words.get("rate", "")
    time = row.words.get("time") or row.words.get("most", "")
    if row.trouble is not None or not row.size or not _is_figure(bandwidth):
        return None
    if rate:
        known = part != "MT" and _is_figure(rate)
        return of_rate(bandwidth, row.size, rate) if known else None
    if not benchmark.counted or not _is_figure(time) or float(time) == 0.0:
        return None
    return of_time(bandwidth, benchmark.counted * row.size, time)


def _is_figure(word: str) -> bool:
    return bool(word) and math.isfinite(float(word)) and float(word) >= 0


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
    half = 0.5 * 0.1 ** len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half
