"""Broken logs of other suites, read, judged and reported."""

from functools import cache
from random import Random

from tests.fuzz import judged, oracle
from tests.fuzz.mutations import Lines, broken, corpus

#: Judging takes long, and a second reading as long as the first: some lengths only get them.
_JUDGED_EACH = 499
_TWICE_EACH = 8
_FOLDED_EACH = 97


@cache
def _recorded() -> tuple[Lines, ...]:
    return corpus()


def input_of(seed: int, number: int) -> bytes:
    """The input with that number."""
    return broken(Random(f"{seed}:{number}"), _recorded())  # noqa: S311


def complaints(content: bytes) -> list[str]:
    """What is wrong with the reading of one input, or, of some, with what follows."""
    wrong = oracle.complaints(content, again=len(content) % _TWICE_EACH == 0)
    if not wrong and len(content) % _FOLDED_EACH == 0:
        wrong += oracle.folding_complaints(content)
    if wrong or len(content) % _JUDGED_EACH:
        return wrong
    return list(judged.complaints(oracle.reading(content), Random(len(content))))  # noqa: S311
