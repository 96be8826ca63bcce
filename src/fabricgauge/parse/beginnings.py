"""Which suite's output begins in a line: all dialects asked at once.

An expression that must stand at the line's start is asked there alone. Searching it all
along each line would take most of the time of reading a large log.
"""

import re
from collections.abc import Iterator

from fabricgauge.parse.dialects import DIALECTS


def dialect_begun(text: str, at_start: bool = False) -> int:
    """The place in ``DIALECTS`` of the suite whose output begins in a line, -1 if none does."""
    match = _AT_START.match(text)
    if match is None and (at_start or _SOMEWHERE.search(text)):
        match = _ANYWHERE.match(text) if at_start else _ANYWHERE.search(text)
    return -1 if match is None else _PLACES[str(match.lastgroup)]


def alternatives(expression: str) -> Iterator[str]:
    """The parts of a regular expression between the bars that stand in no group."""
    start = depth = 0
    for token in _TOKEN.finditer(expression):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token[0] == "|" and depth == 0:
            yield expression[start : token.start()]
            start = token.end()
    yield expression[start:]


#: A bracket that is escaped or in a set opens and closes nothing.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
_PARTS = [
    (f"d{place}_{i}", place, part)
    for place, dialect in enumerate(DIALECTS)
    for i, part in enumerate(alternatives(dialect.begins))
]
_PLACES = {name: place for name, place, _ in _PARTS}
_NOTHING = r"(?!)"


def _joined(at_start: bool) -> "re.Pattern[str]":
    parts = [f"(?P<{name}>{part})" for name, _, part in _PARTS if part.startswith("^") is at_start]
    return re.compile("|".join(parts) or _NOTHING)


_AT_START = _joined(at_start=True)
_ANYWHERE = _joined(at_start=False)
#: The same without groups: its first characters are known, which makes it several times faster.
_SOMEWHERE = re.compile(
    "|".join(part for _, _, part in _PARTS if not part.startswith("^")) or _NOTHING
)
