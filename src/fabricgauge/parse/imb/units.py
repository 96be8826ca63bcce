"""Whether ``Mbytes/sec`` of a table counts 10^6 or 2^20 bytes.

Up to IMB 2017 it is 2^20, from 2018 on 10^6 (``MEGA`` in IMB_output.c of 4.0.0, 2017 and
2018; "bandwidth = X / 1.048576 / T" against "X / T" in the "Output" chapter of the user
guides). IMB-P2P and IMB-MT are younger than that (2019). The rows themselves tell as well.

What one row tells of its unit: bandwidth beside the time or the message rate.
"""

import math
import re
from collections.abc import Sequence

import msgspec

from fabricgauge.parse.imb.benchmarks import ImbBenchmark
from fabricgauge.parse.imb.rows import ImbRow, Role
from fabricgauge.parse.rows import Rows

_SMALLEST_TIME_US = 1e-9


#: What MB may stand for by one row; rounding alone can explain the difference.
Allowed = frozenset[float]

DECIMAL = 1e6
BINARY = float(1 << 20)
_NEITHER: Allowed = frozenset()
_BOTH = frozenset({DECIMAL, BINARY})
_ONLY_DECIMAL, _ONLY_BINARY = frozenset({DECIMAL}), frozenset({BINARY})


def evidence_of(row: ImbRow, benchmark: ImbBenchmark, part: str) -> Allowed | None:
    """What the row tells; None if nothing."""
    words, figures = row.words, row.figures
    by = _telling(tuple(figures), benchmark, part)
    if by is None or not row.size or not _is_figure(figures["bandwidth"]):
        return None
    if not _is_figure(figures[by]) or (by != "rate" and figures[by] == 0.0):
        return None
    return _allowed(
        row.size, figures["bandwidth"], _half(words["bandwidth"]), figures[by], _half(words[by]),
        0 if by == "rate" else benchmark.counted,
    )  # fmt: skip


def evidence_in(
    rows: Rows, roles: tuple[Role, ...], benchmark: ImbBenchmark, part: str
) -> list[Allowed | None]:
    """What each of many plain rows tells."""
    by = _telling(roles, benchmark, part)
    if by is None or "size" not in roles:
        return [None] * rows.count
    counted = 0 if by == "rate" else benchmark.counted
    bandwidth, other = roles.index("bandwidth"), roles.index(by)
    columns = (
        rows.counts(roles.index("size")),
        rows.figures(bandwidth), map(_half, rows.column(bandwidth)),
        rows.figures(other), map(_half, rows.column(other)),
    )  # fmt: skip
    return [
        _allowed(*row, counted) if row[0] and (not counted or row[3]) else None
        for row in zip(*columns, strict=True)
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


def _is_figure(value: float) -> bool:
    return 0.0 <= value < math.inf


def _allowed(
    size: int, bandwidth: float, half: float, other: float, other_half: float, counted: int
) -> Allowed:
    """What MB may be where ``other`` is a time in µs in which ``counted`` messages moved.

    It is a message rate where ``counted`` is 0. Each figure may have been up to ``half`` of its
    last digit more or less before it was rounded.
    """
    least, most = other - other_half, other + other_half
    if counted:
        micro = counted * size * 1e6
        least, most = micro / max(most, _SMALLEST_TIME_US), micro / max(least, _SMALLEST_TIME_US)
    else:
        least, most = least * size, most * size
    low, high = bandwidth - half, bandwidth + half
    if low * DECIMAL <= most and least <= high * DECIMAL:
        return _BOTH if low * BINARY <= most and least <= high * BINARY else _ONLY_DECIMAL
    return _ONLY_BINARY if low * BINARY <= most and least <= high * BINARY else _NEITHER


def _half(printed: str) -> float:
    """Half of the last digit's worth."""
    return _HALVES[len(printed.partition(".")[2])]


#: By the number of decimals.
_HALVES = tuple(0.5 * 0.1**decimals for decimals in range(64))


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


def megabyte_of(version: str, part: str, rows: Sequence[Allowed | None]) -> Megabyte:
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


def _of_rows(rows: Sequence[Allowed | None]) -> float | None:
    """The unit that more than half of the rows which tell at all agree on."""
    decimal, binary = rows.count(_ONLY_DECIMAL), rows.count(_ONLY_BINARY)
    neither = rows.count(_NEITHER)
    if decimal > binary + neither:
        return DECIMAL
    return BINARY if binary > decimal + neither else None
