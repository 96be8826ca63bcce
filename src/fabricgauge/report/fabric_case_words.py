"""Cases of many ranks in words: titles of patterns, loads, clocks."""

from fabricgauge.report.fabric_cases import Joint
from fabricgauge.report.quantities import digits, duration, microseconds, percent

#: What the other ranks did while the victims measured.
LOADS: dict[str, str] = {
    "none": "idle",
    "all_to_all": "all to all",
    "incast": "incast",
    "permutation": "permutation",
}

TITLES: dict[str, str] = {
    "multi_latency": "Latency of many pairs at once",
    "multi_bandwidth": "Bandwidth of many pairs at once",
    "sendrecv": "Sendrecv along a chain",
    "exchange": "Exchange with both neighbours",
    "loaded_latency": "Latency under load",
    "bisection": "Bisection",
}

TOO_FEW = "–"


def titled(pattern: str) -> str:
    """A pattern's name as MPI spells it, or in the field's words."""
    return TITLES.get(pattern) or f"MPI_{pattern.capitalize()}"


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
