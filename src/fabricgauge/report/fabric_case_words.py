"""Cases of many ranks in words: titles of patterns, loads, clocks."""

from fabricgauge.report.fabric_cases import Joint
from fabricgauge.words.figures import digits, duration, microseconds, percent

TOO_FEW = "–"


def tail(value_s: float | None) -> str:
    """A percentile in µs, or a sign that the samples were too few for it."""
    return microseconds(value_s) if value_s is not None else TOO_FEW


def times(ratio: float | None) -> str:
    """How many times longer: ``3.21 ×``."""
    return f"{digits(ratio, 3)} ×" if ratio is not None else TOO_FEW


def clock_error(case: Joint) -> str:
    """Within what the clock that all ranks share is right; empty without such a clock."""
    return duration(case.clock_error_s) if case.clock == "synchronised" else ""


def overlap(case: Joint) -> str:
    return percent(case.overlap) if case.overlap is not None else ""


def rate(case: Joint) -> str:
    """Payload of all pairs together in MB/s; empty where messages are not counted."""
    return digits(case.bytes_per_s / 1e6) if case.bytes_per_s else ""


def message_rate(case: Joint) -> str:
    """10^6 messages per second of all pairs together."""
    return digits(case.messages_per_s / 1e6) if case.messages_per_s else ""
