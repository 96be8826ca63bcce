"""Whether ``Mbytes/sec`` of a table counts 10^6 or 2^20 bytes.

Up to IMB 2017 it is 2^20, from 2018 on 10^6 (``MEGA`` in IMB_output.c of 4.0.0, 2017 and
2018; "bandwidth = X / 1.048576 / T" against "X / T" in the "Output" chapter of the user
guides). IMB-P2P and IMB-MT are younger than that (2019). The rows themselves tell as well.

What one row tells of its unit: bandwidth beside the time or the message rate.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from fabricgauge.parse.imb.benchmarks import ImbBenchmark
from fabricgauge.parse.imb.rows import Role
from fabricgauge.parse.lines import decimals
from fabricgauge.parse.rows import Rows

#: Of what was printed as 0.00.
_LEAST = 1e-9


#: What MB may stand for by one row; rounding alone can explain the difference.
Allowed = frozenset[float]

DECIMAL = 1e6
BINARY = float(1 << 20)
_BINARY_PER_DECIMAL = BINARY / DECIMAL


def evidence_in(
    rows: Rows, roles: tuple[Role, ...], benchmark: ImbBenchmark, part: str
) -> list[Allowed | None]:
    """What each row tells, None if nothing.

    Each figure may have been up to half of its last digit more or less before it was rounded.
    """
    by = _telling(roles, benchmark, part)
    if by is None or "size" not in roles:
        return [None] * rows.count
    by_rate, counted = by == "rate", 1 if by == "rate" else benchmark.counted
    bandwidth, other, width = roles.index("bandwidth"), roles.index(by), len(roles)
    figures = zip(
        rows.columns[roles.index("size")],
        rows.columns[bandwidth], _halves(rows.words[bandwidth::width]),
        rows.columns[other], _halves(rows.words[other::width]), strict=True,
    )  # fmt: skip
    told: list[Allowed | None] = []
    for size, printed, half, by_other, other_half in figures:
        if not size or not (0 < by_other < math.inf or (by_other == 0 and by_rate)):
            told.append(None)
            continue
        least = by_other - other_half if by_other > other_half else _LEAST
        most = by_other + other_half
        if by_rate:
            least, most = 1e6 / most, 1e6 / least
        low, high, moved = (printed - half) * least, (printed + half) * most, counted * size
        binary = low <= moved / _BINARY_PER_DECIMAL <= high
        if low <= moved <= high:
            told.append(_EITHER if binary else _DECIMAL)
        elif binary:
            told.append(_BINARY)
        else:
            told.append(_NEITHER if 0 <= printed < math.inf else None)
    return told


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


_DECIMAL, _BINARY = frozenset({DECIMAL}), frozenset({BINARY})
_EITHER, _NEITHER = _DECIMAL | _BINARY, frozenset[float]()


def _halves(printed: Sequence[str]) -> Sequence[float]:
    """Half of the last digit's worth, for each figure; nearly all have two decimals."""
    if {word[-3:-2] for word in printed} == {"."}:
        return [_HALVES[2]] * len(printed)
    return [_HALVES[decimals(word)] for word in printed]


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
    """The unit by the rows' own arithmetic if they tell, else by version, else 10^6.

    More than half of the rows that tell at all must agree.
    """
    decimal, binary, neither = map(rows.count, (_DECIMAL, _BINARY, _NEITHER))
    found = DECIMAL if decimal > binary + neither else None
    return _found(version, part, BINARY if binary > decimal + neither else found)


@lru_cache(maxsize=64)
def _found(version: str, part: str, found: float | None) -> Megabyte:
    """The unit where most rows say ``found``, or nothing."""
    year = _YEAR.match(version)
    told, by = (DECIMAL, f"IMB-{part}") if part in _YOUNG_PARTS else (None, "")
    if year is not None:
        told, by = (DECIMAL if int(year[0]) >= _FIRST_DECIMAL else BINARY), f"IMB {version}"
    name = _NAMES[found or told or DECIMAL]
    if found is None and told is None:
        rule = f"{name} (assumed: neither a version nor the rows tell)"
        return Megabyte(DECIMAL, rule, "a version of IMB, which tells what MB stands for")
    if found is None:
        return Megabyte(told or DECIMAL, f"{name} ({by})")
    if told is None:
        return Megabyte(found, f"{name} (found from the rows, no version is told)", by_rows=True)
    if told == found:
        return Megabyte(found, f"{name} ({by}, and the rows agree)", by_rows=True)
    against = f"{_NAMES[told]}, as {by} counts; the rows count {name}"
    return Megabyte(found, f"{name} (found from the rows, against {by})", against, by_rows=True)


_NAMES = {DECIMAL: "MB = 10^6 bytes", BINARY: "MB = 2^20 bytes"}
