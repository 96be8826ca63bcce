"""How a printed unit is read: the factor that makes it SI, and the rule in words."""

from typing import NamedTuple

from fabricgauge.model.suite import Quantity


class PrintedUnit(NamedTuple):
    """Printed values times ``factor`` are seconds, bytes/s or messages/s."""

    quantity: Quantity
    factor: float
    rule: str


MEGABYTE = PrintedUnit("bandwidth", 1e6, "MB = 10^6 bytes")
MEBIBYTE = PrintedUnit("bandwidth", 2.0**20, "MB = 2^20 bytes")

#: Units whose meaning does not depend on who printed them.
PLAIN: dict[str, PrintedUnit] = {
    "s": PrintedUnit("time", 1.0, "s"),
    "ms": PrintedUnit("time", 1e-3, "ms"),
    "us": PrintedUnit("time", 1e-6, "µs"),
    "usec": PrintedUnit("time", 1e-6, "µs"),
    "ns": PrintedUnit("time", 1e-9, "ns"),
    "MiB/s": PrintedUnit("bandwidth", 2.0**20, "MiB = 2^20 bytes"),
    "GiB/s": PrintedUnit("bandwidth", 2.0**30, "GiB = 2^30 bytes"),
    "Gb/s": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "Gbps": PrintedUnit("bandwidth", 1e9 / 8, "Gb = 10^9 bits"),
    "msg/s": PrintedUnit("message_rate", 1.0, "messages/s"),
    "Msg/sec": PrintedUnit("message_rate", 1.0, "messages/s (IMB)"),
    "M msg/s": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s"),
    "Mpps": PrintedUnit("message_rate", 1e6, "M = 10^6 messages/s (perftest)"),
}

#: Units that each suite reads its own way: the rule has to be said, before " (who)".
RULED: dict[str, tuple[PrintedUnit, ...]] = {
    "MB/s": (MEGABYTE, MEBIBYTE),
    "MB/sec": (MEGABYTE, MEBIBYTE),
    "Mbytes/sec": (
        PrintedUnit("bandwidth", 1e6, "Mbyte = 10^6 bytes"),
        PrintedUnit("bandwidth", 2.0**20, "Mbyte = 2^20 bytes"),
    ),
}


def unit(printed: str, rule: str) -> PrintedUnit:
    """How ``printed`` is read under ``rule``, which is empty for units with one meaning.

    Raises:
        ValueError: the unit is not known, or its rule is missing, unknown or needless.
    """
    if printed in PLAIN and not rule:
        return PLAIN[printed]
    for one in RULED.get(printed, ()):
        if rule.partition(" (")[0] == one.rule:
            return one._replace(rule=rule)
    known = " or ".join(repr(one.rule) for one in RULED.get(printed, ()))
    if known:
        raise ValueError(f"unit {printed!r} needs a unit_rule that begins {known}, not {rule!r}")
    if printed in PLAIN:
        raise ValueError(f"unit {printed!r} has one meaning; leave unit_rule out")
    raise ValueError(f"unit {printed!r} is not known: {', '.join((*PLAIN, *RULED))}")
