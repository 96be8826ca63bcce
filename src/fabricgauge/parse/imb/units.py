"""Whether ``Mbytes/sec`` of a table counts 10^6 or 2^20 bytes.

Up to IMB 2017 it is 2^20, from 2018 on 10^6 (``MEGA`` in IMB_output.c of 4.0.0, 2017 and
2018; "bandwidth = X / 1.048576 / T" against "X / T" in the "Output" chapter of the user
guides). IMB-P2P and IMB-MT are younger than that (2019). The rows themselves tell as well.

What one row tells of its unit: bandwidth beside the time or the message rate.
"""

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from fabricgauge.parse.imb.benchmarks import ImbBenchmark
from fabricgauge.parse.imb.rows import ImbRow, Role
from fabricgauge.parse.rows import Rows

_SMALLEST_TIME_US = 1e-9


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """Least and most of the bandwidth as printed, and of the bytes/s that its row tells."""

    printed: tuple[float, float]
    told: tuple[float, float]

    def allows(self, megabyte: float) -> bool:
        """Whether rounding alone can explain the difference."""
        low, high = self.printed
        return low * megabyte <= self.told[1] and self.told[0] <= high * megabyte


def evidence_of(row: ImbRow, benchmark: ImbBenchmark, part: str) -> Evidence | None:
    """What the row tells; None if nothing."""
    words, figures = row.words, row.figures
    by = _telling(tuple(figures), benchmark, part)
    if by is None or not row.size or not _is_figure(figures["bandwidth"]):
        return None
    known = _is_figure(figures[by]) and (by == "rate" or figures[by] != 0.0)
    return _told(words["bandwidth"], row.size, by, words[by], benchmark) if known else None


def evidence_in(
    rows: Rows, roles: tuple[Role, ...], benchmark: ImbBenchmark, part: str
) -> list[Evidence | None]:
    """What each of many plain rows tells."""
    by = _telling(roles, benchmark, part)
    if by is None or "size" not in roles:
        return [None] * rows.count
    columns = (rows.column(roles.index(role)) for role in ("size", "bandwidth", by))
    return [
        _told(bandwidth, int(size), by, word, benchmark)
        if size != "0" and (by == "rate" or float(word))
        else None
        for size, bandwidth, word in zip(*columns, strict=True)
    ]


def _telling(roles: Sequence[Role], benchmark: ImbBenchmark, part: str) -> Role | None:
    """The column that tells the unit beside the bandwidth's.

    The message rate goes before the time: IMB-P2P's bandwidth is over the slowest rank's
    time and its time the mean. IMB-MT has the message rate over the mean instead.
    """
    if "bandwidth" not in roles or ("rate" in roles and part == "MT"):
        return None
    if "rate" in roles:
        return "rate"
    by: Role = "time" if "time" in roles else "most"
    return by if benchmark.counted and by in roles else None


def _told(bandwidth: str, size: int, by: Role, word: str, benchmark: ImbBenchmark) -> Evidence:
    if by == "rate":
        return of_rate(bandwidth, size, word)
    return of_time(bandwidth, benchmark.counted * size, word)


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
    value, half = float(printed), _HALVES[len(printed.partition(".")[2])]
    return value - half, value + half


#: Half of the last digit's worth, by the number of decimals.
_HALVES = tuple(0.5 * 0.1**decimals for decimals in range(64))


DECIMAL = 1e6
BINARY = float(1 << 20)
_FIRST_DECIMAL = 2018
_YOUNG_PARTS = frozenset({"P2P", "MT"})
_YEAR = re.compile(r"\d{1,4}", re.ASCII)


class Megabyte(msgspec.Struct, frozen=True):
    """The unit found, and how; ``against`` is what spoke against it, empty if nothing did.

    ``by_rows`` tells that the rows' own arithmetic gives it.
    """

    bytes: float
    rule: str
    against: str = ""
    by_rows: bool = False


def megabyte_of(version: str, part: str, rows: Iterable[Evidence]) -> Megabyte:
    """The unit by the rows' own arithmetic if they tell, else by version, else 10^6."""
    told, by = _of_version(version, part)
    found = _of_rows(rows)
    if found is None:
        if told is None:
            rule = f"{_name(DECIMAL)} (assumed: neither a version nor the rows tell)"
            return Megabyte(DECIMAL, rule, "a version of IMB, which tells what MB stands for")
        return Megabyte(told, f"{_name(told)} ({by})")
    if told is None:
        rule = f"{_name(found)} (found from the rows, no version is told)"
        return Megabyte(found, rule, by_rows=True)
    if told == found:
        return Megabyte(found, f"{_name(found)} ({by}, and the rows agree)", by_rows=True)
    against = f"{_name(told)}, as {by} counts; the rows count {_name(found)}"
    rule = f"{_name(found)} (found from the rows, against {by})"
    return Megabyte(found, rule, against, by_rows=True)


def _name(megabyte: float) -> str:
    return "MB = 10^6 bytes" if megabyte == DECIMAL else "MB = 2^20 bytes"


def _of_version(version: str, part: str) -> tuple[float | None, str]:
    year = _YEAR.match(version)
    if year is not None:
        found = DECIMAL if int(year[0]) >= _FIRST_DECIMAL else BINARY
        return found, f"IMB {version}"
    if part in _YOUNG_PARTS:
        return DECIMAL, f"IMB-{part}"
    return None, ""


def _of_rows(rows: Iterable[Evidence]) -> float | None:
    """The unit that more than half of the rows which tell at all agree on."""
    decimal = binary = neither = 0
    for row in rows:
        is_decimal, is_binary = row.allows(DECIMAL), row.allows(BINARY)
        decimal += is_decimal and not is_binary
        binary += is_binary and not is_decimal
        neither += not is_binary and not is_decimal
    if decimal > binary + neither:
        return DECIMAL
    return BINARY if binary > decimal + neither else None
