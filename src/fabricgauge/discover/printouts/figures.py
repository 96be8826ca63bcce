"""Figures as tools print them; bounded, finite, or a Skipped that quotes what stood there."""

import re

from fabricgauge.discover.printouts.lines import LARGEST_NUMBER
from fabricgauge.model.absence import Skipped

_WHOLE = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,16})?")
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")

#: lshw writes these before "bit/s"; powers of ten.
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BIT_RATE = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,6})?) ?([kKMGT]?)(?:bit/s|b/s|b)")


def unread(text: str, what: str) -> Skipped:
    """Why a value is not known: the tool left it out, or wrote something else."""
    return Skipped(f"{what} is given as {text[:60]!r}" if text else f"{what} is not given")


def whole(text: str, what: str, most: int = LARGEST_NUMBER) -> int | Skipped:
    """A whole decimal number from 0 to ``most``."""
    found = _WHOLE.fullmatch(text)
    if found is None or int(text) > most:
        return unread(text, what)
    return int(text)


def number(text: str, what: str, unit: float = 1.0) -> float | Skipped:
    """A decimal number that is not negative, times ``unit``."""
    found = _DECIMAL.fullmatch(text)
    value = float(text) * unit if found else -1.0
    if not 0.0 <= value <= LARGEST_NUMBER:
        return unread(text, what)
    return value


def hexadecimal(text: str, what: str) -> int | Skipped:
    """A LID or mask such as ``0x0000000d``."""
    found = _HEX.fullmatch(text)
    value = int(found[1], 16) if found else LARGEST_NUMBER + 1
    return value if value <= LARGEST_NUMBER else unread(text, what)


def bit_rate(text: str, what: str) -> float | Skipped:
    """``10Gbit/s``, ``40000Mb/s``, ``25Gb`` as bit/s."""
    found = _BIT_RATE.fullmatch(text)
    if found is None:
        return unread(text, what)
    return number(found[1], what, PREFIXES[found[2]])


def product(lane_bit_s: float | Skipped, lanes: int | Skipped) -> float | Skipped:
    """The rate of all lanes, or why it is not known."""
    if isinstance(lane_bit_s, Skipped):
        return lane_bit_s
    return lanes if isinstance(lanes, Skipped) else lane_bit_s * lanes


def rate_fact(rate_bit_s: float) -> str:
    """A rate as a fact's text: whole bit/s, without an exponent."""
    return f"{rate_bit_s:.0f}"


def identifier(text: str, what: str) -> str | Skipped:
    """A GUID as ``0x`` and 16 digits, however a tool groups them; of zeros it is none."""
    digits = text.strip()[:40].replace(":", "").lower().removeprefix("0x")
    if not _HEX.fullmatch(digits) or not digits.strip("0"):
        return unread(text, what)
    return f"0x{digits:0>16}"
