"""PCI addresses and links as tools print them."""

import re

from fabricgauge.discover.printouts import figures
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import PcieLink

_ADDRESS = re.compile(
    r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])", re.ASCII
)
_SPEED = re.compile(r"Speed ([0-9.]{1,8}) ?GT/s")
_WIDTH = re.compile(r"Width x([0-9]{1,3})")
_NUMBERS = re.compile(r" \[[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4})?\]$")
#: Both figures come within the first octets of their line.
_LONGEST = 400


def address(text: str) -> str | None:
    """``0000:61:00.0`` of ``61:00.0``, ``0000:61:00.0`` or ``00000000:61:00.0``."""
    found = _ADDRESS.fullmatch(text.strip()[:32])
    if found is None:
        return None
    domain = (found[1] or "").lower().lstrip("0")
    return f"{domain:0>4}:{found[2]}:{found[3]}.{found[4]}".lower()


def link(line: str, what: str) -> PcieLink | Skipped:
    """``LnkCap: Port #0, Speed 8GT/s, Width x8, …`` with or without ``(downgraded)``."""
    speed, width = _SPEED.search(line[:_LONGEST]), _WIDTH.search(line[:_LONGEST])
    if speed is None or width is None or int(width[1]) == 0:
        return Skipped(f"{what} is given as {line.strip()[:80]!r}")
    gt_s = figures.number(speed[1], what)
    return gt_s if isinstance(gt_s, Skipped) else PcieLink(gt_s, int(width[1]))


def without_numbers(name: str) -> str:
    """``Red Hat, Inc.`` of ``Red Hat, Inc. [1af4]``."""
    return name[: -len(found[0])] if (found := _NUMBERS.search(name[-12:])) else name
