"""Parse the words that ask for patterns of a pair: ``put_latency:fence``, ``threads_latency:4``."""

from typing import get_args

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    ROUND_ROBIN_PATTERNS,
    THREADED_PATTERNS,
    Epoch,
    PairPattern,
    Pattern,
)

#: Threads of a pattern without a number: the fewest that compete with each other.
DEFAULT_THREADS = 2
#: The engine's bound (engine/src/case_list.cpp).
MAX_THREADS = 1024
ALL_PATTERNS: tuple[Pattern, ...] = (
    *ROUND_ROBIN_PATTERNS, *PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS,
)  # fmt: skip
EPOCHS: tuple[Epoch, ...] = get_args(Epoch)


class PatternRequest(msgspec.Struct, frozen=True):
    """A pattern; for some patterns also how it is completed, or the number of threads."""

    pattern: PairPattern
    epoch: Epoch = "flush"
    threads: int = 1

    @property
    def suffix(self) -> str:
        """Return the end of its cases' names; empty for the plain pattern."""
        epoch = "" if self.epoch == "flush" else f"/{self.epoch}"
        return f"{epoch}/{self.threads}threads" if self.pattern in THREADED_PATTERNS else epoch


def check_word(text: str) -> str:
    """Return a word of ``--patterns`` without blanks around it.

    Raises:
        UsageError: the word is unknown; the message lists the patterns.
    """
    word = text.strip()
    name = word.partition(":")[0]
    if name not in ALL_PATTERNS:
        raise UsageError(f"unknown pattern {name!r}; available: {', '.join(ALL_PATTERNS)}")
    if name in PAIR_PATTERNS or name != word:
        parse_pattern(word)
    return word


def parse_pattern(word: str) -> PatternRequest:
    """Parse a word of ``--patterns``.

    Raises:
        UsageError: no such pattern, epoch or number of threads; the message lists the valid ones.
    """
    name, colon, detail = word.strip().partition(":")
    pattern = next(
        (known_pattern for known_pattern in PAIR_PATTERNS if known_pattern == name), None
    )
    if pattern is None:
        raise UsageError(f"unknown pattern {name!r}; available: {', '.join(PAIR_PATTERNS)}")
    if pattern in THREADED_PATTERNS:
        return PatternRequest(pattern, threads=_threads(word, detail) if colon else DEFAULT_THREADS)
    if not colon:
        return PatternRequest(pattern)
    if pattern not in ONE_SIDED_PATTERNS:
        raise UsageError(
            f"{word!r}: only one-sided patterns take an epoch after a colon, {name} does not"
        )
    epoch = next((known_epoch for known_epoch in EPOCHS if known_epoch == detail), None)
    if epoch is None:
        raise UsageError(f"{word!r}: unknown epoch {detail!r}; available: {', '.join(EPOCHS)}")
    return PatternRequest(pattern, epoch)


def _threads(word: str, digits: str) -> int:
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 0
    if not 1 <= number <= MAX_THREADS:
        raise UsageError(f"{word!r}: expected a number of threads from 1 to {MAX_THREADS}")
    return number
