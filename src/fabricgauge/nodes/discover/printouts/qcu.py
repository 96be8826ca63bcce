"""``qcu64e /NIC=n /INFO`` → the lane mode of an Intel QSFP+ adapter; pure.

As the QSFP+ Configuration Utility v2.34 prints it. The tool numbers its adapters: it prints neither
bus nor interface.
"""

import re

from fabricgauge.model.absence import Skipped
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    make_adapter,
    report_unrecognised,
    split_lines,
    split_pair,
)

TOOL = "qcu64e"
CURRENT, SUPPORTED = "Current Configuration", "Supported Configurations"
#: ``1x40``, ``4x10``, ``2x2x10A``; text recognition may leave a capital X.
_MODE = re.compile(r"[0-9]{1,2}(?:[xX][0-9]{1,3}){1,3}[AB]?")


def parse(text: str, argument: str = "") -> Parts:
    """Return one adapter with ``lane_mode`` and ``lane_modes``.

    The reason why its bus is unknown quotes ``argument``: ``/NIC=1 /INFO``.
    """
    current, modes, in_list = "", list[str](), False
    for line in split_lines(text):
        key, value = split_pair(line)
        if key == CURRENT:
            current, in_list = value, False
        elif key == SUPPORTED:
            in_list = True
            modes += [_normalise_mode(word) for word in value.split() if _MODE.fullmatch(word)]
        elif in_list and _MODE.fullmatch(value):
            modes.append(_normalise_mode(value))
    if not current and not modes:
        return Parts(troubles=report_unrecognised(TOOL, text, recognised=False))
    unread = Skipped(f"qcu64e gives it as {current[:60]!r}")
    number = argument.strip()[:60] or "its own number"
    adapter = make_adapter(
        TOOL, "ethernet",
        bus=Skipped(f"qcu64e names the adapter by {number} only"),
        lane_mode=_normalise_mode(current) if _MODE.fullmatch(current) else unread,
        lane_modes=tuple(dict.fromkeys(modes)),
    )  # fmt: skip
    return Parts(adapters=(adapter,))


def _normalise_mode(text: str) -> str:
    return text.replace("X", "x")
