"""Decide whether a table's ``Mbytes/sec`` counts 10^6 or 2^20 bytes.

Up to IMB 2017 it is 2^20, from 2018 on 10^6 (``MEGA`` in IMB_output.c of 4.0.0, 2017 and 2018;
"bandwidth = X / 1.048576 / T" against "X / T" in the "Output" chapter of the user guides). IMB-P2P
and IMB-MT are younger (2019). The rows are evidence as well: each has its bandwidth beside the time
or the message rate.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from fabricgauge.logs.readers.imb.benchmarks import ImbBenchmark
from fabricgauge.logs.readers.imb.rows import Role
from fabricgauge.logs.readers.lines import decimals
from fabricgauge.logs.readers.rows import Rows

#: The evidence of a figure that was printed as 0.00.
_LEAST = 1e-9


#: The bytes that MB may stand for by one row; rounding alone can explain the difference.
Allowed = frozenset[float]

DECIMAL = 1e6
BINARY = float(1 << 20)
_BINARY_PER_DECIMAL = BINARY / DECIMAL


def evidence_in(
    rows: Rows, roles: tuple[Role, ...], benchmark: ImbBenchmark, part: str
) -> list[Allowed | None]:
    """Return the evidence of each row, None if it has none.

    Before it was rounded, each figure may have been up to half of its last digit more or less.
    """
    by = _reference_column(roles, benchmark, part)
    if by is None or "size" not in roles:
        return [None] * rows.count
    by_rate, counted = by == "rate", 1 if by == "rate" else benchmark.counted
    bandwidth, reference, width = roles.index("bandwidth"), roles.index(by), len(roles)
    figures = zip(
        rows.columns[roles.index("size")],
        rows.columns[bandwidth], _halves(rows.words[bandwidth::width]),
        rows.columns[reference], _halves(rows.words[reference::width]), strict=True,
    )  # fmt: skip
    evidence: list[Allowed | None] = []
    for size, printed, half, by_other, other_half in figures:
        if not size or not (0 < by_other < math.inf or (by_other == 0 and by_rate)):
            evidence.append(None)
            continue
        least = by_other - other_half if by_other > other_half else _LEAST
        most = by_other + other_half
        if by_rate:
            least, most = 1e6 / most, 1e6 / least
        low, high, moved = (printed - half) * least, (printed + half) * most, counted * size
        binary = low <= moved / _BINARY_PER_DECIMAL <= high
        if low <= moved <= high:
            evidence.append(_EITHER if binary else _DECIMAL)
        elif binary:
            evidence.append(_BINARY)
        else:
            evidence.append(_NEITHER if 0 <= printed < math.inf else None)
    return evidence


def _reference_column(roles: Sequence[Role], benchmark: ImbBenchmark, part: str) -> Role | None:
    """Return the column that shows the unit beside the bandwidth's.

    The message rate goes before the time: IMB-P2P's bandwidth is over the slowest rank's time and
    its time the mean. IMB-MT has the message rate over the mean instead.
    """
    if "bandwidth" not in roles or ("rate" in roles and part == "MT"):
        return None
    if "rate" in roles:
        return "rate"
    by: Role = "time" if "time" in roles else "most"
    return by if benchmark.counted and by in roles else None


_DECIMAL, _BINARY = frozenset({DECIMAL}), frozenset({BINARY})
_EITHER, _NEITHER = _DECIMAL | _BINARY, frozenset[float]()


def _halves(printed: Sequence[str]) -> Sequence[float]:
    """Return half the worth of the last digit of each figure; nearly all have two decimals."""
    if {word[-3:-2] for word in printed} == {"."}:
        return [_HALVES[2]] * len(printed)
    return [_HALVES[decimals(word)] for word in printed]


#: Halves by the number of decimals.
_HALVES = tuple(0.5 * 0.1**decimals for decimals in range(64))


_FIRST_DECIMAL = 2018
_YOUNG_PARTS = frozenset({"P2P", "MT"})
_YEAR = re.compile(r"\d{1,4}", re.ASCII)


class Megabyte(msgspec.Struct, frozen=True):
    """The unit, and its origin; ``against`` is the evidence against it, empty if none.

    If ``by_rows``, the rows' own arithmetic gives it.
    """

    bytes: float
    rule: str
    against: str = ""
    by_rows: bool = False


def megabyte_of(version: str, part: str, rows: Sequence[Allowed | None]) -> Megabyte:
    """Return the unit by the rows' own arithmetic if it decides, else by version, else 10^6.

    More than half of the rows with evidence must agree.
    """
    decimal, binary, neither = map(rows.count, (_DECIMAL, _BINARY, _NEITHER))
    majority = DECIMAL if decimal > binary + neither else None
    return _with_origin(version, part, BINARY if binary > decimal + neither else majority)


@lru_cache(maxsize=64)
def _with_origin(version: str, part: str, majority: float | None) -> Megabyte:
    """Return the unit with its origin, where most rows agree on ``majority``, or on nothing."""
    year = _YEAR.match(version)
    expected, by = (DECIMAL, f"IMB-{part}") if part in _YOUNG_PARTS else (None, "")
    if year is not None:
        expected, by = (DECIMAL if int(year[0]) >= _FIRST_DECIMAL else BINARY), f"IMB {version}"
    name = _NAMES[majority or expected or DECIMAL]
    if majority is None and expected is None:
        rule = f"{name} (assumed: neither a version nor the rows decide)"
        return Megabyte(DECIMAL, rule, "a version of IMB, which tells what MB stands for")
    if majority is None:
        return Megabyte(expected or DECIMAL, f"{name} ({by})")
    if expected is None:
        return Megabyte(
            majority, f"{name} (found from the rows; no version is printed)", by_rows=True
        )
    if expected == majority:
        return Megabyte(majority, f"{name} ({by}, and the rows agree)", by_rows=True)
    against = f"{_NAMES[expected]}, as {by} counts; the rows count {name}"
    return Megabyte(majority, f"{name} (found from the rows, against {by})", against, by_rows=True)


_NAMES = {DECIMAL: "MB = 10^6 bytes", BINARY: "MB = 2^20 bytes"}
