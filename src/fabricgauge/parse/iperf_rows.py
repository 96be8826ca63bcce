"""A row as iperf 2 and iperf 3 print it: ``[  5]   0.00-1.00   sec  1.65 GBytes  14.2 Gbits/sec``.

Both count bits in powers of 1000 and bytes in powers of 1024 (``unit_snprintf`` in
units.c of iperf 3.12, ``byte_snprintf`` in stdio.c of iperf 2.0.13), and print three digits.
"""

import re
from typing import Literal

import msgspec

Unit = Literal["bits", "bytes"]

UNIT_RULES: dict[Unit, str] = {
    "bits": "Gbits/sec = 10^9 bit/s, printed with three digits (iperf)",
    "bytes": "MBytes/sec = 2^20 bytes/s, printed with three digits (iperf)",
}

_ROW = re.compile(
    r"\[ *(?:(?P<star>\*) *)?(?P<id>\d+|SUM(?:-(?P<count>\d+))?)\](?:\[(?P<role>[TR]X-[CS])\])? +"
    r"(?P<start>\d+\.\d+) *- *(?P<end>\d+\.\d+) +sec +(?P<moved>[-+.\w]+) [KMGTP]?Bytes? +"
    r"(?P<rate>[-+.\w]+) (?P<prefix>[KMGTP]?)(?P<unit>bits|Bytes)/sec(?P<rest>.*)"
)
_PREFIXES = " KMGTP"


class Row(msgspec.Struct, frozen=True):
    """One interval or one summary of a connection, or of all (``stream`` is ``SUM``).

    Times are in seconds since the test began, ``rate`` is in bytes/s and may be anything
    that a float can be. ``role`` is iperf 3's (``TX-C``), ``starred`` iperf 2's sign of the
    reverse direction, ``count`` the number of connections where the row itself tells it.
    """

    stream: str
    starred: bool
    count: int
    role: str
    start: float
    end: float
    rate: float
    unit: Unit
    rest: str


def row_of(text: str) -> Row | None:
    """The row that the line holds, behind a time stamp if there is one."""
    match = _ROW.search(text) if "sec" in text else None
    if match is None:
        return None
    star, stream, count, role, start, end, _, rate, prefix, unit, rest = match.groups()
    return Row(
        stream="SUM" if stream.startswith("SUM") else stream,
        starred=star is not None,
        count=int(count) if count and len(count) < 7 else 0,
        role=role or "",
        start=float(start),
        end=float(end),
        rate=_rate(rate, prefix, unit),
        unit="bits" if unit == "bits" else "bytes",
        rest=rest,
    )


def _rate(number: str, prefix: str, unit: str) -> float:
    try:
        value = float(number)
    except ValueError:
        return float("nan")
    power = _PREFIXES.index(prefix or " ")
    return value * 1000.0**power / 8 if unit == "bits" else value * 1024.0**power
