"""Many nodes' names as a person writes them: ``c[1-3,7],gpu[01-04]``."""

import re
from collections.abc import Iterable, Sequence

from ClusterShell.RangeSet import RangeSet

#: A list of names may fill some lines, and no more; that of a few names is never cut.
LONGEST = 400
FEW = 20

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)


def folded(names: Iterable[str]) -> str:
    """Each name once, those that differ in their last number alone as one, in time n log n.

    ClusterShell reads it back. A number with zeros in front keeps its width.
    """
    plain: list[str] = []
    groups: dict[tuple[str, str], set[str]] = {}
    for name in dict.fromkeys(names):
        found = _NUMBERED.fullmatch(name)
        if found is None:
            plain.append(name)
        else:
            groups.setdefault((found[1], found[3]), set()).add(found[2])
    parts = [*plain]
    for (before, after), numbers in groups.items():
        ranges = str(RangeSet.fromlist(numbers))
        parts.append(f"{before}[{ranges}]{after}" if len(numbers) > 1 else before + ranges + after)
    return ",".join(parts)


def shortened(names: Sequence[str]) -> str:
    """The same, or of names that fold badly the first two, the last, and how many they are."""
    text = folded(names)
    if len(text) <= LONGEST or len(names) <= FEW:
        return text
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names):,})"
