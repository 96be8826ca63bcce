"""Figures as tools print them; bounded, finite, or a Skipped that quotes what stood there."""

import re
from collections.abc import Mapping
from typing import TypeVar

from fabricgauge.discover.printouts.lines import LARGEST_NUMBER
from fabricgauge.model.absence import Skipped
from fabricgauge.words.port_counters import kind_of

_N = TypeVar("_N", int, float)

_WHOLE = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,16})?")
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")

#: lshw writes these before "bit/s"; powers of ten.
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BIT_RATE = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,6})?) ?([kKMGT]?)(?:bit/s|b/s|b)")


def unread(text: str, what: str) -> Skipped:
    """Why a value is not known: the tool left it out, or wrote something else."""
    return Skipped(f"{what} is given as {text[:60]!r}" if text else f"{what} is not given")


def _within(value: _N | None, most: float, text: str, what: str) -> _N | Skipped:
    return value if value is not None and 0 <= value <= most else unread(text, what)


def whole(text: str, what: str, most: int = LARGEST_NUMBER) -> int | Skipped:
    """A whole decimal number from 0 to ``most``."""
    return _within(int(text) if _WHOLE.fullmatch(text) else None, most, text, what)


def number(text: str, what: str, unit: float = 1.0) -> float | Skipped:
    """A decimal number that is not negative, times ``unit``."""
    value = float(text) * unit if _DECIMAL.fullmatch(text) else None
    return _within(value, LARGEST_NUMBER, text, what)


def hexadecimal(text: str, what: str) -> int | Skipped:
    """A LID or mask such as ``0x0000000d``."""
    found = _HEX.fullmatch(text)
    return _within(int(found[1], 16) if found else None, LARGEST_NUMBER, text, what)


def bit_rate(text: str, what: str) -> float | Skipped:
    """``10Gbit/s``, ``40000Mb/s``, ``25Gb`` as bit/s."""
    found = _BIT_RATE.fullmatch(text)
    return number(found[1], what, PREFIXES[found[2]]) if found else unread(text, what)


def speed_fact(interface: str, text: str) -> dict[str, str]:
    """``speed of IFACE`` in whole bit/s, without an exponent; empty where no rate is given."""
    rate = bit_rate(text, "the speed")
    return {} if isinstance(rate, Skipped) else {f"speed of {interface}": f"{rate:.0f}"}


#: A driver with a counter for each of some hundred queues is told of by the largest ones.
MOST_COUNTERS = 64


def counters_fact(name: str, counted: Mapping[str, int]) -> dict[str, str]:
    """``counters of NAME``: those of errors and drops that are not 0, as ``NAME=VALUE``; ``none``
    where all of them are 0."""
    kept = {key: n for key, n in counted.items() if n and kind_of(key) in ("errors", "drops")}
    largest = sorted(kept, key=lambda key: -kept[key])[:MOST_COUNTERS]
    told = " ".join(f"{key}={kept[key]}" for key in kept if key in largest and " " not in key)
    return {f"counters of {name}": told or "none"}


def identifier(text: str, what: str) -> str | Skipped:
    """A GUID as ``0x`` and 16 digits, however a tool groups them; of zeros it is none."""
    digits = text.strip()[:40].replace(":", "").lower().removeprefix("0x")
    if not _HEX.fullmatch(digits) or not digits.strip("0"):
        return unread(text, what)
    return f"0x{digits:0>16}"
