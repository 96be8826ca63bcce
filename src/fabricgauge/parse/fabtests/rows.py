"""Rows of fabtests' tables: sizes and counts with suffixes, and the figures."""

import re
from collections.abc import Mapping

import msgspec

_SIZE = re.compile(r"(\d{1,15})(?:\.(\d))?([kmg]?)")
_COUNT = re.compile(r"(\d{1,15})([kmb]?)")
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_PAIR = re.compile(r"(?<![\w/])([\w/]+): ([-\w.+]+)")
_MOST = 1e15


class Row(msgspec.Struct, frozen=True):
    """One row as printed: MB = 10^6 bytes, µs, 10^6 transfers/s.

    ``iterations`` and ``total_bytes`` are exact in YAML rows only; ``acknowledged`` is
    false where the other side acknowledged more or fewer messages than were sent.
    """

    name: str
    size_bytes: int
    iterations: int
    total_bytes: int
    megabytes: float
    microseconds: float
    rate: float
    acknowledged: bool = True

    @property
    def transfers(self) -> int:
        """Transfers per iteration: 2 in a ping-pong; 0 if it cannot be told.

        The cuts of all three numbers to two places and less leave 1 and 2 apart.
        """
        once = self.size_bytes * self.iterations
        return round(self.total_bytes / once) if once else 0


def size_of(printed: str) -> int | None:
    """Bytes of ``64``, ``1.5k``, ``1m``."""
    match = _SIZE.fullmatch(printed)
    if match is None:
        return None
    return int((int(match[1]) + int(match[2] or 0) / 10) * _SIZES[match[3]])


def count_of(printed: str) -> int | None:
    match = _COUNT.fullmatch(printed)
    return None if match is None else int(match[1]) * _COUNTS[match[2]]


def text_row(text: str, columns: int) -> Row | None:
    """A row of a text table of so many columns, which may begin with a name of some words."""
    fields = text.split()
    named = len(fields) - (7 + (columns == 8))
    if named < 0 or len(fields) > 24:
        return None
    size, count, *rest = fields[named:]
    ack = rest.pop(0)[0] if columns == 8 else "="
    total, time, *figures = rest
    printed = (size_of(size), count_of(count), size_of(total))
    numbers = [_number(figure) for figure in figures]
    if None in printed or None in numbers or not time.endswith("s"):
        return None
    bytes_, iterations, total_bytes = (value or 0 for value in printed)
    rates = [value or 0.0 for value in numbers]
    name = " ".join(fields[:named])
    return Row(name, bytes_, iterations, total_bytes, rates[0], rates[1], rates[2], ack == "=")


def yaml_row(text: str) -> Row | None:
    """A row ``- { xfer_size: 64, iterations: 1000, … }``."""
    pairs = dict(_PAIR.findall(text))
    whole = _numbers(pairs, ("xfer_size", "iterations", "total"))
    figures = _numbers(pairs, ("MB/sec", "usec/xfer", "Mxfers/sec"))
    if whole is None or figures is None or not all(0 <= value < _MOST for value in whole):
        return None
    size, count, total = (int(value) for value in whole)
    return Row("", size, count, total, figures[0], figures[1], figures[2])


def cut_row(text: str) -> int | None:
    """The size that a row of too few columns begins with."""
    fields = text.split(None, 3)
    return size_of(fields[0]) if len(fields) > 2 and count_of(fields[1]) is not None else None


def _numbers(pairs: Mapping[str, str], keys: tuple[str, ...]) -> list[float] | None:
    found = [_number(pairs.get(key, "")) for key in keys]
    return None if None in found else [value or 0.0 for value in found]


def _number(printed: str) -> float | None:
    try:
        return float(printed)
    except ValueError:
        return None
