"""Figures as tools print them: bounded and finite, or a Skipped that quotes the text."""

import re
from collections.abc import Mapping
from typing import TypeVar

from fabricgauge.model.absence import Skipped
from fabricgauge.model.words.port_counters import kind_of
from fabricgauge.nodes.discover.printouts.lines import LARGEST_NUMBER

_N = TypeVar("_N", int, float)

_WHOLE = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,16})?")
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")

#: lshw writes these before "bit/s"; powers of ten.
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BIT_RATE = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,6})?) ?([kKMGT]?)(?:bit/s|b/s|b)")


def skip_unread(text: str, label: str) -> Skipped:
    """Return the reason why a value is unknown: the tool left it out, or wrote other text."""
    return Skipped(f"{label} is given as {text[:60]!r}" if text else f"{label} is not given")


def _check_range(value: _N | None, largest: float, text: str, label: str) -> _N | Skipped:
    return value if value is not None and 0 <= value <= largest else skip_unread(text, label)


def parse_whole(text: str, label: str, largest: int = LARGEST_NUMBER) -> int | Skipped:
    """Read a whole decimal number from 0 to ``largest``."""
    return _check_range(int(text) if _WHOLE.fullmatch(text) else None, largest, text, label)


def parse_number(text: str, label: str, unit: float = 1.0) -> float | Skipped:
    """Read a decimal number that is not negative, times ``unit``."""
    value = float(text) * unit if _DECIMAL.fullmatch(text) else None
    return _check_range(value, LARGEST_NUMBER, text, label)


def parse_hex(text: str, label: str) -> int | Skipped:
    """Read a LID or mask such as ``0x0000000d``."""
    match = _HEX.fullmatch(text)
    return _check_range(int(match[1], 16) if match else None, LARGEST_NUMBER, text, label)


def parse_bit_rate(text: str, label: str) -> float | Skipped:
    """Read ``10Gbit/s``, ``40000Mb/s``, ``25Gb`` as bit/s."""
    match = _BIT_RATE.fullmatch(text)
    return parse_number(match[1], label, PREFIXES[match[2]]) if match else skip_unread(text, label)


def make_speed_fact(interface: str, text: str) -> dict[str, str]:
    """Return ``speed of IFACE`` in whole bit/s, without an exponent; empty without a rate."""
    rate = parse_bit_rate(text, "the speed")
    return {} if isinstance(rate, Skipped) else {f"speed of {interface}": f"{rate:.0f}"}


#: A driver may have a counter for each of some hundred queues: the largest ones are kept.
MAX_COUNTERS = 64


def make_counters_fact(name: str, counters: Mapping[str, int]) -> dict[str, str]:
    """Return ``counters of NAME``: errors and drops above 0, as ``NAME=VALUE``, or ``none``."""
    nonzero = {
        key: value
        for key, value in counters.items()
        if value and kind_of(key) in ("errors", "drops")
    }
    largest = sorted(nonzero, key=lambda key: -nonzero[key])[:MAX_COUNTERS]
    text = " ".join(f"{key}={nonzero[key]}" for key in nonzero if key in largest and " " not in key)
    return {f"counters of {name}": text or "none"}


def parse_guid(text: str, label: str) -> str | Skipped:
    """Read a GUID as ``0x`` and 16 digits, in any grouping; zeros are not a GUID."""
    digits = text.strip()[:40].replace(":", "").lower().removeprefix("0x")
    if not _HEX.fullmatch(digits) or not digits.strip("0"):
        return skip_unread(text, label)
    return f"0x{digits:0>16}"
