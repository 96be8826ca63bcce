"""Which suite's output begins in a line: all dialects asked at once.

To search all their expressions along each line would take most of the time of reading a
large log. Those that must stand at the line's start are asked about lines that start with
one of their characters, the others about lines that contain what each of them must contain.
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.parse.dialects import DIALECTS
from fabricgauge.parse.expressions import alternatives, required, starts


def dialect_begun(text: str, at_start: bool = False) -> int:
    """The place in ``DIALECTS`` of the suite whose output begins in a line, -1 if none does."""
    first = text.lstrip()[:1]
    match = _AT_START.get(first, _OTHERS if first.isascii() else _ALL).match(text)
    if match is not None:
        return _PLACES[str(match.lastgroup)]
    for literal, expressions in _BY_LITERAL:
        if literal in text:
            for place, expression in expressions:
                if expression.match(text) if at_start else expression.search(text):
                    return place
    return -1


_PARTS = [
    (f"d{place}_{i}", place, part)
    for place, dialect in enumerate(DIALECTS)
    for i, part in enumerate(alternatives(dialect.begins))
]
_PLACES = {name: place for name, place, _ in _PARTS}


def _joined(parts: Iterable[tuple[str, int, str]]) -> "re.Pattern[str]":
    return re.compile("|".join(f"(?P<{name}>{part})" for name, _, part in parts) or r"(?!)")


def _by_literal() -> Iterator[tuple[str, list[tuple[int, "re.Pattern[str]"]]]]:
    parts = [(required(part), place, part) for _, place, part in _PARTS if part[:1] != "^"]
    for literal in dict.fromkeys(literal for literal, _, _ in parts):
        yield literal, [(place, re.compile(part)) for own, place, part in parts if own == literal]


_ANCHORED = [(each, starts(each[2])) for each in _PARTS if each[2].startswith("^")]
#: By the first character that is no space. A digit can be one of another script.
_AT_START = {
    character: _joined(each for each, known in _ANCHORED if not known or character in known)
    for character in sorted({*"".join(known for _, known in _ANCHORED)})
}
_OTHERS = _joined(each for each, known in _ANCHORED if not known)
_ALL = _joined(each for each, _ in _ANCHORED)
_BY_LITERAL = tuple(_by_literal())
