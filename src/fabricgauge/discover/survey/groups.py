"""Parts of several sources, put together with those that speak of the same thing; pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from fabricgauge.model.inventory import Adapter, Gpu, RdmaPort

_T = TypeVar("_T", Adapter, RdmaPort, Gpu)


class Said(msgspec.Struct, Generic[_T], frozen=True):
    """A part and the source that gave it."""

    source: str
    part: _T


def grouped(
    said: Sequence[Said[_T]],
    names: Callable[[_T], Iterable[str]],
    is_same: Callable[[_T, _T], bool],
) -> list[list[Said[_T]]]:
    """In the order of the first of each; a part that two groups know joins them.

    Parts that are the same have at least one of their ``names`` in common: only such are
    compared, since a node may have a thousand virtual functions.
    """
    groups: dict[int, list[Said[_T]]] = {}
    named: dict[str, set[int]] = {}
    for number, one in enumerate(said):
        near = {n for name in names(one.part) for n in named.get(name, ()) if n in groups}
        alike = sorted(n for n in near if any(is_same(one.part, o.part) for o in groups[n]))
        home, *others = alike or [number]
        moved = [one]
        for other in reversed(others):
            moved = groups.pop(other) + moved
        groups.setdefault(home, []).extend(moved)
        for part in moved:
            for name in names(part.part):
                named.setdefault(name, set()).add(home)
    return list(groups.values())
