"""The words that ask for patterns of a pair: ``put_latency:fence``, ``threads_latency:4``."""

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

#: What a threads pattern without a number has: the fewest that get in each other's way.
USUAL_THREADS = 2
#: The engine's bound (engine/src/case_list.cpp).
MOST_THREADS = 1024
ALL_PATTERNS: tuple[Pattern, ...] = (
    *ROUND_ROBIN_PATTERNS, *PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS,
)  # fmt: skip
EPOCHS: tuple[Epoch, ...] = get_args(Epoch)


class Asked(msgspec.Struct, frozen=True):
    """A pattern, and for some how it is completed or by how many threads."""

    pattern: PairPattern
    epoch: Epoch = "flush"
    threads: int = 1

    @property
    def suffix(self) -> str:
        """What tells its cases' names from those of the plain pattern."""
        epoch = "" if self.epoch == "flush" else f"/{self.epoch}"
        return f"{epoch}/{self.threads}threads" if self.pattern in THREADED_PATTERNS else epoch


def known_word(said: str) -> str:
    """A word of ``--patterns``, without blanks around it.

    Raises:
        UsageError: it is not known; the message says what there is.
    """
    word = said.strip()
    name = word.partition(":")[0]
    if name not in ALL_PATTERNS:
        raise UsageError(f"no pattern {name!r}; there is {', '.join(ALL_PATTERNS)}")
    if name in PAIR_PATTERNS or name != word:
        asked(word)
    return word


def asked(word: str) -> Asked:
    """What a word of ``--patterns`` asks for.

    Raises:
        UsageError: no such pattern, epoch or number of threads; it says what there is.
    """
    name, colon, rest = word.strip().partition(":")
    pattern = next((one for one in PAIR_PATTERNS if one == name), None)
    if pattern is None:
        raise UsageError(f"no pattern {name!r}; there is {', '.join(PAIR_PATTERNS)}")
    if pattern in THREADED_PATTERNS:
        return Asked(pattern, threads=_threads(word, rest) if colon else USUAL_THREADS)
    if not colon:
        return Asked(pattern)
    if pattern not in ONE_SIDED_PATTERNS:
        raise UsageError(f"{name} has nothing after a colon: {word!r}; one-sided patterns have")
    epoch = next((one for one in EPOCHS if one == rest), None)
    if epoch is None:
        raise UsageError(f"{word!r}: no epoch {rest!r}; there is {', '.join(EPOCHS)}")
    return Asked(pattern, epoch)


def _threads(word: str, said: str) -> int:
    number = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0
    if not 1 <= number <= MOST_THREADS:
        raise UsageError(f"{word!r}: expected a number of threads from 1 to {MOST_THREADS}")
    return number
