"""One pair's cases while all other ranks sleep: one-sided, persistent, both ways at once."""

from fabricgauge.model.pattern import LATENCY_PATTERNS
from fabricgauge.model.plan import Case
from fabricgauge.plan.asked import asked
from fabricgauge.plan.cases import cases
from fabricgauge.plan.profiles import MIB

SMALL_BYTES = 8
LARGE_BYTES = MIB


def reference_pair(
    words: tuple[str, ...], case_s: float, payload_bytes_per_s: float
) -> tuple[Case, ...]:
    """The patterns that ``words`` of ``plan.asked`` name, between ranks 0 and 1."""
    return tuple(
        case
        for word in words
        for case in cases((word,), (_size(word),), case_s, payload_bytes_per_s)
    )


def _size(word: str) -> int:
    return SMALL_BYTES if asked(word).pattern in LATENCY_PATTERNS else LARGE_BYTES
