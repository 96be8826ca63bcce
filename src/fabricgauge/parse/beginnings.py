"""Which suite's output begins in a line: all dialects asked at once.

To search all their expressions along each line would take most of the time of reading a
large log. Those that must stand at the line's start are asked about lines that start with
one of their characters, and all of them only about lines that contain what each must contain.
"""

import re
from collections.abc import Iterable

from fabricgauge.parse.dialects import DIALECTS
from fabricgauge.parse.expressions import alternatives, required, starts


def dialect_begun(text: str, at_start: bool = False) -> int:
    """The place in ``DIALECTS`` of the suite whose output begins in a line, -1 if none does."""
    first = text.lstrip()[:1]
    for literal, place, expression in _AT_START.get(first, _OTHERS if first.isascii() else _ALL):
        if literal in text and expression.match(text):
            return place
    for sign, parts in _ANYWHERE:
        if sign in text:
            for literal, place, expression in parts:
                if literal in text and (expression.match if at_start else expression.search)(text):
                    return place
    return -1


#: What each match contains, the place of the dialect, and one alternative of its expression.
#: A plain tuple: those with names are unpacked more slowly.
_Part = tuple[str, int, "re.Pattern[str]"]


def _parts(anchored: bool) -> Iterable[_Part]:
    for place, dialect in enumerate(DIALECTS):
        for part in alternatives(dialect.begins):
            if part.startswith("^") is anchored:
                yield required(part), place, re.compile(part)


def _by_sign(parts: Iterable[_Part]) -> tuple[tuple[str, tuple[_Part, ...]], ...]:
    """Parts by a character of their literal that is rare in logs, or else by it all."""
    grouped: dict[str, tuple[_Part, ...]] = {}
    for part in parts:
        sign = next((each for each in _RARE if each in part[0]), part[0])
        grouped[sign] = (*grouped.get(sign, ()), part)
    return tuple(grouped.items())


_RARE = "#_:"
_ALL = tuple(_parts(anchored=True))
_STARTS = {part: starts(part[2].pattern) for part in _ALL}
#: By the first character that is no space. A digit can be one of another script.
_AT_START = {
    character: tuple(part for part, known in _STARTS.items() if not known or character in known)
    for character in sorted({*"".join(_STARTS.values())})
}
_OTHERS = tuple(part for part, known in _STARTS.items() if not known)
_ANYWHERE = _by_sign(_parts(anchored=False))
