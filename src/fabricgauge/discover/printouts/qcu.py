"""``qcu64e /NIC=n /INFO`` → the lane mode of an Intel QSFP+ adapter; pure.

As the QSFP+ Configuration Utility v2.34 prints it. The tool names its adapter by a number of
its own: neither bus nor interface is told.
"""

import re

from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.discover.printouts.parts import Parts, blank_adapter
from fabricgauge.model.absence import Skipped

TOOL = "qcu64e"
CURRENT, SUPPORTED = "Current Configuration", "Supported Configurations"
#: ``1x40``, ``4x10``, ``2x2x10A``; text recognition may leave a capital X.
_MODE = re.compile(r"[0-9]{1,2}(?:[xX][0-9]{1,3}){1,3}[AB]?")


def parse(text: str, argument: str = "") -> Parts:
    """One adapter with ``lane_mode`` and ``lane_modes``.

    ``argument`` is quoted in the reason why its bus is not known: ``/NIC=1 /INFO``.
    """
    current, modes, listing = "", list[str](), False
    for line in lines(text):
        key, value = pair(line)
        if key == CURRENT:
            current, listing = value, False
        elif key == SUPPORTED:
            listing = True
            modes += [_mode(word) for word in value.split() if _MODE.fullmatch(word)]
        elif listing and _MODE.fullmatch(value):
            modes.append(_mode(value))
    if not current and not modes:
        return Parts(troubles=unrecognised(TOOL, text, known=False))
    unread = Skipped(f"qcu64e gives it as {current[:60]!r}")
    which = argument.strip()[:60] or "a number of its own"
    adapter = blank_adapter(
        TOOL, "ethernet",
        bus=Skipped(f"qcu64e names the adapter by {which} only"),
        lane_mode=_mode(current) if _MODE.fullmatch(current) else unread,
        lane_modes=tuple(dict.fromkeys(modes)),
    )  # fmt: skip
    return Parts(adapters=(adapter,))


def _mode(text: str) -> str:
    return text.replace("X", "x")
