"""Those with the same key, together."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


def group_by(every: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, tuple[_T, ...]]:
    """By key, in the order of the first of each."""
    found: dict[_K, list[_T]] = {}
    for one in every:
        found.setdefault(key(one), []).append(one)
    return {key: tuple(those) for key, those in found.items()}
