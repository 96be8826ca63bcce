"""Grouping of items by a key."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


def group_by(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, tuple[_T, ...]]:
    """Return the items by key, in the order of each group's first item."""
    groups: dict[_K, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return {key: tuple(members) for key, members in groups.items()}
